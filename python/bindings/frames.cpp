#include "frames.hpp"

#include "ignd/error.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <nanobind/stl/string.h>

namespace ignd_python {
namespace {

using ignd::FrameColumn;

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// Numbers in an array of any stride.
template <class T>
class StridedNumbers final : public FrameColumn {
 public:
  StridedNumbers(const void* data, std::ptrdiff_t stride) : data_(static_cast<const T*>(data)), stride_(stride) {}

  Kind kind() const override { return Kind::numbers; }
  void read(std::size_t first, std::span<double> values) const override {
    const T* from = data_ + static_cast<std::ptrdiff_t>(first) * stride_;
    for (double& value : values) {
      value = static_cast<double>(*from);
      from += stride_;
    }
  }
  std::optional<std::string_view> text(std::size_t /*row*/) const override { return std::nullopt; }

 private:
  const T* data_;
  std::ptrdiff_t stride_;
};

// numpy's datetime64: whole units since 1970, of which `units` make a second; the smallest number is not a time.
class Times final : public FrameColumn {
 public:
  Times(const std::int64_t* data, std::ptrdiff_t stride, std::int64_t units)
      : data_(data), stride_(stride), units_(units) {}

  Kind kind() const override { return Kind::dates; }
  void read(std::size_t first, std::span<double> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t time = data_[static_cast<std::ptrdiff_t>(first + i) * stride_];
      const bool is_time = time != std::numeric_limits<std::int64_t>::min();
      values[i] = is_time ? static_cast<double>(time / units_) +
                                static_cast<double>(time % units_) / static_cast<double>(units_)
                          : missing;
    }
  }
  std::optional<std::string_view> text(std::size_t /*row*/) const override { return std::nullopt; }

 private:
  const std::int64_t* data_;
  std::ptrdiff_t stride_;
  std::int64_t units_;
};

// Texts of Python, which keep their own UTF-8.
class Texts final : public FrameColumn {
 public:
  Texts(std::vector<std::optional<std::string_view>> texts, Kind kind) : texts_(std::move(texts)), kind_(kind) {}

  Kind kind() const override { return kind_; }
  void read(std::size_t /*first*/, std::span<double> /*values*/) const override {}
  std::optional<std::string_view> text(std::size_t row) const override { return texts_[row]; }

 private:
  std::vector<std::optional<std::string_view>> texts_;
  Kind kind_;
};

std::string_view utf8(nb::handle text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) {
    PyErr_Clear();
    throw ignd::InvalidArgument("a text holds characters that UTF-8 does not have");
  }
  return {data, static_cast<std::size_t>(size)};
}

bool is_missing_object(nb::handle cell) {
  if (cell.is_none()) return true;
  if (PyFloat_Check(cell.ptr())) return std::isnan(PyFloat_AS_DOUBLE(cell.ptr()));
  if (PyUnicode_CheckExact(cell.ptr())) return false;
  const std::string_view type = Py_TYPE(cell.ptr())->tp_name;  // those of pandas have their modules in front
  return type.ends_with("NAType") || type.ends_with("NaTType");
}

// Refuses what has other objects in it, whose text would mean nothing.
void check_cell(nb::handle cell) {
  PyObject* const object = cell.ptr();
  if (PyUnicode_Check(object) || !(PyDict_Check(object) || PySequence_Check(object) || PyAnySet_Check(object))) return;
  const std::string type = Py_TYPE(object)->tp_name;
  throw nb::type_error(("a cell is a " + type + "; its argument must be a string or a number").c_str());
}

std::shared_ptr<const FrameColumn> numbers_of(const Array& array) {
  const void* data = array.data();
  const std::ptrdiff_t stride = array.ndim() == 1 ? array.stride(0) : 1;
  const auto make = [&]<class T>(T) -> std::shared_ptr<const FrameColumn> {
    return std::make_shared<StridedNumbers<T>>(data, stride);
  };
  const auto dtype = array.dtype();
  if (dtype == nb::dtype<double>()) return make(double());
  if (dtype == nb::dtype<float>()) return make(float());
  if (dtype == nb::dtype<std::int64_t>()) return make(std::int64_t());
  if (dtype == nb::dtype<std::int32_t>()) return make(std::int32_t());
  if (dtype == nb::dtype<std::int16_t>()) return make(std::int16_t());
  if (dtype == nb::dtype<std::int8_t>()) return make(std::int8_t());
  if (dtype == nb::dtype<std::uint64_t>()) return make(std::uint64_t());
  if (dtype == nb::dtype<std::uint32_t>()) return make(std::uint32_t());
  if (dtype == nb::dtype<std::uint16_t>()) return make(std::uint16_t());
  if (dtype == nb::dtype<std::uint8_t>()) return make(std::uint8_t());
  throw ignd::InvalidArgument("numbers must be floats of 32 or 64 bits, or integers");
}

