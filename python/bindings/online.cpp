#include "bindings.hpp"
#include "frames.hpp"
#include "ignd/error.hpp"
#include "ignd/stream.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace ignd_python {
namespace {

using ignd::Cell;
using ignd::OnlineLearner;

// The value, the label, and the probabilities of the classes.
nb::tuple to_tuple(const ignd::Prediction& made) { return nb::make_tuple(made.value, made.label, made.probabilities); }

// A learner, and the example at hand, whose memory is used again.
class Online {
 public:
  explicit Online(OnlineLearner learner) : learner_(std::move(learner)) {}

  void learn(const nb::dict& row, const nb::handle& label, double weight) {
    if (read(row) < row.size()) {
      for (const auto& [name, cell] : row) warn_unless_known(text_of(name.ptr()));
    }
    learner_.learn(example_, cell_of(label), weight);
  }

  nb::tuple predict(const nb::dict& row) {
    read(row);
    return to_tuple(learner_.predict(example_));
  }

  OnlineLearner& learner() { return learner_; }

  // Once: what is new in a later example has no column, and nothing is learned of it.
  void warn_unless_known(std::string_view name) {
    const std::vector<std::string>& columns = learner_.columns();
    if (has_warned_ || columns.empty() || name == learner_.target()) return;
    if (std::ranges::find(columns, name) != columns.end()) return;
    has_warned_ = true;
    const std::string text = "'" + std::string(name) +
                             "' is ignored, and so is whatever else the first example did not have: its keys are the "
                             "columns. Let it have all of them, with None for what is missing";
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) throw nb::python_error();
  }

 private:
  static Cell cell_of(nb::handle cell) {
    PyObject* const object = cell.ptr();
    if (PyFloat_CheckExact(object)) return PyFloat_AS_DOUBLE(object);
    if (PyUnicode_Check(object)) return std::string(text_of(object));
    if (object == Py_None) return "";
    if (PyFloat_Check(object) || PyLong_Check(object) || PyNumber_Check(object)) {
      const double number = PyFloat_AsDouble(object);
      if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
      return number;
    }
    return std::string(text_of(nb::str(cell).ptr()));
  }

  static std::string_view text_of(PyObject* object) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) throw nb::python_error();
    return {text, static_cast<std::size_t>(size)};
  }

  // A key that the first example had and this one has not is a missing value. Returns how many keys are columns.
  std::size_t read(const nb::dict& row) {
    const std::vector<std::string>& columns = learner_.columns();
    if (columns.empty()) {
      example_.clear();
      for (const auto& [name, cell] : row) {
        if (!PyUnicode_Check(name.ptr())) throw nb::type_error("the keys of an example must be texts");
        example_.emplace_back(text_of(name.ptr()), cell_of(cell));
      }
      return row.size();
    }
    std::size_t known = 0;
    if (names_.size() != columns.size()) remember(columns);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      PyObject* const cell = PyDict_GetItemWithError(row.ptr(), names_[c].ptr());
      if (cell == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
      example_[c].second = cell == nullptr ? Cell("") : cell_of(cell);
      known += cell == nullptr ? 0 : 1;
    }
    return known;
  }

  void remember(const std::vector<std::string>& columns) {
    names_.clear();
    example_.clear();
    for (const std::string& column : columns) {
      PyObject* name = PyUnicode_FromStringAndSize(column.data(), static_cast<Py_ssize_t>(column.size()));
      if (name == nullptr) throw nb::python_error();
      PyUnicode_InternInPlace(&name);
      names_.push_back(nb::steal(name));
      example_.emplace_back(column, Cell(""));
    }
  }

  OnlineLearner learner_;
  std::vector<nb::object> names_;  // of the columns
  bool has_warned_ = false;
  ignd::Example example_;
};

Online make(const std::string& target, const std::map<std::string, std::string>& settings, const std::string& weight) {
  ignd::StreamOptions options;
  ignd::Optimizer optimizer;
  for (const auto& [name, value] : settings) {
    if (name == "bits") {
      options.bits = static_cast<unsigned>(std::stoul(value));
    } else if (name == "loss") {
      options.loss = value;
    } else if (name == "optimizer") {
      optimizer = ignd::find_optimizer(value);
    } else if (name == "schedule") {
      options.schedule = ignd::Schedule::parse(value);
    } else if (name == "l2") {
      options.l2 = std::stod(value);
    } else if (name == "centre") {
      options.centre = value == "true";
    } else {
      throw ignd::InvalidArgument("there is no option '" + name + "' of online learning");
    }
  }
  options.optimizer = optimizer;
  return Online(OnlineLearner(target, std::move(options), weight));
}

