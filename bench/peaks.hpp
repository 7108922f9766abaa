#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Loops that do one kind of work as fast as the machine can: ignd_bench computes its floors from them. Each returns how
// much work it did.
namespace ignd::bench {

template <class T>
double multiply_adds(std::size_t rounds);  // numbers multiplied and added

template <class T>
double stored_bytes(std::size_t rounds);  // to a buffer that fits the nearest cache

template <class T>
double roots_and_quotients(std::size_t rounds);  // numbers of which a root was taken and divided by

// Through all of an array, from its first number to its last: what the memory gives if no cache can hold it.
double read_bytes(std::span<const float> array);
double updated_bytes(std::span<float> array);  // each read, changed and written, and counted once

// table[index[k]] += x[k] for one k after the other: a cache line each where the table is large.
double changed_lines(std::span<float> table, std::span<const std::uint32_t> index, std::span<const float> x);

}  // namespace ignd::bench
