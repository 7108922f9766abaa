#include "bindings.hpp"
#include "ignd/batch_trainer.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/ensemble.hpp"
#include "ignd/error.hpp"
#include "ignd/linear.hpp"
#include "ignd/loss.hpp"
#include "ignd/mlp.hpp"
#include "ignd/network.hpp"
#include "ignd/random.hpp"
#include "ignd/saved_model.hpp"
#include "ignd/trainer.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace ignd_python {
namespace {

using ignd::Input;
using ignd::InvalidArgument;
using ignd::Model;
using ignd::Sample;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Doubles = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

template <class T>
std::span<const T> span_of(const Vector<T>& vector) {
  return {vector.data(), vector.shape(0)};
}

template <class T>
Input<T> input_of(const Vector<T>& values, const std::optional<Vector<std::uint32_t>>& index) {
  return {span_of(values), index ? span_of(*index) : std::span<const std::uint32_t>()};
}

void check_rows(const char* what, std::size_t count, std::size_t rows) {
  if (count == rows) return;
  throw InvalidArgument("there are " + std::to_string(count) + " " + what + " for " + std::to_string(rows) + " rows");
}

// Views of the rows of a matrix. Without `y`, targets are 0.
template <class T>
std::vector<Sample<T>> samples_of(const Matrix<T>& x, const Doubles* y, const std::optional<Doubles>& weights) {
  const std::size_t rows = x.shape(0), width = x.shape(1);
  if (y != nullptr) check_rows("targets", y->size(), rows);
  if (weights) check_rows("weights", weights->size(), rows);
  std::vector<Sample<T>> samples(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    samples[i] = {.x = {{x.data() + i * width, width}},
                  .y = y != nullptr ? y->data()[i] : 0,
                  .weight = weights ? weights->data()[i] : 1};
  }
  return samples;
}

nb::object numbers(std::vector<double> values, std::vector<std::size_t> shape) {
  auto* kept = new std::vector<double>(std::move(values));
  const nb::capsule owner(kept, [](void* vector) noexcept { delete static_cast<std::vector<double>*>(vector); });
  return nb::cast(nb::ndarray<nb::numpy, double>(kept->data(), shape.size(), shape.data(), owner));
}

// The outputs of all rows: a vector, or a matrix where a model has several.
template <class T>
nb::object predict(const Model<T>& model, const Matrix<T>& x) {
  const std::size_t rows = x.shape(0), outputs = model.outputs();
  const std::vector<Sample<T>> samples = samples_of<T>(x, nullptr, std::nullopt);
  std::vector<double> made(rows * outputs);
  {
    const nb::gil_scoped_release without_interpreter;
    if (model.reads_single_samples()) {
      ignd::Trace<T> trace(model);
      for (std::size_t i = 0; i < rows; ++i) made[i] = model.predict(samples[i].x, trace);
    } else if (rows > 0) {
      constexpr std::size_t most = 256;
      const auto batch = model.make_batch(std::min(rows, most));
      std::vector<Input<T>> inputs;
      for (const Sample<T>& sample : samples) model.check(sample.x);
      for (std::size_t first = 0; first < rows; first += most) {
        inputs.clear();
        for (std::size_t i = first; i < std::min(rows, first + most); ++i) inputs.push_back(samples[i].x);
        const auto out = batch->forward(inputs, nullptr);
        std::copy(out.begin(), out.end(), made.begin() + static_cast<std::ptrdiff_t>(first * outputs));
      }
    }
  }
  return numbers(std::move(made), outputs == 1 ? std::vector{rows} : std::vector{rows, outputs});
}

ignd::PreconditionerKind preconditioner_named(const std::string& name) {
  for (const auto kind : {ignd::PreconditionerKind::identity, ignd::PreconditionerKind::second_moment,
                          ignd::PreconditionerKind::fading_second_moment}) {
    if (name == to_string(kind)) return kind;
  }
  throw InvalidArgument("there is no preconditioner '" + name + "'; choose identity, second-moment or " +
                        to_string(ignd::PreconditionerKind::fading_second_moment));
}

template <class T>
void bind_models(nb::module_& module, const std::string& suffix) {
  using nb::arg;
  const auto name = [&](const char* stem) { return stem + suffix; };
  nb::class_<Model<T>>(module, name("Model").c_str(), "A function of weights and inputs.")
      .def_prop_ro("spec", &Model<T>::spec)
      .def_prop_ro("outputs", &Model<T>::outputs)
      .def_prop_ro("reads_single_samples", &Model<T>::reads_single_samples,
                   "Whether `Trainer` can train it; otherwise only `BatchTrainer`.")
      .def_prop_ro(
          "members",
          [](const Model<T>& model) {
            const auto* ensemble = dynamic_cast<const ignd::Ensemble<T>*>(&model);
            return ensemble != nullptr ? ensemble->members() : std::size_t{1};
          },
          "The networks that it is the sum of.")
      .def_prop_ro(
          "parameters",
          [](Model<T>& model) {
            const auto w = model.parameters();
            return nb::ndarray<nb::numpy, T, nb::ndim<1>>(w.data(), {w.size()}, nb::find(&model));
          },
          nb::rv_policy::reference_internal, "All weights, as a view: what is written to it changes the model.")
      .def("clone", &Model<T>::clone, "A copy with weights of its own.")
      .def("predict", &predict<T>, arg("x"), "The outputs for the rows of a matrix.")
      .def(
          "predict_one",
          [](const Model<T>& model, const Vector<T>& values, const std::optional<Vector<std::uint32_t>>& index) {
            return model.predict(input_of(values, index));
          },
          arg("values"), arg("index") = nb::none(), "The output for one sample.")
      .def(
          "save", [](const Model<T>& model, const std::string& path) { ignd::save_model(path, model); }, arg("path"))
      .def("__repr__", [](const Model<T>& model) { return "<ignd model " + model.spec() + ">"; });
  module.def(
      name("linear").c_str(),
      [](std::size_t features, bool bias) -> std::unique_ptr<Model<T>> {
        return std::make_unique<ignd::Linear<T>>(features, bias);
      },
      arg("features"), arg("bias") = true);
  module.def(
      name("hashed_linear").c_str(),
      [](unsigned bits, bool bias) -> std::unique_ptr<Model<T>> {
        return std::make_unique<ignd::HashedLinear<T>>(bits, bias);
      },
      arg("bits"), arg("bias") = true);
  module.def(
      name("network").c_str(),
      [](const std::string& text, std::uint64_t seed) -> std::unique_ptr<Model<T>> {
        return std::make_unique<ignd::Network<T>>(text, seed);
      },
      arg("text"), arg("seed") = 0);
  module.def(
      name("make_model").c_str(),
      [](const std::string& spec, std::uint64_t seed) { return ignd::make_model<T>(spec, seed); }, arg("spec"),
      arg("seed") = 0);
  module.def(
      name("blend").c_str(),
      [](const std::vector<const Model<T>*>& networks, const std::vector<double>& shares) {
        std::vector<std::unique_ptr<Model<T>>> copies;
        for (const Model<T>* network : networks) copies.push_back(network->clone());
        return ignd::blend<T>(copies, shares);
      },
      arg("networks"), arg("shares"));
  module.def(
      name("load_model").c_str(), [](const std::string& path) { return ignd::load_model<T>(path); }, arg("path"));
}

template <class Trainer>
nb::bytes save_state(const Trainer& trainer) {
  ignd::Checkpoint checkpoint;
  trainer.save(checkpoint);
  const std::string bytes = checkpoint.to_bytes();
  return nb::bytes(bytes.data(), bytes.size());
}

template <class Trainer>
void restore_state(Trainer& trainer, const nb::bytes& bytes) {
  trainer.restore(ignd::Checkpoint::from_bytes({static_cast<const char*>(bytes.data()), bytes.size()}));
}

template <class Trainer>
auto snapshot(const Trainer& trainer, bool averaged) {
  return trainer.snapshot(averaged ? ignd::Iterate::averaged : ignd::Iterate::last);
}

// What both kinds of trainers have.
template <class Trainer>
void bind_shared(nb::class_<Trainer>& trainer) {
  trainer.def("snapshot", &snapshot<Trainer>, nb::arg("averaged") = false, "A copy of the model as it is now.")
      .def_prop_ro("steps", &Trainer::steps)
      .def_prop_ro("status", [](const Trainer& made) { return to_string(made.status()); })
      .def("state", &save_state<Trainer>, "All it takes to continue bit by bit, as bytes.")
      .def("restore", &restore_state<Trainer>, nb::arg("state"));
}

template <class T>
ignd::StepInfo learn(ignd::Trainer<T>& trainer, const Matrix<T>& x, const Doubles& y,
                     const std::optional<Doubles>& weights) {
  const auto samples = samples_of<T>(x, &y, weights);
  ignd::StepInfo info;
  learn_interruptibly(samples.size(), 1, [&](std::size_t first, std::size_t count) {
    info = ignd::learn(trainer, std::span<const Sample<T>>(samples).subspan(first, count));
    return trainer.status() == ignd::StepStatus::learned;
  });
  return info;
}

template <class T>
void bind_trainer(nb::module_& module, const std::string& suffix) {
  using nb::arg;
  using Trainer = ignd::Trainer<T>;
  nb::class_<Trainer> bound(module, ("Trainer" + suffix).c_str(), "Trains a model on one sample at a time.");
  bound
      .def(
          "__init__",
          [](Trainer* made, Model<T>& model, const std::shared_ptr<ignd::Loss>& loss, const std::string& rule,
             const std::string& transform, const std::string& schedule, double l2, const std::string& preconditioner,
             std::uint64_t average_from) {
            new (made) Trainer(model, {.loss = loss,
                                       .optimizer = {rule, transform},
                                       .schedule = ignd::Schedule::parse(schedule),
                                       .l2 = l2,
                                       .preconditioner = preconditioner_named(preconditioner),
                                       .average_from = average_from});
          },
          arg("model"), arg("loss"), arg("rule"), arg("transform"), arg("schedule"), arg("l2"), arg("preconditioner"),
          arg("average_from"), nb::keep_alive<1, 2>())
      .def(
          "step",
          [](Trainer& trainer, const Vector<T>& x, double y, double weight,
             const std::optional<Vector<std::uint32_t>>& index) {
            return trainer.step({input_of(x, index), y, weight});
          },
          arg("x"), arg("y"), arg("weight") = 1, arg("index") = nb::none(),
          "Learns one sample and says what it saw before the weights moved.")
      .def("learn", &learn<T>, arg("x"), arg("y"), arg("weights") = nb::none(),
           "Learns the rows of a matrix in their order; returns the last step.");
  bind_shared(bound);
}

// The rows of a matrix in their order, in mini-batches of the trainer's size.
template <class T>
ignd::BatchStepInfo learn_batches(ignd::BatchTrainer<T>& trainer, const Matrix<T>& x, const Doubles& y,
                                  const std::optional<Doubles>& weights) {
  const auto samples = samples_of<T>(x, &y, weights);
  const std::size_t size = trainer.options().batch.size;
  ignd::BatchStepInfo info;
  learn_interruptibly(samples.size(), size, [&](std::size_t first, std::size_t count) {
    const std::span<const Sample<T>> some = std::span(samples).subspan(first, count);
    for (std::size_t at = 0; at < count; at += size) {
      info = trainer.step(some.subspan(at, std::min(size, count - at)));
    }
    return true;
  });
  return info;
}

template <class T>
void bind_batch_trainer(nb::module_& module, const std::string& suffix) {
  using nb::arg;
  using Trainer = ignd::BatchTrainer<T>;
  nb::class_<Trainer> bound(module, ("BatchTrainer" + suffix).c_str(), "Trains a model on mini-batches.");
  bound
      .def(
          "__init__",
          [](Trainer* made, Model<T>& model, const nb::object& loss, const std::string& rule,
             const std::string& transform, const std::string& schedule, double l2, const std::string& preconditioner,
             std::uint64_t average_from, std::size_t size, const std::string& mode, double lambda, bool adaptive) {
            new (made) Trainer(
                model,
                {.loss = nb::isinstance<nb::str>(loss)
                             ? ignd::make_vector_loss(nb::cast<std::string>(loss))
                             : ignd::as_vector_loss(nb::cast<std::shared_ptr<ignd::Loss>>(loss)),
                 .optimizer = {rule, transform},
                 .schedule = ignd::Schedule::parse(schedule),
                 .l2 = l2,
                 .preconditioner = preconditioner_named(preconditioner),
                 .average_from = average_from,
                 .batch = {.size = size, .mode = ignd::find_batch_mode(mode), .lambda = lambda, .adaptive = adaptive}});
          },
          arg("model"), arg("loss"), arg("rule"), arg("transform"), arg("schedule"), arg("l2"), arg("preconditioner"),
          arg("average_from"), arg("size"), arg("mode"), arg("damping"), arg("adaptive"), nb::keep_alive<1, 2>())
      .def(
          "step",
          [](Trainer& trainer, const Matrix<T>& x, const Doubles& y, const std::optional<Doubles>& weights) {
            const bool several = y.size() != x.shape(0);
            const auto samples = samples_of<T>(x, several ? nullptr : &y, weights);
            const nb::gil_scoped_release without_interpreter;
            return trainer.step(samples,
                                several ? std::span<const double>(y.data(), y.size()) : std::span<const double>());
          },
          arg("x"), arg("y"), arg("weights") = nb::none(), "Takes one step with the rows of a matrix.")
      .def("learn", &learn_batches<T>, arg("x"), arg("y"), arg("weights") = nb::none(),
           "Learns the rows of a matrix in their order, batch by batch; returns the last step.")
      .def_prop_ro("damping", &Trainer::lambda);
  bind_shared(bound);
}

template <class T>
void bind_precision(nb::module_& module, const std::string& suffix, const char* mlp) {
  bind_models<T>(module, suffix);
  bind_trainer<T>(module, suffix);
  bind_batch_trainer<T>(module, suffix);
  module.def(
      mlp,
      [](const std::vector<std::size_t>& widths, const std::string& activation, std::size_t outputs,
         std::uint64_t seed) -> std::unique_ptr<Model<T>> {
        ignd::MlpOptions options{.seed = seed, .outputs = outputs};
        if (activation == "tanh") options.activation = ignd::Activation::tanh;
        if (activation == "identity") options.activation = ignd::Activation::identity;
        if (activation != "relu" && options.activation == ignd::Activation::relu) {
          throw InvalidArgument("there is no activation '" + activation + "'; choose relu, tanh or identity");
        }
        return std::make_unique<ignd::Mlp<T>>(widths, options);
      },
      nb::arg("widths"), nb::arg("activation") = "relu", nb::arg("outputs") = 1, nb::arg("seed") = 0);
}

void bind_step_infos(nb::module_& module) {
  using ignd::BatchStepInfo, ignd::StepInfo;
  nb::class_<StepInfo>(module, "StepInfo", "One step, as seen before the weights moved.")
      .def_ro("step", &StepInfo::step, "1, 2, ...: steps taken, this one included")
      .def_ro("prediction", &StepInfo::prediction, "f")
      .def_ro("loss", &StepInfo::loss, "l, l_f and l_ff")
      .def_ro("sensitivity", &StepInfo::sensitivity, "the squared norm of the sensitivity")
      .def_ro("coefficient", &StepInfo::coefficient, "what multiplies the sensitivity, importance included")
      .def_ro("rate", &StepInfo::rate)
      .def_ro("h", &StepInfo::h, "the first-order change of the prediction")
      .def_prop_ro("status", [](const StepInfo& info) { return to_string(info.status); })
      .def("__repr__", [](const StepInfo& info) { return to_string(info); });
  nb::class_<BatchStepInfo>(module, "BatchStepInfo", "One step of a batch, as seen before the weights moved.")
      .def_ro("step", &BatchStepInfo::step)
      .def_ro("samples", &BatchStepInfo::samples)
      .def_ro("weight", &BatchStepInfo::weight)
      .def_ro("loss", &BatchStepInfo::loss, "the mean over the samples")
      .def_ro("rate", &BatchStepInfo::rate)
      .def_ro("damping", &BatchStepInfo::lambda)
      .def_ro("gain", &BatchStepInfo::gain, "actual over predicted decrease, if the damping is adaptive")
      .def_prop_ro("status", [](const BatchStepInfo& info) { return to_string(info.status); })
      .def("__repr__", [](const BatchStepInfo& info) { return to_string(info); });
}

nb::tuple optimizer_parts(const std::string& name) {
  const ignd::Optimizer optimizer = ignd::find_optimizer(name);
  return nb::make_tuple(optimizer.rule, optimizer.transform);
}

}  // namespace

void bind_trainers(nb::module_& module) {
  bind_step_infos(module);
  nb::class_<ignd::RandomStream>(module, "RandomStream", "A named stream of random numbers, the same on every machine.")
      .def(
          "__init__",
          [](ignd::RandomStream* made, std::uint64_t seed, const std::string& name) {
            new (made) ignd::RandomStream(seed, name);
          },
          nb::arg("seed"), nb::arg("name"))
      .def("uniform", nb::overload_cast<>(&ignd::RandomStream::uniform))
      .def("normal", &ignd::RandomStream::normal)
      .def("below", &ignd::RandomStream::below, nb::arg("bound"));
  module.def("optimizer_parts", &optimizer_parts, nb::arg("name"), "The rule and the transform of a named optimizer.");
  module.def("optimizer_names", &ignd::optimizer_names);
  bind_precision<float>(module, "32", "mlp32");
  bind_precision<double>(module, "64", "mlp64");
}

}  // namespace ignd_python
