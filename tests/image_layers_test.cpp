#include "models/image_layers.hpp"

#include "support.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <latch>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <Eigen/SparseCore>
#include <fmt/format.h>
#include <gtest/gtest.h>

// Convolutions, poolings and activations, in plain loops and through oneDNN, against finite differences, against
// matrices and against each other.
namespace ignd {
namespace {

using Stack = std::vector<ImageLayer>;

template <class T>
struct Derivatives {
  std::vector<T> out;
  std::vector<T> in_delta;
  std::vector<T> j;
};

template <class T>
struct Problem {
  std::vector<T> w;
  std::vector<T> in;
  std::vector<T> out_delta;  // f = out_delta * out
};

// A layer with one pass through it, and nobody who listens to which rows are read.
template <class T>
class Runner {
 public:
  explicit Runner(const Layer<T>& layer) : layer_(layer), pass_(layer.make_pass()) {
    layer_.add_blocks(0, *pass_, blocks_);
    pass_->blocks = blocks_;
  }

  Derivatives<T> run(const Problem<T>& problem, bool with_in_delta = true) {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    Derivatives<T> found;
    found.out.assign(layer_.output().count(), nan);
    found.in_delta.assign(problem.in.size(), nan);
    found.j.resize(layer_.weights());
    pass_->in = problem.in.data();
    pass_->out = found.out.data();
    pass_->out_delta = problem.out_delta.data();
    pass_->in_delta = with_in_delta ? found.in_delta.data() : nullptr;
    layer_.forward(problem.w, *pass_, {});
    layer_.backward(problem.w, *pass_);
    write_dense<T>(blocks_, found.j);
    return found;
  }

 private:
  const Layer<T>& layer_;
  std::unique_ptr<Pass<T>> pass_;
  Sensitivity<T> blocks_;
};

template <class T>
Derivatives<T> run(const Layer<T>& layer, const Problem<T>& problem) {
  return Runner<T>(layer).run(problem);
}

template <class T>
Problem<T> normal_problem(const Layer<T>& layer, const Shape& input, RandomStream& stream) {
  return {testing::normal_vector<T>(stream, layer.weights(), 0.5), testing::normal_vector<T>(stream, input.count()),
          testing::normal_vector<T>(stream, layer.output().count())};
}

// So few and small ones that every sum of products is exact, and that many values are equal or zero.
template <class T>
Problem<T> whole_problem(const Layer<T>& layer, const Shape& input, RandomStream& stream) {
  const auto numbers = [&](std::size_t count) {
    std::vector<T> found(count);
    for (T& number : found) number = static_cast<T>(stream.below(5)) - 2;
    return found;
  };
  return {numbers(layer.weights()), numbers(input.count()), numbers(layer.output().count())};
}

template <class T, class U>
std::vector<T> converted(const std::vector<U>& numbers) {
  return {numbers.begin(), numbers.end()};
}

template <class T, class U>
Problem<T> converted(const Problem<U>& problem) {
  return {converted<T>(problem.w), converted<T>(problem.in), converted<T>(problem.out_delta)};
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
bool same_bits(const Derivatives<T>& a, const Derivatives<T>& b) {
  return same_bits(a.out, b.out) && same_bits(a.in_delta, b.in_delta) && same_bits(a.j, b.j);
}

// ||a - b|| / ||b||, and infinity where anything is not a number.
template <class T, class U>
double relative_error(const std::vector<T>& a, const std::vector<U>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0;
  double size = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    difference += std::pow(static_cast<double>(a[k]) - static_cast<double>(b[k]), 2);
    size += std::pow(static_cast<double>(b[k]), 2);
  }
  const double error = difference == 0 ? 0 : std::sqrt(difference / size);
  return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
}

template <class T, class U>
void expect_near(const Derivatives<T>& found, const Derivatives<U>& right, double tolerance, const std::string& what) {
  EXPECT_LE(relative_error(found.out, right.out), tolerance) << what;
  EXPECT_LE(relative_error(found.in_delta, right.in_delta), tolerance) << what;
  EXPECT_LE(relative_error(found.j, right.j), tolerance) << what;
}

std::size_t between(RandomStream& stream, std::size_t low, std::size_t high) {
  return low + static_cast<std::size_t>(stream.below(high - low + 1));
}

struct Case {
  Shape input;
  Stack stack;

