#include "learn/engine.hpp"

#include "learn/datasets.hpp"

namespace ignd {
namespace {

class CpuEngine final : public Engine {
 public:
  std::string name() const override { return "cpu"; }
  std::string refusal(const RunSpec& /*spec*/) const override { return ""; }
  std::size_t group_size() const override { return 1; }

  void train(std::span<const RunSlot> group, const Dataset& dataset, const Ended& ended) const override {
    for (std::size_t i = 0; i < group.size(); ++i) {
      const RunSpec& spec = *group[i].spec;
      ended(i, record_run(dataset, spec.training, spec.record, *group[i].control));
    }
  }
};

}  // namespace

const Engine& cpu_engine() {
  static const CpuEngine engine;
  return engine;
}

std::string group_key(const RunSpec& spec) { return dataset_key(spec) + "\nmodel=" + spec.training.model; }

}  // namespace ignd
