#include "ignd/saved_model.hpp"

#include "base/text.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/error.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace ignd {
namespace {

constexpr std::string_view saved_model_kind = "model";

template <class T>
constexpr std::string_view precision_name = sizeof(T) == sizeof(float) ? "float" : "double";

template <class T>
bool all_finite(std::span<const T> weights) {
  return std::ranges::all_of(weights, [](T weight) { return std::isfinite(weight); });
}

// Reads a file that save_model wrote. Any fault names the file.
template <class T, class Use>
void use_saved_model(const std::filesystem::path& path, Use use) {
  const Checkpoint checkpoint = Checkpoint::read(path);
  try {
    if (!checkpoint.has("kind") || checkpoint.text("kind") != saved_model_kind) {
      throw FileError(
          "it does not hold a model alone; training runs are restored by a trainer, and model files of the "
          "tool by ModelFile");
    }
    const std::string& precision = checkpoint.text("precision");
    if (precision != precision_name<T>) {
      throw FileError(fmt::format("its weights are {}, not {}", in_quotes(precision), in_quotes(precision_name<T>)));
    }
    use(checkpoint);
  } catch (const Error& fault) {
    throw FileError(fmt::format("{} cannot be used: {}", quoted_path(path), fault.what()));
  }
}

template <class T>
void copy_weights(const Checkpoint& checkpoint, Model<T>& model) {
  const auto& weights = checkpoint.array<T>("weights", model.parameters().size());
  if (!all_finite<T>(weights)) throw FileError("its weights are not all finite");
  std::ranges::copy(weights, model.parameters().begin());
}

}  // namespace

template <class T>
void save_model(const std::filesystem::path& path, const Model<T>& model) {
  if (!all_finite<T>(model.parameters())) {
    throw InvalidArgument("the model's weights are not all finite, so it is not saved");
  }
  Checkpoint checkpoint;
  checkpoint.set("kind", std::string(saved_model_kind));
  checkpoint.set("precision", std::string(precision_name<T>));
  checkpoint.set("model", model.spec());
  checkpoint.set("weights", model.parameters());
  checkpoint.write(path);
}

template <class T>
std::unique_ptr<Model<T>> load_model(const std::filesystem::path& path) {
  std::unique_ptr<Model<T>> model;
  use_saved_model<T>(path, [&](const Checkpoint& checkpoint) {
    model = make_model<T>(checkpoint.text("model"));
    copy_weights(checkpoint, *model);
  });
  return model;
}

template <class T>
void load_weights(const std::filesystem::path& path, Model<T>& model) {
  use_saved_model<T>(path, [&](const Checkpoint& checkpoint) {
    const std::string& spec = checkpoint.text("model");
    if (spec != model.spec()) {
      throw FileError(fmt::format("its model is {}, not {}", in_quotes(spec), in_quotes(model.spec())));
    }
    copy_weights(checkpoint, model);
  });
}

template void save_model(const std::filesystem::path&, const Model<float>&);
template void save_model(const std::filesystem::path&, const Model<double>&);
template std::unique_ptr<Model<float>> load_model(const std::filesystem::path&);
template std::unique_ptr<Model<double>> load_model(const std::filesystem::path&);
template void load_weights(const std::filesystem::path&, Model<float>&);
template void load_weights(const std::filesystem::path&, Model<double>&);

}  // namespace ignd