  std::string text() const {
    const auto [channels, height, width] = input.size;
    return fmt::format("{} x {} x {}: {}", channels, height, width,
                       make_plain_image_layers<double>(input, stack)->text());
  }
};

// Every kernel with every stride and padding on images of random sizes.
std::vector<Case> convolutions(RandomStream& stream, std::size_t most_channels) {
  std::vector<Case> cases;
  for (const std::size_t kernel : {1, 2, 3, 5}) {
    for (const std::size_t stride : {1, 2, 3}) {
      for (const std::size_t padding : {0, 1, 2, 3}) {
        const auto size = [&] { return between(stream, kernel, 9); };
        cases.push_back({Shape::image(between(stream, 1, most_channels), size(), size()),
                         {Convolution{between(stream, 1, most_channels), kernel, stride, padding}}});
      }
    }
  }
  return cases;
}

std::vector<Case> poolings(RandomStream& stream, std::size_t most_channels) {
  std::vector<Case> cases;
  for (const std::size_t size : {1, 2, 3}) {
    for (const std::size_t stride : {1, 2, 3}) {
      for (int i = 0; i < 3; ++i) {
        cases.push_back(
            {Shape::image(between(stream, 1, most_channels), between(stream, 3, 11), between(stream, 3, 11)),
             {MaxPooling{size, stride}}});
      }
    }
  }
  return cases;
}

// Layers in any order, as long as an image is left.
Case random_stack(RandomStream& stream, std::size_t most_channels, bool with_tangent) {
  while (true) {
    Case one{Shape::image(between(stream, 1, most_channels), between(stream, 5, 13), between(stream, 5, 13)), {}};
    const std::size_t count = between(stream, 2, 6);
    for (std::size_t k = 0; k < count; ++k) {
      switch (stream.below(with_tangent ? 4 : 3)) {
        case 0:
          one.stack.emplace_back(Convolution{between(stream, 1, most_channels), between(stream, 1, 3),
                                             between(stream, 1, 2), between(stream, 0, 2)});
          break;
        case 1:
          one.stack.emplace_back(MaxPooling{between(stream, 2, 3), between(stream, 1, 3)});
          break;
        case 2:
          one.stack.emplace_back(Rectifier{});
          break;
        default:
          one.stack.emplace_back(HyperbolicTangent{});
      }
    }
    try {
      make_plain_image_layers<double>(one.input, one.stack);
      return one;
    } catch (const InvalidArgument&) {
      continue;  // too small for one of its layers
    }
  }
}

std::vector<Case> random_stacks(RandomStream& stream, std::size_t count, std::size_t most_channels, bool with_tangent) {
  std::vector<Case> cases;
  while (cases.size() < count) cases.push_back(random_stack(stream, most_channels, with_tangent));
  return cases;
}

std::vector<Case> degenerate_cases() {
  return {{Shape::image(1, 1, 1), {Convolution{1, 1, 1, 0}}},
          {Shape::image(1, 1, 1), {Convolution{1, 3, 1, 1}, Rectifier{}, MaxPooling{1, 1}}},
          {Shape::image(17, 1, 1), {Convolution{33, 3, 2, 1}, HyperbolicTangent{}}},
          {Shape::image(2, 5, 5), {Convolution{3, 5, 1, 0}}},
          {Shape::image(2, 5, 7), {Convolution{3, 5, 4, 0}, Rectifier{}}},
          {Shape::image(1, 1, 9), {Convolution{2, 1, 3, 0}, MaxPooling{1, 2}}},
          {Shape::image(3, 3, 3), {MaxPooling{3, 3}}},
          {Shape::image(3, 2, 2), {Rectifier{}}},
          {Shape::image(3, 2, 2), {Rectifier{}, Rectifier{}, MaxPooling{2, 1}, Rectifier{}}},
          {Shape::image(3, 4, 4), {Convolution{5, 3, 1, 1}, Rectifier{}, Rectifier{}}},
          {Shape::image(1, 2, 2), {Convolution{1, 1, 1, 3}}}};
}

// f at the problem, for finite differences.
double functional(Runner<double>& runner, const Problem<double>& problem) {
  const auto found = runner.run(problem, false);
  double sum = 0;
  for (std::size_t k = 0; k < found.out.size(); ++k) sum += problem.out_delta[k] * found.out[k];
  return sum;
}

void expect_differences(Runner<double>& runner, Problem<double>& problem, std::vector<double>& variables,
                        const std::vector<double>& derivatives, const std::string& what) {
  for (std::size_t k = 0; k < variables.size(); ++k) {
    const double kept = variables[k];
    const double step = 1e-6;
    variables[k] = kept + step;
    const double above = functional(runner, problem);
    variables[k] = kept - step;
    const double below = functional(runner, problem);
    variables[k] = kept;
    ASSERT_NEAR(derivatives[k], (above - below) / (2 * step), 1e-6 * (1 + std::abs(derivatives[k])))
        << what << ' ' << k;
  }
}

void check_differences(const Case& one, RandomStream& stream) {
  const auto layer = make_plain_image_layers<double>(one.input, one.stack);
  auto problem = normal_problem(*layer, one.input, stream);
  Runner<double> runner(*layer);
  const auto found = runner.run(problem);
  expect_differences(runner, problem, problem.w, found.j, one.text() + ", weight");
  expect_differences(runner, problem, problem.in, found.in_delta, one.text() + ", input");
}

class ImageLayers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_convolutions) GTEST_SKIP() << testing::no_convolutions;
  }
};

