#pragma once

#include "ignd/frame.hpp"

#include <memory>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace ignd_python {

namespace nb = nanobind;

using Array = nb::ndarray<nb::ro, nb::device::cpu>;

// A frame, and the Python objects whose memory it views.
struct PythonFrame {
  ignd::Frame frame;
  std::vector<nb::object> owners;
  std::vector<Array> arrays;

  // Throws InvalidArgument unless the column has as many rows as those before it.
  void add(std::string name, std::size_t rows, std::shared_ptr<const ignd::FrameColumn> cells);
};

// Appends the columns of an Arrow stream, which a capsule holds (arrow.cpp).
void add_arrow_stream(PythonFrame& frame, const nb::capsule& stream);

void bind_frames(nb::module_& module);

}  // namespace ignd_python
