#include "ignd/network.hpp"

#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <Eigen/Dense>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

// A sample for a network, of the form that its text begins with.
struct RandomSample {
  std::vector<double> values;
  std::vector<std::uint32_t> tokens;

  template <class T = double>
  Input<T> input(std::vector<T>& room) const {
    room.assign(values.begin(), values.end());
    return {room, tokens};
  }
};

RandomSample sample_for(const std::string& text, RandomStream& stream) {
  std::size_t a = 0, b = 0, c = 0;
  RandomSample sample;
  if (std::sscanf(text.c_str(), "tokens %zu %zu", &a, &b) == 2) {
    sample.tokens.resize(stream.below(a + 1));
    for (auto& token : sample.tokens) token = static_cast<std::uint32_t>(stream.below(b));
  } else if (std::sscanf(text.c_str(), "image %zu %zu %zu", &a, &b, &c) == 3) {
    sample.values = normal_vector(stream, a * b * c);
  } else if (std::sscanf(text.c_str(), "values %zu", &a) == 1) {
    sample.values = normal_vector(stream, a);
  }
  for (double& value : sample.values) {
    if (stream.below(5) == 0) value = 0;
  }
  return sample;
}

const std::vector<std::string>& texts() {
  static const std::vector<std::string> all{
      "values 3; dense 1",
      "values 3; dense 4; relu; dense 3; tanh; dense 1",
      "values 2; tanh; dense 5; dense 1; relu; dense 1",
      "image 2 5 6; flatten; dense 4; relu; dense 1",
      "image 2 7 6; convolution 3; relu; max-pool; flatten; dense 4; relu; dense 1",
      "image 1 6 5; convolution 2 2 1 0; tanh; convolution 3 3 2; relu; flatten; dense 1",
      "tokens 6 5; embedding 3; last; dense 1",
      "tokens 7 9; embedding 3; lstm 4; last; dense 1",
      "tokens 5 4; embedding 2; tanh; lstm 3; lstm 5; relu; last; dense 3; relu; dense 1",
      "tokens 9 3; embedding 4; lstm 6 forget-bias=-1 recurrent=lecun; last; dense 2; tanh; dense 1",
  };
  return all;
}

TEST(Network, SensitivityEqualsFiniteDifferences) {
  RandomStream stream(1, "network");
  for (const std::string& text : texts()) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Network<double> model(text, seed);
      // Biases that are not zero keep rectifiers away from their kink where there is nothing to read.
      for (double& w : model.parameters()) w += 0.1 * stream.normal();
      std::vector<double> room;
      const RandomSample sample = sample_for(text, stream);
      const auto j = flat_sensitivity<double>(model, sample.input(room));
      const auto expected = numeric_sensitivity(model, sample.input(room));
      for (std::size_t k = 0; k < j.size(); ++k) {
        // Central differences with steps of 1e-6 are exact to about the square root of the smallest double difference.
        ASSERT_NEAR(j[k], expected[k], 1e-8 * (1 + std::abs(j[k]))) << text << ", seed " << seed << ", weight " << k;
      }
    }
  }
}

TEST(Network, FloatAgreesWithDouble) {
  RandomStream stream(2, "network");
  for (const std::string& text : texts()) {
    if (!has_convolutions && text.find("convolution") != std::string::npos) continue;
    const Network<double> exact(text, 3);
    Network<float> model(text, 3);
    std::copy(exact.parameters().begin(), exact.parameters().end(), model.parameters().begin());
    const RandomSample sample = sample_for(text, stream);
    std::vector<double> room;
    std::vector<float> float_room;
    // Some hundred additions of numbers of size one.
    EXPECT_NEAR(model.predict(sample.input(float_room)), exact.predict(sample.input(room)), 1e-5) << text;
    const auto j = flat_sensitivity<float>(model, sample.input(float_room));
    const auto expected = flat_sensitivity<double>(exact, sample.input(room));
    for (std::size_t k = 0; k < j.size(); ++k) ASSERT_NEAR(j[k], expected[k], 1e-5) << text << ", weight " << k;
  }
}