TEST(PlainImageLayers, AreTheDerivativesThatFiniteDifferencesGive) {
  RandomStream stream(1, "finite differences");
  for (const auto& one : convolutions(stream, 3)) check_differences(one, stream);
  for (const auto& one : poolings(stream, 3)) check_differences(one, stream);
  for (const auto& one : random_stacks(stream, 60, 3, true)) check_differences(one, stream);
  for (const auto& one : degenerate_cases()) check_differences(one, stream);
  check_differences({Shape::image(19, 3, 3), {Convolution{7, 3, 1, 1}, Rectifier{}}}, stream);
  check_differences({Shape::image(2, 5, 3), {Convolution{19, 2, 1, 0}, HyperbolicTangent{}}}, stream);
}

using Matrix = Eigen::SparseMatrix<double>;
using Vector = Eigen::VectorXd;

// The index of the weight that takes input (i, y, x) to output (o, v, u), by the definition.
std::optional<std::size_t> weight_between(const Convolution& layer, std::size_t in_channels,
                                          const std::array<std::size_t, 3>& from,
                                          const std::array<std::size_t, 3>& to) {
  std::array<std::size_t, 2> tap{};
  for (const std::size_t way : {1, 2}) {
    const std::size_t place = from[way] + layer.padding;
    if (place < to[way] * layer.stride || place >= to[way] * layer.stride + layer.kernel) return {};
    tap[way - 1] = place - to[way] * layer.stride;
  }
  return ((to[0] * in_channels + from[0]) * layer.kernel + tap[0]) * layer.kernel + tap[1];
}

std::array<std::size_t, 3> place_of(std::size_t index, const Shape& image) {
  const std::size_t width = image.size[2];
  const std::size_t area = image.size[1] * width;
  return {index / area, index % area / width, index % width};
}

