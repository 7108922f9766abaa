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

  // Two keys that say the same thing cannot both be given. Throws InvalidArgument.
  void check_alternatives() const;

  // Throws InvalidArgument with the names and `why` if any of these was given.
  void refuse(const std::vector<std::string>& keys, std::string_view why) const;
};

// Refuses keys that mean nothing for such data, rather than ignoring them; `why` says so.
void refuse_foreign_keys(const GivenKeys& given, RunKey::Use use, std::string_view why);

// The spec of a single run, made of keys that a user gave: with the network in place of its file, the optimizer, the
// rate unless it is to be searched for, and the defaults for this kind of data. Throws InvalidArgument.
RunSpec complete_spec(RunSpec spec, const GivenKeys& given, DataKind kind);

// What is wrong with a complete spec, one text each; and further, if it is one of a study.
std::vector<std::string> spec_faults(const RunSpec& spec, DataKind kind);
std::vector<std::string> study_faults(const RunSpec& spec, DataKind kind);

// What a network reads of an image or a text.
Shape sample_shape(const RunSpec& spec, DataKind kind);

}  // namespace ignd