TEST(Network, DependsOnlyOnTheLastForward) {
  RandomStream stream(3, "network");
  for (const std::string& text : texts()) {
    const Network<double> model(text, 4);
    Trace<double> trace(model);
    std::vector<double> room;
    for (int k = 0; k < 5; ++k) {
      const RandomSample sample = sample_for(text, stream);
      const double f = model.predict(sample.input(room), trace);
      model.sensitivity(sample.input(room), trace);
      std::vector<double> j(model.parameters().size());
      write_dense<double>(trace.j, j);
      EXPECT_EQ(f, model.predict(sample.input(room))) << text;
      EXPECT_EQ(j, flat_sensitivity<double>(model, sample.input(room))) << text;
    }
  }
}

TEST(Network, OfDenseLayersIsAnMlp) {
  RandomStream stream(4, "network");
  for (const std::string activation : {"relu", "tanh"}) {
    const auto mlp = make_model<double>("mlp:widths=3x5x4,activation=" + activation, 7);
    Network<double> network(fmt::format("values 3; dense 5; {0}; dense 4; {0}; dense 1", activation), 7);
    ASSERT_EQ(network.parameters().size(), mlp->parameters().size());
    EXPECT_TRUE(std::ranges::equal(network.parameters(), mlp->parameters())) << "the same initial weights";
    const auto x = normal_vector(stream, 3);
    EXPECT_DOUBLE_EQ(network.predict({x}), mlp->predict({x}));
    EXPECT_EQ(flat_sensitivity<double>(network, {x}), flat_sensitivity<double>(*mlp, {x}));
  }
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// An LSTM written out with matrices, one step at a time.
TEST(Lstm, OutputIsTheRecursionWrittenOut) {
  constexpr Eigen::Index width = 3, units = 4, steps = 6, vocabulary = 5;
  RandomStream stream(5, "lstm");
  const Network<double> model(
      fmt::format("tokens {} {}; embedding {}; lstm {}; last; dense 1", steps, vocabulary, width, units), 9);
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const double* w = model.parameters().data();
  const Eigen::Map<const Matrix> embedding(w, vocabulary, width);
  w += vocabulary * width;
  const Eigen::Map<const Matrix> from_inputs(w, width, 4 * units);
  w += width * 4 * units;
  const Eigen::Map<const Matrix> from_state(w, units, 4 * units);
  w += units * 4 * units;
  const Eigen::Map<const Eigen::VectorXd> bias(w, 4 * units);
  w += 4 * units;
  const Eigen::Map<const Eigen::VectorXd> head(w, units);
  const double head_bias = w[units];
  for (std::size_t length = 0; length <= std::size_t{steps}; ++length) {
    std::vector<std::uint32_t> tokens(length);
    for (auto& token : tokens) token = static_cast<std::uint32_t>(stream.below(vocabulary));
    Eigen::VectorXd h = Eigen::VectorXd::Zero(units), c = Eigen::VectorXd::Zero(units);
    for (const auto token : tokens) {
      const Eigen::VectorXd x = embedding.row(token).transpose();
      const Eigen::VectorXd z = from_inputs.transpose() * x + from_state.transpose() * h + bias;
      for (Eigen::Index k = 0; k < units; ++k) {
        c[k] = sigmoid(z[units + k]) * c[k] + sigmoid(z[k]) * std::tanh(z[2 * units + k]);
        h[k] = sigmoid(z[3 * units + k]) * std::tanh(c[k]);
      }
    }
    EXPECT_NEAR(model.predict({{}, tokens}), head.dot(h) + head_bias, 1e-13);
  }
}

TEST(Lstm, StartsAsItsTextSays) {
  constexpr std::size_t width = 3, units = 8, columns = 4 * units;
  const Network<double> model("tokens 4 2000; embedding 3 deviation=0.5; lstm 8 forget-bias=2; last; dense 1", 11);
  const auto w = model.parameters();
  double squares = 0;
  for (const double weight : w.first(2000 * width)) squares += weight * weight;
  EXPECT_NEAR(std::sqrt(squares / (2000 * width)), 0.5, 0.02) << "6,000 draws: four standard errors";
  const auto lstm = w.subspan(2000 * width, (width + units + 1) * columns);
  for (std::size_t gate = 0; gate < 4; ++gate) {
    Eigen::MatrixXd recurrent(units, units);
    for (std::size_t r = 0; r < units; ++r) {
      for (std::size_t c = 0; c < units; ++c) {
        recurrent(static_cast<int>(r), static_cast<int>(c)) = lstm[(width + r) * columns + gate * units + c];
      }
      EXPECT_EQ(lstm[(width + units) * columns + gate * units + r], gate == 1 ? 2 : 0) << "bias of gate " << gate;
    }
    EXPECT_LT((recurrent.transpose() * recurrent - Eigen::MatrixXd::Identity(units, units)).norm(), 1e-12);
  }
}

TEST(Network, SpecMakesTheSameNetwork) {
  for (const std::string& text : texts()) {
    if (!has_convolutions && text.find("convolution") != std::string::npos) continue;
    const Network<float> model(text, 5);
    const auto again = make_model<float>(model.spec(), 5);
    EXPECT_EQ(again->spec(), model.spec());
    EXPECT_TRUE(std::ranges::equal(again->parameters(), model.parameters())) << text;
    const auto other = make_model<float>(model.spec(), 6);
    EXPECT_FALSE(std::ranges::equal(other->parameters(), model.parameters())) << text;
  }
  EXPECT_EQ(Network<float>("threads 2; values 2; dense 1").spec(), "network:threads 2; values 2; dense 1");
  EXPECT_EQ(Network<float>(" values  2 ;dense 1 ").spec(), "network:values 2; dense 1");
}

TEST(Network, FaultsNameTheLayer) {
  const std::vector<std::pair<std::string, std::string>> bad{
      {"", "the input of the network, '': it has no name"},
      {"dense 1", "the input of the network, 'dense 1': a network begins with values, image or tokens"},
      {"values", "the input of the network, 'values': it lacks its number of values"},
      {"values 0; dense 1", "the input of the network, 'values 0': its number of values is 0, but must be at least 1"},
      {"values 2 3; dense 1", "the input of the network, 'values 2 3': it has 2 counts, but takes 1"},
      {"values 2",
       "the network gives values 2, but must end with its outputs: dense 1, or dense with one unit for each"},
      {"values 1",
       "the network gives values 1, but must end with its outputs: dense 1, or dense with one unit for each"},
      {"values 2; dense", "layer 1 of the network, 'dense': it lacks its number of units"},
      {"values 2; dense 4; ; dense 1", "layer 2 of the network, '': it has no name"},
      {"values 2; dense 4; dance 1",
       "layer 2 of the network, 'dance 1': there is no such layer, did you mean 'dense'?"},
      {"values 2; lstm 4; dense 1", "layer 1 of the network, 'lstm 4': it takes a sequence, but gets values 2"},
      {"values 2; convolution 4; dense 1",
       "layer 1 of the network, 'convolution 4': it takes an image, but gets values 2"},
      {"image 3 8 8; dense 1",
       "layer 1 of the network, 'dense 1': it takes values, but gets image 3 8 8; put flatten before it"},
      {"tokens 4 9; embedding 3; dense 1",
       "layer 2 of the network, 'dense 1': it takes values, but gets sequence 4 3; put last before it"},
      {"tokens 4 9; dense 1", "layer 1 of the network, 'dense 1': it takes values, but gets tokens 4 9"},
      {"tokens 4 9; relu; dense 1", "layer 1 of the network, 'relu': it takes numbers, but gets tokens 4 9"},
      {"tokens 4 9; embedding 3 deviation=-1; last; dense 1",
       "layer 1 of the network, 'embedding 3 deviation=-1': its deviation is -1, but must be between 0 and 1000000"},
      {"tokens 4 9; embedding 3; lstm 2 recurrent=none; last; dense 1",
       "layer 2 of the network, 'lstm 2 recurrent=none': its recurrent is 'none', but must be orthogonal or lecun"},
      {"tokens 4 9; embedding 3; lstm 2 forget=1; last; dense 1",
       "layer 2 of the network, 'lstm 2 forget=1': it has no option 'forget'"},
      {"values 2; dense 99999999999999999999; dense 1", "a count"},
      {"values 4294967295; dense 4294967295; dense 1", "weights; at most 4294967295 can be"},
      {"image 3 8 8; embedding 4; dense 1",
       "layer 1 of the network, 'embedding 4': it takes tokens, but gets image 3 8 8"},
      {"image 3 2 2; convolution 4 5 1 0; flatten; dense 1", "layer 1 of the network, 'convolution 4 5 1 0': "},
      {"image 3 2 2; convolution 4 3 1 1 9; flatten; dense 1", "it has 5 counts, but takes 4"},
      {"image 60000 60000 60000; flatten; dense 1", "too large"},
      {"threads 2", "the network has no input"},
      {"threads; values 2; dense 1", "it lacks its number"},
  };
  for (const auto& [text, fault] : bad) {
    const std::string said = message_of([&text = text] { Network<float> network(text); });
    EXPECT_NE(said.find(fault), std::string::npos) << text << ": " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos);
  }
}