// A convolution as two matrices: of the inputs, given the weights, and of the weights, given the inputs.
Derivatives<double> by_matrices(const Case& one, const Shape& output, const Problem<double>& problem) {
  const auto& layer = std::get<Convolution>(one.stack.front());
  const std::size_t area = output.size[1] * output.size[2];
  const std::size_t kernels = problem.w.size() - layer.channels;
  std::vector<Eigen::Triplet<double>> of_inputs;
  std::vector<Eigen::Triplet<double>> of_weights;
  for (std::size_t to = 0; to < output.count(); ++to) {
    for (std::size_t from = 0; from < one.input.count(); ++from) {
      const auto weight = weight_between(layer, one.input.size[0], place_of(from, one.input), place_of(to, output));
      if (!weight) continue;
      of_inputs.emplace_back(to, from, problem.w[*weight]);
      of_weights.emplace_back(to, *weight, problem.in[from]);
    }
    of_weights.emplace_back(to, kernels + to / area, 1);
  }
  const auto matrix = [&](const auto& entries, std::size_t columns) {
    Matrix made(static_cast<int>(output.count()), static_cast<int>(columns));
    made.setFromTriplets(entries.begin(), entries.end());
    return made;
  };
  const auto vector = [](const std::vector<double>& numbers) {
    return Vector(Eigen::Map<const Vector>(numbers.data(), static_cast<int>(numbers.size())));
  };
  const auto numbers = [](const Vector& values) { return std::vector<double>(values.begin(), values.end()); };
  const Matrix inputs = matrix(of_inputs, one.input.count());
  const Matrix weights = matrix(of_weights, problem.w.size());
  const Vector delta = vector(problem.out_delta);
  return {numbers(weights * vector(problem.w)), numbers(inputs.transpose() * delta),
          numbers(weights.transpose() * delta)};
}

TEST_F(ImageLayers, AConvolutionIsAMatrix) {
  RandomStream stream(2, "matrices");
  auto cases = convolutions(stream, 19);
  cases.push_back({Shape::image(17, 25, 24), {Convolution{3, 3, 1, 1}}});
  cases.push_back({Shape::image(16, 26, 27), {Convolution{2, 3, 1, 0}}});
  for (const auto& one : cases) {
    const auto plain = make_plain_image_layers<double>(one.input, one.stack);
    const auto problem = normal_problem(*plain, one.input, stream);
    const auto right = by_matrices(one, plain->output(), problem);
    expect_near(run(*plain, problem), right, 1e-13, one.text());
    // Both float ones round sums of at most 19 * 25 products, or 700 for a weight; Winograd's algorithm adds some bits.
    const auto in_float = converted<float>(problem);
    expect_near(run(*make_plain_image_layers<float>(one.input, one.stack), in_float), right, 3e-6, one.text());
    expect_near(run(*make_image_layers<float>(one.input, one.stack), in_float), right, 3e-6, one.text());
  }
}

// Sums of small whole numbers are exact in any order, and full of equal and of zero values: every tie counts.
TEST_F(ImageLayers, AreThePlainOnesBitForBitOnSmallWholeNumbers) {
  RandomStream stream(3, "whole numbers");
  auto cases = convolutions(stream, 19);
  for (const auto& list : {poolings(stream, 19), random_stacks(stream, 150, 19, false)}) {
    cases.insert(cases.end(), list.begin(), list.end());
  }
  for (const auto& one : cases) {
    const auto layer = make_image_layers<float>(one.input, one.stack);
    const auto plain = make_plain_image_layers<float>(one.input, one.stack);
    const auto problem = whole_problem(*layer, one.input, stream);
    const auto found = run(*layer, problem);
    const auto right = run(*plain, problem);
    EXPECT_EQ(found.out, right.out) << one.text();
    EXPECT_EQ(found.in_delta, right.in_delta) << one.text();
    EXPECT_EQ(found.j, right.j) << one.text();
  }
}

