#include "core/idle_steps.hpp"
#include "support.hpp"

#include <cstdint>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

// The threading contract, also under the thread sanitizer: a const model predicts from any number of threads; losses,
// rules and transforms are shared; a trainer and its model belong to one thread at a time.
namespace ignd {
namespace {

constexpr std::size_t thread_count = 4;
constexpr std::size_t sample_count = 100;
constexpr std::size_t features = 6;
const std::vector<std::string> model_specs{"linear:features=6", "hashed-linear:bits=5",
                                           "mlp:widths=6x8x4,activation=tanh"};

// All threads at once: none begins before the last one is there. Returns when all are done.
void in_threads(const std::function<void(std::size_t)>& work) {
  std::latch start(thread_count);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      work(i);
    });
  }
  for (auto& thread : threads) thread.join();
}

template <class T>
struct Data {
  std::vector<std::vector<T>> values;
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<double> y;

  Data(const std::string& model, const Loss& loss) {
    RandomStream stream(1, "data");
    const bool sparse = model.starts_with("hashed");
    for (std::size_t k = 0; k < sample_count; ++k) {
      values.push_back(testing::normal_vector<T>(stream, features));
      index.emplace_back();
      for (std::size_t i = 0; sparse && i < features; ++i) index.back().push_back(stream.bits32());
      y.push_back(testing::random_target(loss, stream));
    }
  }

  Input<T> x(std::size_t k) const { return {values[k], index[k]}; }
  Sample<T> sample(std::size_t k) const { return {x(k), y[k]}; }
};

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

template <class T>
std::unique_ptr<Model<T>> random_model(const std::string& spec) {
  auto model = make_model<T>(spec);
  RandomStream stream(1, "weights");
  for (T& w : model->parameters()) w = static_cast<T>(0.3 * stream.normal());
  return model;
}

template <class T>
class Threads : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Threads, Precisions, );

TYPED_TEST(Threads, PredictWithOneModel) {
  using T = TypeParam;
  for (const auto& spec : model_specs) {
    const Data<T> data(spec, *make_loss("squared"));
    const std::unique_ptr<const Model<T>> model = random_model<T>(spec);
    const auto predict_all = [&] {
      Trace<T> trace(*model);
      std::vector<double> found;
      for (std::size_t k = 0; k < sample_count; ++k) found.push_back(model->predict(data.x(k), trace));
      return found;
    };
    const std::vector<double> alone = predict_all();
    std::vector<std::vector<double>> found(thread_count);
    in_threads([&](std::size_t i) { found[i] = predict_all(); });
    for (const auto& one : found) EXPECT_TRUE(same_bits<double>(one, alone)) << spec;
  }
}

TYPED_TEST(Threads, TakeSensitivitiesAndCopiesOfOneModel) {
  using T = TypeParam;
  for (const auto& spec : model_specs) {
    const Data<T> data(spec, *make_loss("squared"));
    const std::unique_ptr<const Model<T>> model = random_model<T>(spec);
    const std::vector<T> alone = testing::flat_sensitivity(*model, data.x(0));
    std::vector<std::vector<T>> found(thread_count);
    in_threads([&](std::size_t i) { found[i] = testing::flat_sensitivity(*model->clone(), data.x(0)); });
    for (const auto& one : found) EXPECT_TRUE(same_bits<T>(one, alone)) << spec;
    in_threads([&](std::size_t i) { found[i] = testing::flat_sensitivity(*model, data.x(0)); });
    for (const auto& one : found) EXPECT_TRUE(same_bits<T>(one, alone)) << spec;
  }
}

// The weights after one pass, or the averaged ones.
template <class T>
std::vector<T> train(const std::string& spec, const TrainerOptions& options, const Data<T>& data) {
  const auto model = random_model<T>(spec);
  Trainer<T> trainer(*model, options);
  for (std::size_t k = 0; k < sample_count; ++k) trainer.step(data.sample(k));
  const auto which = options.average_from > 0 ? Iterate::averaged : Iterate::last;
  const auto trained = trainer.snapshot(which);
  return {trained->parameters().begin(), trained->parameters().end()};
}