TEST(Network, SamplesOfTheWrongFormAreRefused) {
  const Network<float> texts_only("tokens 3 5; embedding 2; last; dense 1");
  const std::vector<float> values{1, 2};
  const std::vector<std::uint32_t> long_text{1, 2, 3, 4}, unknown{1, 5}, good{1, 4};
  EXPECT_THROW(texts_only.predict({{}, long_text}), BadSample);
  EXPECT_THROW(texts_only.predict({{}, unknown}), BadSample);
  EXPECT_THROW(texts_only.predict({values, good}), BadSample);
  EXPECT_NO_THROW(texts_only.predict({{}, good}));
  EXPECT_NO_THROW(texts_only.predict({{}, {}}));
  const Network<float> numbers("values 2; dense 1");
  EXPECT_THROW(numbers.predict({{}, good}), BadSample);
  EXPECT_THROW(numbers.predict({std::span(values).first(1)}), BadSample);
}

// Embedded tokens that are not in a text drift under Adam all the same, and are brought up to date when they are next
// read. Averaging looks at every weight outside the table at every step, and brings each missed step of a row up to
// date by itself.
TEST(Network, TokensThatWaitedEqualADenseRun) {
  for (const std::string transform : {"adam", "momentum", "adamw"}) {
    std::vector<std::vector<double>> runs;
    for (const bool dense : {false, true}) {
      // One layer is large enough for its rows to wait, as those of the table do.
      Network<double> model("tokens 5 12; embedding 3; lstm 4; last; dense 256; relu; dense 400; relu; dense 1", 2);
      Trainer<double> trainer(model, {.loss = make_loss("logistic"),
                                      .optimizer = {"gauss-newton", transform},
                                      .schedule = Schedule::constant(1e-2),
                                      .average_from = dense ? 1U : 0U});
      RandomStream stream(6, "tokens");
      for (int step = 0; step < 400; ++step) {
        const RandomSample sample = sample_for("tokens 5 12", stream);
        trainer.step({{{}, sample.tokens}, static_cast<double>(sample.tokens.size() % 2)});
      }
      Checkpoint saved;
      trainer.save(saved);
      EXPECT_NO_THROW(saved.array<std::uint64_t>("rows.2.stamp", dense ? 0 : 257));
      const auto last = trainer.snapshot();
      runs.emplace_back(last->parameters().begin(), last->parameters().end());
    }
    for (std::size_t k = 0; k < runs[0].size(); ++k) ASSERT_NEAR(runs[0][k], runs[1][k], 1e-9) << transform;
  }
}

TEST(Network, LearnsAWordThatComesEarly) {
  // The class is whether token 1 or 2 came first, twenty steps before the end.
  Network<float> model("tokens 21 10; embedding 8; lstm 16; last; dense 1", 1);
  Trainer<float> trainer(
      model,
      {.loss = make_loss("logistic"), .optimizer = find_optimizer("adam-ignd"), .schedule = Schedule::constant(3e-3)});
  RandomStream stream(7, "words");
  std::size_t right = 0;
  for (int step = 0; step < 1500; ++step) {
    std::vector<std::uint32_t> tokens(21);
    for (auto& token : tokens) token = static_cast<std::uint32_t>(3 + stream.below(7));
    const std::uint64_t label = stream.below(2);
    tokens[0] = static_cast<std::uint32_t>(1 + label);
    const auto info = trainer.step({{{}, tokens}, static_cast<double>(label)});
    if (step >= 1300) right += (info.prediction >= 0) == (label == 1) ? 1 : 0;
  }
  EXPECT_GE(right, 190U) << "of the last 200, each predicted before it was learned from";
}

}  // namespace
}  // namespace ignd::testing
