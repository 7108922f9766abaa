#pragma once

namespace ignd {

// Derive from this what can be neither copied nor moved.
struct Pinned {
  Pinned() = default;
  ~Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

}  // namespace ignd