// A tangent is computed to some 1e-6, and no value here is near a kink.
TEST_F(ImageLayers, AreNearThePlainOnes) {
  RandomStream stream(4, "near");
  auto cases = random_stacks(stream, 60, 19, true);
  for (const auto& one : degenerate_cases()) cases.push_back(one);
  for (const auto& one : cases) {
    const auto layer = make_image_layers<float>(one.input, one.stack);
    const auto problem = normal_problem(*layer, one.input, stream);
    expect_near(run(*layer, problem), run(*make_plain_image_layers<float>(one.input, one.stack), problem), 1e-4,
                one.text());
  }
}

// Through every kind of primitive, Winograd's too.
const Case large{Shape::image(3, 29, 26),
                 {Convolution{32, 3, 1, 1}, Rectifier{}, Convolution{24, 3, 1, 1}, Rectifier{}, MaxPooling{2, 2},
                  Convolution{17, 3, 1, 1}, HyperbolicTangent{}, MaxPooling{3, 2}}};

// Of some ten thousand values a few may round to another side of a kink, where derivatives jump.
TEST_F(ImageLayers, OfLargeImagesAreNearThePlainOnes) {
  RandomStream stream(5, "large");
  const auto layer = make_image_layers<float>(large.input, large.stack);
  auto problem = normal_problem(*layer, large.input, stream);
  layer->fill_initial(problem.w, stream);
  const auto found = run(*layer, problem);
  const auto right = run(*make_plain_image_layers<double>(large.input, large.stack), converted<double>(problem));
  EXPECT_LE(relative_error(found.out, right.out), 1e-5);
  EXPECT_LE(relative_error(found.in_delta, right.in_delta), 1e-2);
  EXPECT_LE(relative_error(found.j, right.j), 1e-2);
}

TEST_F(ImageLayers, GiveTheSameBitsAgain) {
  RandomStream stream(6, "again");
  for (const unsigned threads : {1U, 2U}) {
    const auto layer = make_image_layers<float>(large.input, large.stack, threads);
    const auto problem = normal_problem(*layer, large.input, stream);
    const auto other = normal_problem(*layer, large.input, stream);
    Runner<float> runner(*layer);
    const auto first = runner.run(problem);
    EXPECT_FALSE(same_bits(runner.run(other), first));
    EXPECT_TRUE(same_bits(runner.run(problem), first)) << "nothing is left from the sample before";
    EXPECT_TRUE(same_bits(run(*layer, problem), first)) << "nor by the first pass";
    EXPECT_TRUE(same_bits(run(*make_image_layers<float>(large.input, large.stack, threads), problem), first));
  }
}

template <class T>
void expect_same_without_in_delta(const Layer<T>& layer, const Problem<T>& problem) {
  const auto with = run(layer, problem);
  const auto without = Runner<T>(layer).run(problem, false);
  EXPECT_TRUE(same_bits(with.out, without.out)) << layer.text();
  EXPECT_TRUE(same_bits(with.j, without.j)) << layer.text();
}

TEST_F(ImageLayers, NeedNotGiveTheDerivativesOfTheirInput) {
  RandomStream stream(7, "no input");
  for (const auto& one : random_stacks(stream, 40, 5, true)) {
    const auto layer = make_image_layers<float>(one.input, one.stack);
    const auto problem = normal_problem(*layer, one.input, stream);
    expect_same_without_in_delta(*layer, problem);
    expect_same_without_in_delta(*make_plain_image_layers<double>(one.input, one.stack), converted<double>(problem));
  }
}

