#pragma once

#include <cstddef>

// Loops that do nothing but one kind of work, as fast as the machine can: what `ignd bench` measures floors with. Each
// returns how much work it did.
namespace ignd::kernels {

template <class T>
double multiply_adds(std::size_t rounds);  // numbers multiplied and added

template <class T>
double stored_bytes(std::size_t rounds);  // to a buffer that fits the nearest cache

template <class T>
double roots_and_quotients(std::size_t rounds);  // numbers of which a root was taken and divided by

}  // namespace ignd::kernels
