#include "models/image_layers.hpp"
#include "rl/control_systems.hpp"
#include "rl/policy_iteration.hpp"
#include "support.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#ifdef IGND_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

// Every form of new and delete goes through malloc and free, and every new is counted. The library's calls too: a
// program's own operators replace those of the libraries it is linked with.
namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::size_t> allocations_of_onednn{0};
std::atomic<std::size_t> bytes{0};
thread_local bool in_onednn = false;

void count(std::size_t size) noexcept {
  ++(in_onednn ? allocations_of_onednn : allocations);
  bytes += size;
}

void* counted(std::size_t size) noexcept {
  count(size);
  return std::malloc(size == 0 ? 1 : size);
}

void* counted(std::size_t size, std::align_val_t alignment) noexcept {
  count(size);
  const auto unit = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (size / unit + 1) * unit);
}

// Not inlined: a compiler that sees new and free together takes them for a mistake.
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return or_throw(counted(size)); }
void* operator new[](std::size_t size) { return or_throw(counted(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new(std::size_t size, std::align_val_t unit) { return or_throw(counted(size, unit)); }
void* operator new[](std::size_t size, std::align_val_t unit) { return or_throw(counted(size, unit)); }
void* operator new(std::size_t size, std::align_val_t unit, const std::nothrow_t&) noexcept {
  return counted(size, unit);
}
void* operator new[](std::size_t size, std::align_val_t unit, const std::nothrow_t&) noexcept {
  return counted(size, unit);
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { release(memory); }

#ifdef IGND_HAS_ONEDNN
// In front of oneDNN's own, whose allocations are counted apart: nobody here can help them.
dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                                     const dnnl_exec_arg_t* arguments) {
  static const auto next = reinterpret_cast<decltype(&dnnl_primitive_execute)>(
      dlsym(RTLD_NEXT, "dnnl_primitive_execute"));  // NOLINT(performance-no-int-to-ptr)
  in_onednn = true;
  const dnnl_status_t status = next(primitive, stream, count, arguments);
  in_onednn = false;
  return status;
}
#endif

namespace ignd {
namespace {

template <class Action>
std::size_t allocations_of(Action action) {
  const std::size_t before = allocations;
  action();
  return allocations - before;
}

constexpr std::size_t sample_count = 25;
constexpr std::size_t features = 4;

template <class T>
struct Data {
  std::vector<std::vector<T>> values;
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<double> y, weight;

  // The first sample has as many different features as any other: room for it is room for all.
  explicit Data(bool sparse) {
    RandomStream stream(1, "data");
    for (std::uint32_t k = 0; k < sample_count; ++k) {
      values.push_back(testing::normal_vector<T>(stream, features));
      index.emplace_back();
      for (std::uint32_t i = 0; sparse && i < features; ++i) index.back().push_back(k == 0 ? i : stream.bits32());
      y.push_back(static_cast<double>(stream.below(2)));  // a target of every loss
      weight.push_back(k % 5 == 3 ? 0 : k % 5 == 4 ? 2.5 : 1);
    }
  }

  Input<T> x(std::size_t k) const { return {values[k % sample_count], index[k % sample_count]}; }
  Sample<T> operator[](std::size_t k) const { return {x(k), y[k % sample_count], weight[k % sample_count]}; }
};

const std::vector<std::string> model_specs{
    "linear:features=4",           "linear:features=4,bias=0",         "hashed-linear:bits=5",
    "hashed-linear:bits=5,bias=0", "mlp:widths=4x5x3,activation=relu", "mlp:widths=4x5x3,activation=tanh"};

template <class T>
class Allocation : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Allocation, Precisions, );

template <class T>
void expect_steps_allocate_nothing(const std::string& spec, const TrainerOptions& options) {
  const auto model = make_model<T>(spec);
  const Data<T> data(spec.starts_with("hashed"));
  Trainer<T> trainer(*model, options);
  trainer.step(data[0]);
  EXPECT_EQ(allocations_of([&] {
              for (std::size_t k = 1; k <= 100; ++k) trainer.step(data[k]);
            }),
            0U);
  EXPECT_EQ(trainer.status(), StepStatus::learned);
  EXPECT_EQ(trainer.steps(), 81U);  // one in five samples has weight 0
}

TYPED_TEST(Allocation, AStepTakesNoMemory) {
  for (const auto& spec : model_specs) {
    for (const auto& transform : transform_names()) {
      for (const auto& rule : step_rule_names()) {
        for (const auto metric : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
          for (const std::uint64_t average_from : {0, 10}) {
            SCOPED_TRACE(fmt::format("{} {} {} metric {} average_from {}", spec, rule, transform,
                                     static_cast<int>(metric), average_from));
            expect_steps_allocate_nothing<TypeParam>(spec, {.optimizer = {rule, transform},
                                                            .schedule = Schedule::constant(0.01),
                                                            .preconditioner = metric,
                                                            .average_from = average_from});
          }
        }
      }
    }
  }
}

TYPED_TEST(Allocation, AStepTakesNoMemoryWithAnyLossScheduleAndL2) {
  for (const auto& spec : model_specs) {
    for (const auto& loss : loss_names()) {
      for (const auto* schedule : {"robbins-monro:rate=0.01", "cosine:rate=0.01,steps=50,warmup=5"}) {
        SCOPED_TRACE(fmt::format("{} {} {}", spec, loss, schedule));
        expect_steps_allocate_nothing<TypeParam>(
            spec, {.loss = make_loss(loss), .schedule = Schedule::parse(schedule), .l2 = 0.01});
      }
    }
  }
}

template <class T>
void expect_batches_allocate_nothing(const std::string& spec, const BatchTrainerOptions& options) {
  const auto model = make_model<T>(spec);
  const Data<T> data(spec.starts_with("hashed"));
  BatchTrainer<T> trainer(*model, options);
  std::vector<Sample<T>> batch;
  const auto fill = [&](std::size_t first) {
    batch.clear();
    for (std::size_t k = 0; k < options.batch.size; ++k) batch.push_back(data[first + k]);
  };
  batch.assign(options.batch.size, data[0]);  // as many rows of tables as any other batch has
  trainer.step(batch);
  for (std::size_t k = 1; k <= 40; ++k) {
    fill(k);
    EXPECT_EQ(allocations_of([&] { trainer.step(batch); }), 0U);
  }
  EXPECT_EQ(trainer.status(), StepStatus::learned);
  EXPECT_EQ(trainer.steps(), 41U);
}

TYPED_TEST(Allocation, AStepWithABatchTakesNoMemory) {
  std::vector<std::string> specs = model_specs;
  specs.insert(specs.end(), {"mlp:widths=4x5,outputs=3", "mlp:widths=4,outputs=2"});
  for (const auto& spec : specs) {
    const bool several = spec.find("outputs") != std::string::npos;
    for (const auto* transform : {"plain", "adam"}) {
      for (const auto* rule : {"gradient", "gauss-newton"}) {
        for (const auto mode : {BatchMode::average, BatchMode::exact}) {
          for (const auto metric : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
            if (mode == BatchMode::exact && std::string(rule) == "gradient") continue;
            SCOPED_TRACE(fmt::format("{} {} {} {} {}", spec, rule, transform, to_string(mode), to_string(metric)));
            expect_batches_allocate_nothing<TypeParam>(spec,
                                                       {.loss = make_vector_loss(several ? "softmax" : "logistic"),
                                                        .optimizer = {rule, transform},
                                                        .schedule = Schedule::constant(0.01),
                                                        .preconditioner = metric,
                                                        .average_from = 10,
                                                        .batch = {.size = 6, .mode = mode, .lambda = 1}});
          }
        }
      }
    }
  }
}

// Images of 4 x 4 and texts of up to four tokens, of which the first is as long as any other.
template <class T>
void expect_network_batches_allocate_nothing(const std::string& spec, const BatchTrainerOptions& options) {
  constexpr std::size_t size = 3;
  const auto model = make_model<T>(spec);
  RandomStream stream(2, "data");
  std::vector<std::vector<T>> images;
  std::vector<std::vector<std::uint32_t>> texts;
  for (std::uint32_t k = 0; k < sample_count; ++k) {
    images.push_back(testing::normal_vector<T>(stream, 16));
    texts.emplace_back(k < size ? 4 : stream.below(5));
    for (std::uint32_t i = 0; i < texts.back().size(); ++i) {
      texts.back()[i] = k < size ? 4 * k + i : static_cast<std::uint32_t>(stream.below(20));
    }
  }
  const bool reads_texts = spec.find("tokens") != std::string::npos;
  BatchTrainer<T> trainer(*model, options);
  std::vector<Sample<T>> batch;
  for (std::size_t k = 0; k + size <= sample_count; ++k) {
    batch.clear();
    for (std::size_t s = k; s < k + size; ++s) {
      batch.push_back({reads_texts ? Input<T>{{}, texts[s]} : Input<T>{images[s]}, static_cast<double>(s % 2)});
    }
    const std::size_t taken = allocations_of([&] { trainer.step(batch); });
    EXPECT_TRUE(taken == 0 || k == 0) << taken << " at step " << k;
  }
  EXPECT_EQ(trainer.status(), StepStatus::learned);
}

TYPED_TEST(Allocation, AStepOfANetworkWithABatchTakesNoMemory) {
  for (const std::string body : {"image 1 4 4; convolution 2; relu; max-pool; flatten; dense 5; tanh",
                                 "tokens 4 20; embedding 3; lstm 4; last; dense 4; relu"}) {
    if (!testing::has_convolutions && body.starts_with("image")) continue;
    for (const bool several : {false, true}) {
      for (const auto* transform : {"plain", "adam"}) {
        for (const auto* rule : {"gradient", "gauss-newton"}) {
          for (const auto mode : {BatchMode::average, BatchMode::exact}) {
            if (mode == BatchMode::exact && std::string(rule) == "gradient") continue;
            SCOPED_TRACE(fmt::format("{} {} {} {} {}", body, several, rule, transform, to_string(mode)));
            expect_network_batches_allocate_nothing<TypeParam>(
                fmt::format("network:{}; dense {}", body, several ? 3 : 1),
                {.loss = make_vector_loss(several ? "softmax" : "logistic"),
                 .optimizer = {rule, transform},
                 .schedule = Schedule::constant(0.01),
                 .batch = {.size = 3, .mode = mode, .lambda = 1}});
          }
        }
      }
    }
  }
}

TYPED_TEST(Allocation, APredictionWithATraceTakesNoMemory) {
  for (const auto& spec : model_specs) {
    const auto model = make_model<TypeParam>(spec);
    const Data<TypeParam> data(spec.starts_with("hashed"));
    Trace<TypeParam> trace(*model);
    model->predict(data.x(0), trace);
    double sum = 0;
    EXPECT_EQ(allocations_of([&] {
                for (std::size_t k = 1; k <= 100; ++k) sum += model->predict(data.x(k), trace);
              }),
              0U)
        << spec;
    EXPECT_TRUE(std::isfinite(sum));
  }
}

TYPED_TEST(Allocation, DenseModelsTakeNoMemoryForTheFirstStepEither) {
  for (const auto* spec : {"linear:features=4", "mlp:widths=4x5x3"}) {
    for (const auto metric : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
      const auto model = make_model<TypeParam>(spec);
      const Data<TypeParam> data(false);
      Trainer<TypeParam> trainer(*model,
                                 {.optimizer = {"gauss-newton", "adam"}, .preconditioner = metric, .average_from = 1});
      EXPECT_EQ(allocations_of([&] { trainer.step(data[0]); }), 0U) << spec;
    }
  }
}

// The counter counts: what the library allocates by plain and by aligned new, and what a sparse trace needs at first.
TEST(AllocationCounter, SeesWhatTheLibraryAllocates) {
  std::unique_ptr<Model<float>> model;
  EXPECT_GE(allocations_of([&] { model = make_model<float>("linear:features=4"); }), 2U);
  EXPECT_GE(allocations_of([&] { make_loss("huber:delta=2"); }), 1U);
  const auto sparse = make_model<float>("hashed-linear:bits=5");
  const Data<float> data(true);
  Trace<float> trace(*sparse);
  EXPECT_GE(allocations_of([&] { sparse->predict(data.x(0), trace); }), 1U);
  EXPECT_GE(allocations_of([&] { model->predict(Input<float>{Data<float>(false).values[0]}); }), 1U);
}

// The Hessians of one batch alone would take 128 MB.
TEST(BatchMemory, GradientsOfManyClassesTakeNoSystems) {
  Mlp<float> model({4, 8}, {.outputs = 1000});
  const BatchTrainerOptions options{
      .loss = make_vector_loss("softmax"), .optimizer = find_optimizer("adam"), .batch = {.size = 16}};
  const std::size_t before = bytes;
  BatchTrainer<float> trainer(model, options);
  const std::vector<float> x(4, 1.0F);
  trainer.step(std::vector<Sample<float>>(16, {{x}, 999}));
  EXPECT_LT(bytes - before, 2'000'000U);
}

TEST(ControlAllocation, AnUpdateOfAPolicyTakesNoMemory) {
  for (const auto sampling : {Sampling::episodes, Sampling::independent}) {
    Transitions transitions(hold_actions(uav_system(), 0.1), {.sampling = sampling, .noise = 0.01}, 1);
    const std::size_t size = transitions.features().size();
    const auto step = make_semi_gradient(size, 0.9, find_optimizer("nlms"), Schedule::robbins_monro(1, 100));
    const auto least_squares = make_rls_td(size, 0.9);
    EXPECT_EQ(allocations_of([&] {
                for (int i = 0; i < 100; ++i) {
                  const Transition seen = transitions.next();
                  step->update(seen);
                  least_squares->update(seen);
                }
              }),
              0U);
  }
}

template <class T>
std::size_t pass_through(const Layer<T>& layer, const Shape& input) {
  const std::vector<T> w(layer.weights(), T(0.1));
  const std::vector<T> in(input.count(), T(0.5));
  const std::vector<T> out_delta(layer.output().count(), T(1));
  std::vector<T> out(layer.output().count());
  std::vector<T> in_delta(input.count());
  const auto pass = layer.make_pass();
  pass->in = in.data();
  pass->out = out.data();
  pass->out_delta = out_delta.data();
  pass->in_delta = in_delta.data();
  return allocations_of([&] {
    layer.forward(w, *pass, {});
    layer.backward(w, *pass);
  });
}

TEST(ImageLayerAllocation, APassTakesNoMemory) {
  if (!testing::has_convolutions) GTEST_SKIP() << testing::no_convolutions;
  const Shape input = Shape::image(3, 30, 30);
  const std::vector<ImageLayer> layers{Convolution{32, 3, 1, 1}, Rectifier{}, Convolution{8, 3, 1, 1},
                                       HyperbolicTangent{}, MaxPooling{2, 2}};
  allocations_of_onednn = 0;
  EXPECT_EQ(pass_through(*make_plain_image_layers<float>(input, layers), input), 0U);
  EXPECT_EQ(pass_through(*make_image_layers<double>(input, layers), input), 0U);
  EXPECT_EQ(allocations_of_onednn, 0U);
  EXPECT_EQ(pass_through(*make_image_layers<float>(input, layers), input), 0U);
  EXPECT_GT(allocations_of_onednn, 0U) << "they are told apart";
  RecordProperty("oneDNN", std::to_string(allocations_of_onednn));
}

}  // namespace
}  // namespace ignd