TEST_F(ImageLayers, OfNothingButZerosGiveTheBiases) {
  for (const auto& one : {large, degenerate_cases()[1]}) {
    const auto layer = make_image_layers<float>(one.input, one.stack);
    Problem<float> problem{std::vector<float>(layer->weights()), std::vector<float>(one.input.count()),
                           std::vector<float>(layer->output().count(), 1)};
    const auto found = run(*layer, problem);
    for (const auto* numbers : {&found.out, &found.in_delta}) {
      for (const float number : *numbers) ASSERT_EQ(number, 0);
    }
    EXPECT_TRUE(same_bits(found.j, run(*make_plain_image_layers<float>(one.input, one.stack), problem).j));
  }
}

TEST_F(ImageLayers, RunInTwoThreadsAtOnce) {
  RandomStream stream(8, "threads");
  const auto layer = make_image_layers<float>(large.input, large.stack);
  std::vector<Problem<float>> problems;
  std::vector<Derivatives<float>> alone;
  for (int i = 0; i < 2; ++i) {
    problems.push_back(normal_problem(*layer, large.input, stream));
    alone.push_back(run(*layer, problems.back()));
  }
  std::latch start(2);
  std::array<bool, 2> same{};
  const auto work = [&](std::size_t i) {
    Runner<float> runner(*layer);
    start.arrive_and_wait();
    same[i] = true;
    for (int k = 0; k < 20; ++k) same[i] = same[i] && same_bits(runner.run(problems[i]), alone[i]);
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_TRUE(same[0] && same[1]);
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(PlainImageLayers, KeepWhatIsNotANumber) {
  for (std::size_t place = 0; place < 4; ++place) {
    for (const ImageLayer& layer : Stack{MaxPooling{2, 2}, Rectifier{}, HyperbolicTangent{}, Convolution{1, 2, 1, 0}}) {
      const auto one = make_plain_image_layers<double>(Shape::image(1, 2, 2), {layer});
      Problem<double> problem{
          std::vector<double>(one->weights()), {1, 2, -3, 2}, std::vector<double>(one->output().count(), 1)};
      problem.in[place] = nan;
      const auto found = run(*one, problem);
      EXPECT_TRUE(std::ranges::any_of(found.out, [](double x) { return std::isnan(x); })) << one->text() << place;
    }
  }
}

TEST(PlainImageLayers, PickTheFirstOfEquals) {
  const auto pool = make_plain_image_layers<double>(Shape::image(1, 2, 4), {MaxPooling{2, 2}});
  const auto found = run(*pool, {{}, {0, 7, 5, 5, 7, 7, 5, 5}, {2, 3}});
  EXPECT_EQ(found.out, (std::vector<double>{7, 5}));
  EXPECT_EQ(found.in_delta, (std::vector<double>{0, 2, 3, 0, 0, 0, 0, 0}));
}

TEST(PlainImageLayers, ARectifierHasNoSlopeAtZero) {
  const auto relu = make_plain_image_layers<double>(Shape::image(1, 1, 3), {Rectifier{}});
  const auto found = run(*relu, {{}, {-1, 0, 1}, {2, 2, 2}});
  EXPECT_EQ(found.out, (std::vector<double>{0, 0, 1}));
  EXPECT_EQ(found.in_delta, (std::vector<double>{0, 0, 2}));
}

// By hand: an edge detector on a small image.
TEST_F(ImageLayers, AConvolutionOfASmallImage) {
  const Shape input = Shape::image(1, 3, 3);
  const Stack stack{Convolution{1, 2, 1, 0}};
  const Problem<float> problem{{1, -1, 2, 0, 10}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 0, 0, 1}};
  for (const auto& layer : {make_image_layers<float>(input, stack), make_plain_image_layers<float>(input, stack)}) {
    const auto found = run(*layer, problem);
    EXPECT_EQ(found.out, (std::vector<float>{17, 19, 23, 25}));
    EXPECT_EQ(found.in_delta, (std::vector<float>{1, -1, 0, 2, 1, -1, 0, 2, 0}));
    EXPECT_EQ(found.j, (std::vector<float>{6, 8, 12, 14, 2}));
  }
}

TEST_F(ImageLayers, NeverMakeANumberOfWhatIsNone) {
  RandomStream stream(9, "not a number");
  auto cases = random_stacks(stream, 20, 5, true);
  cases.push_back(large);
  for (const auto& one : cases) {
    const auto layer = make_image_layers<float>(one.input, one.stack);
    const auto problem = normal_problem(*layer, one.input, stream);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
      for (auto numbers : {&Problem<float>::in, &Problem<float>::w}) {
        auto broken = problem;
        if ((broken.*numbers).empty()) continue;
        (broken.*numbers)[stream.below((broken.*numbers).size())] = bad;
        for (const float number : run(*layer, broken).out) ASSERT_FALSE(std::isfinite(number)) << one.text();
      }
    }
  }
}