TYPED_TEST(Threads, TrainModelsOfTheirOwn) {
  using T = TypeParam;
  // Each thread another run, with one loss object for all.
  const std::shared_ptr<const Loss> loss = make_loss("huber");
  const std::vector<std::string> transforms{"plain", "momentum", "adam", "adadelta"};
  ASSERT_EQ(transforms.size(), thread_count);
  for (const auto& spec : model_specs) {
    const Data<T> data(spec, *loss);
    const auto run = [&](std::size_t i) {
      return train<T>(spec,
                      {.loss = loss,
                       .optimizer = {"gauss-newton", transforms[i]},
                       .preconditioner = i % 2 == 0 ? PreconditionerKind::identity : PreconditionerKind::second_moment,
                       .average_from = i / 2},
                      data);
    };
    std::vector<std::vector<T>> together(thread_count);
    in_threads([&](std::size_t i) { together[i] = run(i); });
    for (std::size_t i = 0; i < thread_count; ++i) EXPECT_TRUE(same_bits<T>(together[i], run(i))) << spec << ' ' << i;
  }
}

TYPED_TEST(Threads, ShareEveryTransform) {
  using T = TypeParam;
  for (const auto& name : transform_names()) {
    const std::shared_ptr<const Transform<T>> transform = make_transform<T>(name);
    // The same steps by hand, with weights and state of the thread's own.
    const auto apply = [&] {
      const std::vector<T> j{1, -2, 3};
      const Sensitivity<T> direction{Dense<T>{0, j}};
      std::vector<T> w{1, 1, 1};
      auto state = transform->initial_state(w.size());
      for (std::uint64_t t = 1; t <= 200; ++t) {
        transform->apply(w, state, direction, direction, {.t = t, .alpha = 0.1, .c = 0.1, .decay = 0.01});
        IdleSteps<T> steps;
        transform->sum_idle_steps(t, t, Schedule::constant(0.1), steps);
        transform->idle(w, state, 0, w.size(), steps);
      }
      return w;
    };
    const std::vector<T> alone = apply();
    std::vector<std::vector<T>> found(thread_count);
    in_threads([&](std::size_t i) { found[i] = apply(); });
    for (const auto& one : found) EXPECT_TRUE(same_bits<T>(one, alone)) << name;
  }
}

TEST(ThreadsShare, EveryLossAndRule) {
  for (const auto& loss : testing::all_losses()) {
    for (const auto& name : step_rule_names()) {
      const std::shared_ptr<const StepRule> rule = make_step_rule(name);
      const auto evaluate = [&] {
        RandomStream stream(1, "outputs");
        std::vector<double> coefficients;
        for (int i = 0; i < 200; ++i) {
          const double y = testing::random_target(*loss, stream);
          loss->check_target(y);
          const LossAt at = loss->at(y, stream.normal());
          coefficients.push_back(rule->coefficient({.loss = at, .minimum = loss->minimum(y), .s = 2}));
        }
        return coefficients;
      };
      const std::vector<double> alone = evaluate();
      std::vector<std::vector<double>> found(thread_count);
      in_threads([&](std::size_t i) { found[i] = evaluate(); });
      for (const auto& one : found) EXPECT_TRUE(same_bits<double>(one, alone)) << loss->spec() << ' ' << rule->spec();
    }
  }
}

// Making things by name reads tables that all threads share.
TEST(ThreadsShare, TheNamesOfEverything) {
  in_threads([](std::size_t) {
    for (int i = 0; i < 20; ++i) {
      for (const auto& name : optimizer_names()) make_step_rule(find_optimizer(name).rule);
      for (const auto& spec : model_specs) make_model<float>(spec);
      EXPECT_THROW(make_loss("no such loss"), InvalidArgument);
      EXPECT_STREQ(version(), version());
    }
  });
}

}  // namespace
}  // namespace ignd