// The rows of a frame, one after the other, as learn_one would take them.
template <class Use>
void for_each_row(const PythonFrame& frame, Use use) {
  using Kind = ignd::FrameColumn::Kind;
  ignd::Example example;
  for (const auto& column : frame.frame.columns) example.emplace_back(column.first, Cell(""));
  for (std::size_t row = 0; row < frame.frame.rows; ++row) {
    for (std::size_t c = 0; c < example.size(); ++c) {
      const ignd::FrameColumn& cells = *frame.frame.columns[c].second;
      if (cells.kind() == Kind::dates) {
        throw ignd::InvalidArgument("the column '" + example[c].first + "' holds dates; give them as texts or numbers");
      }
      if (cells.kind() == Kind::numbers) {
        double number = 0;
        cells.read(row, {&number, 1});
        example[c].second = number;
      } else {
        example[c].second = std::string(cells.text(row).value_or(""));
      }
    }
    use(example, row);
  }
}

void learn_many(Online& online, const PythonFrame& frame, const PythonFrame& labels,
                const std::optional<nb::ndarray<const double, nb::ndim<1>>>& weights) {
  using Kind = ignd::FrameColumn::Kind;
  if (frame.frame.rows != labels.frame.rows) throw ignd::InvalidArgument("there are not as many labels as rows");
  if (weights && weights->shape(0) != frame.frame.rows)
    throw ignd::InvalidArgument("there are not as many weights as rows");
  for (const auto& column : frame.frame.columns) online.warn_unless_known(column.first);
  const ignd::FrameColumn& targets = *labels.frame.columns.at(0).second;
  compute_interruptibly(nb::none(), [&](Watch& watch) {
    for_each_row(frame, [&](const ignd::Example& example, std::size_t row) {
      if (watch.stop) throw ignd::LearningEnded("learning was interrupted");
      double number = 0;
      if (targets.kind() == Kind::numbers) targets.read(row, {&number, 1});
      const Cell label = targets.kind() == Kind::numbers ? Cell(number) : Cell(targets.text(row).value_or(""));
      try {
        online.learner().learn(example, label, weights ? (*weights)(row) : 1);
      } catch (const ignd::BadSample& fault) {
        throw ignd::BadSample("row " + std::to_string(row + 1) + ": " + fault.what());
      }
    });
    return true;
  });
}

std::vector<nb::tuple> predict_many(Online& online, const PythonFrame& frame) {
  std::vector<nb::tuple> made;
  made.reserve(frame.frame.rows);
  for_each_row(frame, [&](const ignd::Example& example, std::size_t /*row*/) {
    made.push_back(to_tuple(online.learner().predict(example)));
  });
  return made;
}

nb::dict statistics(Online& online) {
  const ignd::StreamStatistics& seen = online.learner().statistics();
  nb::dict result;
  result["rows"] = seen.rows;
  result["examples"] = seen.examples;
  result["skipped"] = seen.skipped;
  result["weight"] = seen.weight;
  result["average_loss"] = seen.average_loss();
  result["recent_loss"] = seen.average_recent_loss();
  result["accuracy"] = seen.accuracy();
  result["largest_error"] = seen.largest_error;
  return result;
}

}  // namespace

void bind_online(nb::module_& module) {
  nb::class_<Online>(module, "OnlineLearner", "A learner of streams, as `ignd train --stream` trains.")
      .def_static("make", &make, nb::arg("target"), nb::arg("settings"), nb::arg("weight") = "")
      .def_static(
          "load", [](const std::string& path) { return Online(OnlineLearner::load(path)); }, nb::arg("path"))
      .def(
          "save", [](Online& online, const std::string& path) { online.learner().save(path); }, nb::arg("path"))
      .def("learn", &Online::learn, nb::arg("row"), nb::arg("label").none(), nb::arg("weight") = 1)
      .def("predict", &Online::predict, nb::arg("row"))
      .def("learn_many", &learn_many, nb::arg("frame"), nb::arg("labels"), nb::arg("weights") = nb::none())
      .def("predict_many", &predict_many, nb::arg("frame"))
      .def(
          "learn_file",
          [](Online& online, const std::string& path) {
            return compute_interruptibly(nb::none(), [&](Watch& watch) {
              return online.learner().learn_file(path, [&] { return watch.tell(0); });
            });
          },
          nb::arg("path"))
      .def("finish", [](Online& online) { online.learner().finish(); })
      .def_prop_ro("statistics", &statistics)
      .def_prop_ro("loss", [](Online& online) { return online.learner().loss(); })
      .def_prop_ro("decision", [](Online& online) { return online.learner().decision(); })
      .def_prop_ro("target", [](Online& online) { return online.learner().target(); })
      .def_prop_ro("columns", [](Online& online) { return online.learner().columns(); })
      .def_prop_ro("classes", [](Online& online) { return online.learner().classes(); });
}

}  // namespace ignd_python
