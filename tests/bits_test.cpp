// A run is a pure function of its configuration: who looks, how often and how much he prints does not change a bit.
// (2N steps = N, save, load, N is in checkpoint_test.)
#include "dense_reference.hpp"

#include <cstring>
#include <functional>

#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

template <class T>
std::vector<T> run(const std::string& model_spec, const TrainerOptions& options,
                   const std::function<void(const Trainer<T>&, const StepInfo&)>& look) {
  const auto model = make_model<T>(model_spec);
  const bool sparse = model_spec.starts_with("hashed");
  Trainer<T> trainer(*model, options);
  RandomStream stream(51, "bits");
  for (int step = 0; step < 60; ++step) {
    const RandomInput x(stream, 8, sparse);
    const std::vector<T> values(x.values.begin(), x.values.end());
    const StepInfo info = trainer.step({{values, x.index}, stream.normal(), 1 + stream.uniform()});
    look(trainer, info);
  }
  const auto last = trainer.snapshot();
  return {last->parameters().begin(), last->parameters().end()};
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void expect_looking_changes_nothing() {
  for (const std::string model : {"linear:features=8", "hashed-linear:bits=3", "mlp:widths=8x6x4"}) {
    for (const auto& transform : transform_names()) {
      for (const auto metric : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
        SCOPED_TRACE(model + " " + transform);
        const TrainerOptions options{
            .optimizer = {"gauss-newton", transform}, .preconditioner = metric, .average_from = 5};
        const auto quiet = run<T>(model, options, [](const auto&, const auto&) {});
        std::string output;
        const auto verbose =
            run<T>(model, options, [&](const auto&, const auto& info) { output += to_string(info) + "\n"; });
        double evaluated = 0;
        const auto often = run<T>(model, options, [&](const auto& trainer, const auto&) {
          const auto seen = trainer.snapshot();
          for (const T w : seen->parameters()) evaluated += static_cast<double>(w);
          Checkpoint checkpoint;
          trainer.save(checkpoint);
        });
        EXPECT_FALSE(output.empty());
        EXPECT_NE(evaluated, 0);
        EXPECT_TRUE(same_bits(quiet, verbose)) << "quiet and verbose differ";
        EXPECT_TRUE(same_bits(quiet, often)) << "evaluated often and never differ";
      }
    }
  }
}

TEST(Bits, LookingChangesNothingInFloat) { expect_looking_changes_nothing<float>(); }

TEST(Bits, LookingChangesNothingInDouble) { expect_looking_changes_nothing<double>(); }

TEST(Bits, SnapshotsOfOneMomentAreEqual) {
  HashedLinear<float> model(3);
  Trainer<float> trainer(model, {.optimizer = {"gauss-newton", "adam"}});
  const std::vector<float> one{1};
  for (std::uint32_t i = 0; i < 8; ++i) {
    const std::vector<std::uint32_t> index{i};
    trainer.step({{one, index}, 1});
  }
  const auto first = trainer.snapshot();
  const auto second = trainer.snapshot();
  EXPECT_TRUE(std::ranges::equal(first->parameters(), second->parameters()));
  // Rows are behind in the model itself: that is what the snapshot is for.
  EXPECT_FALSE(std::ranges::equal(first->parameters(), model.parameters()));
}

}  // namespace
}  // namespace ignd::testing
