#pragma once

#include "learn/run_spec.hpp"
#include "models/layer.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

// What can be known to be wrong with a run before its data are read, which may take long.
namespace ignd {

// The keys that a user gave, as options of a command or as settings in a program.
struct GivenKeys {
  std::string_view open, close;      // around a name in messages: "--", or quotes
  std::set<std::string> names = {};  // "epochs"

  bool has(const std::string& name) const { return names.contains(name); }
  std::string shown(std::string_view name) const;  // "--epochs"

  // Throws InvalidArgument with the names and `why` if any of these was given.
  void refuse(const std::vector<std::string>& keys, std::string_view why) const;
};

// Refuses keys that mean nothing for such data, rather than ignoring them; `why` says so.
void refuse_foreign_keys(const GivenKeys& given, RunKey::Use use, std::string_view why);

// Checks a complete spec and the keys that it was made from. Throws InvalidArgument.
void check_training(const GivenKeys& given, const RunSpec& spec, DataKind kind);

// What is wrong with the spec of an experiment; one text each. `kind` is that of the data.
std::vector<std::string> spec_faults(const RunSpec& spec, DataKind kind);

// What a network reads of an image or a text.
Shape sample_shape(const RunSpec& spec, DataKind kind);

}  // namespace ignd