void add_numbers(PythonFrame& frame, std::string name, const Array& array) {
  if (array.ndim() != 1) throw ignd::InvalidArgument("a column must have one dimension");
  frame.add(std::move(name), array.shape(0), numbers_of(array));
  frame.arrays.push_back(array);
}

void add_times(PythonFrame& frame, std::string name, const Array& array, std::int64_t units) {
  if (array.ndim() != 1) throw ignd::InvalidArgument("a column must have one dimension");
  const auto* data = static_cast<const std::int64_t*>(array.data());
  frame.add(std::move(name), array.shape(0), std::make_shared<Times>(data, array.stride(0), units));
  frame.arrays.push_back(array);
}

// What is not a text is written as str() writes it.
void add_texts(PythonFrame& frame, std::string name, const nb::sequence& cells, bool categories) {
  const nb::object fast = nb::steal(PySequence_Fast(cells.ptr(), "a column of texts must be a sequence"));
  if (!fast.is_valid()) throw nb::python_error();
  std::vector<std::optional<std::string_view>> texts(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(fast.ptr())));
  PyObject** const items = PySequence_Fast_ITEMS(fast.ptr());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const nb::handle cell(items[i]);
    if (is_missing_object(cell)) continue;
    if (PyUnicode_Check(cell.ptr())) {
      texts[i] = utf8(cell);
    } else {
      check_cell(cell);
      frame.owners.push_back(nb::str(cell));
      texts[i] = utf8(frame.owners.back());
    }
  }
  const auto kind = categories ? FrameColumn::Kind::categories : FrameColumn::Kind::texts;
  const std::size_t rows = texts.size();
  frame.add(std::move(name), rows, std::make_shared<Texts>(std::move(texts), kind));
  frame.owners.push_back(fast);
}

// The texts of a categorical column: `codes` are their numbers, negative ones missing.
void add_codes(PythonFrame& frame, std::string name, const nb::ndarray<const std::int64_t, nb::ndim<1>>& codes,
               const nb::sequence& names) {
  PythonFrame known;
  add_texts(known, "names", names, false);
  const std::size_t count = known.frame.rows;
  const FrameColumn& cells = *known.frame.columns[0].second;
  std::vector<std::optional<std::string_view>> texts(codes.shape(0));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::int64_t code = codes(i);
    if (code >= 0 && static_cast<std::size_t>(code) < count) texts[i] = cells.text(static_cast<std::size_t>(code));
  }
  const std::size_t rows = texts.size();
  frame.add(std::move(name), rows, std::make_shared<Texts>(std::move(texts), FrameColumn::Kind::texts));
  for (nb::object& owner : known.owners) frame.owners.push_back(std::move(owner));
}

}  // namespace

void PythonFrame::add(std::string name, std::size_t rows, std::shared_ptr<const FrameColumn> cells) {
  if (!frame.columns.empty() && rows != frame.rows) {
    throw ignd::InvalidArgument("the column '" + name + "' has " + std::to_string(rows) +
                                " rows, but those before it " + std::to_string(frame.rows));
  }
  frame.rows = rows;
  frame.columns.emplace_back(std::move(name), std::move(cells));
}

void bind_frames(nb::module_& module) {
  nb::class_<PythonFrame>(module, "Frame", "A table in memory, as views of the arrays that hold it.")
      .def(nb::init<>())
      .def("__len__", [](const PythonFrame& frame) { return frame.frame.rows; })
      .def_prop_ro("columns",
                   [](const PythonFrame& frame) {
                     nb::list names;
                     for (const auto& column : frame.frame.columns) names.append(column.first);
                     return names;
                   })
      .def("add_numbers", &add_numbers, nb::arg("name"), nb::arg("numbers"))
      .def("add_times", &add_times, nb::arg("name"), nb::arg("times"), nb::arg("units"))
      .def("add_texts", &add_texts, nb::arg("name"), nb::arg("texts"), nb::arg("categories") = false)
      .def("add_codes", &add_codes, nb::arg("name"), nb::arg("codes"), nb::arg("names"))
      .def("add_arrow", &add_arrow_stream, nb::arg("stream"));
}

}  // namespace ignd_python
