#include "bindings.hpp"
#include "frames.hpp"
#include "ignd/error.hpp"
#include "ignd/model_file.hpp"
#include "ignd/train.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace ignd_python {
namespace {

using ignd::ModelFile;
using ignd::TrainOption;

template <std::size_t dimensions>
using Numbers = nb::ndarray<nb::numpy, double, nb::ndim<dimensions>>;

// A vector as an array of numpy, which owns it.
template <std::size_t dimensions>
Numbers<dimensions> to_numpy(std::vector<double> values, const std::array<std::size_t, dimensions>& shape) {
  auto* kept = new std::vector<double>(std::move(values));
  const nb::capsule owner(kept, [](void* vector) noexcept { delete static_cast<std::vector<double>*>(vector); });
  return Numbers<dimensions>(kept->data(), dimensions, shape.data(), owner);
}

nb::object default_of(const TrainOption& option) {
  const std::string& text = option.default_value;
  if (text.empty() || text == "auto") return nb::none();
  switch (option.kind) {
    case TrainOption::Kind::flag:
      return nb::bool_(text == "true");
    case TrainOption::Kind::count:
      return nb::int_(std::stoll(text));
    case TrainOption::Kind::number:
      return nb::float_(std::stod(text));
    case TrainOption::Kind::word:
      break;
  }
  return nb::str(text.c_str());
}

const char* kind_name(TrainOption::Kind kind) {
  static constexpr const char* names[]{"number", "count", "flag", "word"};
  return names[static_cast<std::size_t>(kind)];
}

nb::list train_options() {
  nb::list options;
  for (const TrainOption& option : ignd::train_options()) {
    nb::dict described;
    described["name"] = option.name;
    described["kind"] = kind_name(option.kind);
    described["default"] = default_of(option);
    described["choices"] = option.choices;
    described["help"] = option.help;
    described["for_frames"] = option.for_frames;
    options.append(described);
  }
  return options;
}

nb::tuple predict_frame(const ModelFile& model, const PythonFrame& frame) {
  ignd::Predictions made = compute_interruptibly(nb::none(), [&](Watch&) { return model.predict_frame(frame.frame); });
  const std::size_t rows = made.values.size();
  const std::size_t classes = model.classes().size();
  return nb::make_tuple(to_numpy<1>(std::move(made.values), {rows}),
                        to_numpy<2>(std::move(made.probabilities), {rows, classes}));
}

// A row of low and high for each prediction.
Numbers<2> intervals(const ModelFile& model, nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu> made,
                     double level) {
  std::vector<double> ends;
  for (std::size_t i = 0; i < made.shape(0); ++i) {
    const auto [low, high] = model.interval(made.data()[i], level);
    ends.push_back(low);
    ends.push_back(high);
  }
  return to_numpy<2>(std::move(ends), {made.shape(0), 2});
}

nb::tuple encode_frame(const ModelFile& model, const PythonFrame& frame) {
  ignd::EncodedRows rows = compute_interruptibly(nb::none(), [&](Watch&) { return model.encode_frame(frame.frame); });
  auto* values = new std::vector<float>(std::move(rows.values));
  const nb::capsule owner(values, [](void* vector) noexcept { delete static_cast<std::vector<float>*>(vector); });
  const std::size_t count = rows.targets.size();
  return nb::make_tuple(
      nb::ndarray<nb::numpy, float, nb::ndim<2>>(values->data(), {frame.frame.rows, rows.features}, owner),
      to_numpy<1>(std::move(rows.targets), {count}));
}

nb::dict to_dict(const ignd::Prediction& prediction) {
  nb::dict result;
  result["value"] = prediction.value;
  if (!prediction.label.empty()) result["label"] = prediction.label;
  if (!prediction.probabilities.empty()) result["probabilities"] = prediction.probabilities;
  if (!prediction.name.empty()) result["name"] = prediction.name;
  return result;
}

std::vector<nb::dict> predict_file(const ModelFile& model, const std::string& path) {
  const auto made = compute_interruptibly(nb::none(), [&](Watch&) { return model.predict_file(path); });
  std::vector<nb::dict> results;
  results.reserve(made.size());
  for (const ignd::Prediction& prediction : made) results.push_back(to_dict(prediction));
  return results;
}

const char* kind_of(const ModelFile& model) {
  if (model.kind() == ignd::ModelKind::table) return "table";
  if (model.kind() == ignd::ModelKind::stream) return "stream";
  return model.kind() == ignd::ModelKind::images ? "images" : "texts";
}

nb::dict report_of(const ignd::TrainReport& report) {
  nb::dict result;
  result["status"] = report.status;
  result["rate"] = report.rate;
  result["epochs"] = report.epochs;
  result["kept_epoch"] = report.kept_epoch;
  result["validation"] = report.validation;
  result["test"] = report.test;
  result["test_intervals"] = report.test_intervals;
  return result;
}

nb::tuple trained(ignd::Trained made) {
  return nb::make_tuple(nb::cast(std::move(made.model)), report_of(made.report));
}

nb::tuple train_frame(const PythonFrame& frame, const ignd::TrainSettings& settings, const nb::object& progress,
                      std::size_t validation_rows) {
  return trained(compute_interruptibly(progress, [&](Watch& watch) {
    return ignd::train(
        frame.frame, settings, [&](double share) { return watch.tell(share); }, validation_rows);
  }));
}

nb::tuple train_file(const std::string& path, const ignd::TrainSettings& settings, const nb::object& progress) {
  return trained(compute_interruptibly(progress, [&](Watch& watch) {
    return ignd::train(path, settings, [&](double share) { return watch.tell(share); });
  }));
}

nb::bytes to_bytes(const ModelFile& model) {
  const std::string bytes = model.to_bytes();
  return nb::bytes(bytes.data(), bytes.size());
}

ModelFile from_bytes(const nb::bytes& bytes) {
  return ModelFile::from_bytes({static_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

void bind_tables(nb::module_& module) {
  nb::class_<ModelFile>(module, "ModelFile", "A model with all it needs to predict from new data; the tool's file.")
      .def_static("load", &ModelFile::load, nb::arg("path"), "Loads a model file of a table, of images or of texts.")
      .def("save", &ModelFile::save, nb::arg("path"), "Writes the model for `ignd predict`, or for `load`.")
      .def_static("from_bytes", &from_bytes, nb::arg("bytes"))
      .def("to_bytes", &to_bytes)
      .def_prop_ro("kind", &kind_of, "'table', 'images', 'texts' or 'stream'.")
      .def_prop_ro("target", &ModelFile::target)
      .def_prop_ro("classes", &ModelFile::classes, "The names of the classes; empty for numbers.")
      .def_prop_ro("columns", &ModelFile::columns, "The columns that a row must have.")
      .def_prop_ro("spec", &ModelFile::spec)
      .def(
          "predict_row",
          [](const ModelFile& model, const std::map<std::string, std::string>& row) {
            return to_dict(model.predict(row));
          },
          nb::arg("row"), "Predicts one row, given as the texts of its cells.")
      .def("predict_file", &predict_file, nb::arg("path"), "Predicts all samples of a file, a folder or an archive.")
      .def("evaluate", &ModelFile::evaluate, nb::arg("path"), nb::arg("weight") = "",
           "Scores the model on a file with known targets, as `ignd evaluate` does.")
      .def("predict_frame", &predict_frame, nb::arg("frame"), "The values, and for classes the probabilities, of rows.")
      .def("intervals", &intervals, nb::arg("predicted"), nb::arg("level") = 0.9,
           "The low and the high end of the interval around each predicted number, a row for each.")
      .def_prop_ro("loss", &ModelFile::loss)
      .def("encode_frame", &encode_frame, nb::arg("frame"), "The inputs and the targets of the model for rows.")
      .def("model", &ModelFile::model, "A copy of the model alone, whose inputs `encode_frame` makes.")
      .def("with_model", &ModelFile::with_model, nb::arg("model"), "The same file with the model trained further.")
      .def("__getstate__", &to_bytes)
      .def("__setstate__", [](ModelFile& model, const nb::bytes& bytes) { new (&model) ModelFile(from_bytes(bytes)); });
  module.def("train_options", &train_options, "The options of training, each as a dict.");
  module.def("train_frame", &train_frame, nb::arg("frame"), nb::arg("settings"), nb::arg("progress") = nb::none(),
             nb::arg("validation_rows") = 0);
  module.def("train_file", &train_file, nb::arg("path"), nb::arg("settings"), nb::arg("progress") = nb::none());
}

}  // namespace ignd_python