// What the trainer counts on: it looks at the sensitivity, not at every value.
TEST_F(ImageLayers, AnInputThatIsNotANumberLeavesNoSensitivityFinite) {
  RandomStream stream(10, "sensitivity");
  const Case small{Shape::image(2, 6, 6), {Convolution{3, 3, 1, 1}, Rectifier{}, MaxPooling{2, 2}}};
  for (const auto& one : {small, large}) {
    const auto layer = make_image_layers<float>(one.input, one.stack);
    auto problem = normal_problem(*layer, one.input, stream);
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      problem.in[one.input.count() / 2] = bad;
      const auto found = run(*layer, problem);
      EXPECT_TRUE(std::ranges::any_of(found.j, [](float x) { return !std::isfinite(x); })) << layer->text() << bad;
    }
  }
}

template <class T>
class EitherImageLayers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::is_same_v<T, float> && !testing::has_convolutions) GTEST_SKIP() << testing::no_convolutions;
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EitherImageLayers, Precisions, );

TYPED_TEST(EitherImageLayers, SayWhatTheyAre) {
  const auto layer = make_image_layers<TypeParam>(
      Shape::image(3, 8, 9),
      {Convolution{32, 3, 1, 1}, Rectifier{}, MaxPooling{2, 2}, Convolution{5, 2, 2, 0}, HyperbolicTangent{}});
  EXPECT_EQ(layer->text(), "convolution 32 3 1 1; relu; max-pool 2 2; convolution 5 2 2 0; tanh");
  EXPECT_EQ(layer->output(), Shape::image(5, 2, 2));
  EXPECT_EQ(layer->weights(), 32U * 3 * 9 + 32 + 5 * 32 * 4 + 5);
}

TYPED_TEST(EitherImageLayers, HaveABlockPerConvolution) {
  using T = TypeParam;
  const auto layer =
      make_image_layers<T>(Shape::image(1, 8, 8), {Convolution{2, 3, 1, 1}, MaxPooling{2, 2}, Convolution{3, 1, 1, 0}});
  const auto pass = layer->make_pass();
  Sensitivity<T> blocks;
  layer->add_blocks(100, *pass, blocks);
  ASSERT_EQ(blocks.size(), 2U);
  const auto& first = std::get<Dense<T>>(blocks[0]);
  const auto& second = std::get<Dense<T>>(blocks[1]);
  EXPECT_EQ(first.offset, 100U);
  EXPECT_EQ(first.j.size(), 2U * 9 + 2);
  EXPECT_EQ(second.offset, 120U);
  EXPECT_EQ(second.j.size(), 3U * 2 + 3);
  EXPECT_FALSE(first.on_input || second.on_input);
}

TYPED_TEST(EitherImageLayers, BeginWithWeightsOfTheRightSize) {
  using T = TypeParam;
  const auto layer =
      make_image_layers<T>(Shape::image(20, 8, 8), {Convolution{40, 3, 1, 1}, Rectifier{}, Convolution{3, 1, 1, 0}});
  std::vector<T> w(layer->weights(), T(nan));
  RandomStream stream(1, "weights");
  layer->fill_initial(w, stream);
  constexpr std::size_t kernels = std::size_t{40} * 180;
  double squares = 0;
  for (std::size_t k = 0; k < kernels; ++k) squares += static_cast<double>(w[k]) * static_cast<double>(w[k]);
  EXPECT_NEAR(squares / 40, 1, 0.05);
  for (std::size_t k = 0; k < 40; ++k) EXPECT_EQ(w[kernels + k], 0);
  EXPECT_NE(w[kernels + 40], 0);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(w[w.size() - 3 + k], 0);
}

