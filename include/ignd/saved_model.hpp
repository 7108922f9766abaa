#pragma once

#include "ignd/api.hpp"
#include "ignd/model.hpp"

#include <filesystem>
#include <memory>

namespace ignd {

// A model alone, without the state of the training run that made it: its spec and its weights, in the checkpoint's
// format (docs/formats.md). Trainer::save() and restore() keep what it takes to resume.

// Writes the file whole or not at all. Save a trainer's snapshot() rather than the model that it trains, whose rows may
// be behind. Throws InvalidArgument if weights are not finite, and FileError.
template <class T>
IGND_API void save_model(const std::filesystem::path& path, const Model<T>& model);

// One of the library's own models. Throws FileError if the file is damaged, or holds anything else: a training run, a
// model of another precision, or one that make_model does not know.
template <class T>
IGND_API std::unique_ptr<Model<T>> load_model(const std::filesystem::path& path);

// Reads the weights into a model that has the spec of the saved one; it may be a model of your own. Throws FileError
// as load_model does, and then leaves the model as it was.
template <class T>
IGND_API void load_weights(const std::filesystem::path& path, Model<T>& model);

}  // namespace ignd