TYPED_TEST(EitherImageLayers, SayWhatDoesNotFit) {
  const auto message = [](const Shape& input, const Stack& stack) {
    return testing::message_of([&] { make_image_layers<TypeParam>(input, stack); });
  };
  const Shape small = Shape::image(2, 3, 4);
  EXPECT_EQ(message(small, {Convolution{1, 5, 1, 0}}),
            "a convolution of 5 x 5 does not fit an image of 3 x 4 with padding 0");
  EXPECT_EQ(message(small, {Rectifier{}, MaxPooling{4, 1}}), "a max-pool of 4 x 4 does not fit an image of 3 x 4");
  EXPECT_EQ(message(small, {MaxPooling{3, 1}, MaxPooling{2, 1}}), "a max-pool of 2 x 2 does not fit an image of 1 x 2");
  EXPECT_EQ(message(small, {Convolution{0, 3, 1, 0}}),
            "'convolution 0 3 1 0': channels, kernel and stride must be at least 1");
  EXPECT_EQ(message(small, {MaxPooling{2, 0}}), "'max-pool 2 0': size and stride must be at least 1");
  EXPECT_EQ(message(small, {}), "a group of image layers needs at least one");
  EXPECT_EQ(message(Shape::values(12), {Rectifier{}}), "layers of images need an image to begin with");
  EXPECT_EQ(message(Shape::image(0, 3, 3), {Rectifier{}}), "an image of 0 x 3 x 3 has no numbers");
}

TEST(ImageLayersWithoutOnednn, AreRefusedWhereTheyConvolve) {
  if (testing::has_convolutions) GTEST_SKIP() << "this build has convolutions";
  const Shape input = Shape::image(1, 4, 4);
  EXPECT_EQ(testing::message_of([&] {
              make_image_layers<float>(input, {Convolution{2, 3, 1, 1}});
            }),
            "this build of ignd has no convolutions; to get them, install oneDNN (Debian: libdnnl-dev) and build again "
            "with -DIGND_ONEDNN=ON");
  EXPECT_EQ(make_image_layers<float>(input, {MaxPooling{2, 2}, Rectifier{}})->output(), Shape::image(1, 2, 2));
}

TEST_F(ImageLayers, NeedAThread) {
  EXPECT_THROW(make_image_layers<float>(Shape::image(1, 1, 1), {Rectifier{}}, 0), InvalidArgument);
}

TYPED_TEST(EitherImageLayers, RefuseWhatIsTooLarge) {
  constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
  const Shape small = Shape::image(2, 3, 4);
  const std::vector<Case> cases{{small, {Convolution{huge, 1, 1, 0}}},
                                {small, {Convolution{1, huge, 1, huge / 2}}},
                                {small, {Convolution{1, 1, 1, huge}}},
                                {small, {Convolution{1, 1, 1, 100'000}}},
                                {small, {MaxPooling{huge, huge}}},
                                {Shape::image(huge, huge, huge), {Rectifier{}}},
                                {Shape::image(1, huge / 2, 4), {Rectifier{}}}};
  for (const auto& one : cases) {
    EXPECT_THROW(make_image_layers<TypeParam>(one.input, one.stack), InvalidArgument);
  }
  // Not too large: one step of it covers everything.
  EXPECT_EQ(make_image_layers<TypeParam>(small, {MaxPooling{3, huge}})->output(), Shape::image(2, 1, 1));
}

}  // namespace
}  // namespace ignd
