#include "core/batch_algebra.hpp"
#include "dense_algebra.hpp"
#include "ignd/batch_trainer.hpp"
#include "ignd/checkpoint.hpp"
#include "ignd/network.hpp"
#include "models/matrix_product.hpp"
#include "support.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd::testing {
namespace {

using DenseMatrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;

// Everything in front of the layer that gives the outputs.
std::vector<std::string> bodies() {
  return {
      "values 3",
      "values 3; dense 4; relu; dense 3; tanh",
      "values 2; tanh; dense 5; dense 4; relu",
      "image 2 5 6; flatten; dense 4; relu",
      "image 2 7 6; convolution 3; relu; max-pool; flatten; dense 4; relu",
      "image 1 6 5; convolution 2 2 1 0; tanh; convolution 3 3 2; relu; flatten",
      "image 3 4 4; max-pool; flatten; dense 20",
      "tokens 6 5; embedding 3; last",
      "tokens 7 9; embedding 3; lstm 4; last",
      "tokens 5 4; embedding 2; tanh; lstm 3; lstm 5; relu; last; dense 3; relu",
      "tokens 40 3; embedding 4; lstm 6 forget-bias=-1 recurrent=lecun; last; dense 2; tanh",
  };
}

std::string random_body(RandomStream& stream) {
  const auto some = [&](std::uint64_t most) { return 1 + stream.below(most); };
  const auto* bend = stream.below(2) == 0 ? "relu" : "tanh";
  std::string text;
  if (const auto kind = stream.below(3); kind == 0) {
    text = fmt::format("values {}", some(20));
  } else if (kind == 1) {
    text = fmt::format("image {} {} {}; convolution {} {}; {}; max-pool; flatten", some(3), 3 + some(6), 3 + some(6),
                       some(5), some(3), bend);
  } else {
    text = fmt::format("tokens {} {}; embedding {}; lstm {}; last", some(12), some(20), some(6), some(20));
  }
  for (std::uint64_t layers = stream.below(3); layers > 0; --layers) {
    text += fmt::format("; dense {}; {}", some(40), bend);
  }
  return text;
}

struct Drawn {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<std::uint32_t>> tokens;
  std::vector<Input<double>> x;
};

// Samples of the form that a network's text begins with; texts of all lengths, of none too.
Drawn draw(const std::string& text, std::size_t count, RandomStream& stream) {
  Drawn made;
  for (std::size_t s = 0; s < count; ++s) {
    std::size_t a = 0, b = 0, c = 0;
    auto& values = made.values.emplace_back();
    auto& tokens = made.tokens.emplace_back();
    if (std::sscanf(text.c_str(), "tokens %zu %zu", &a, &b) == 2) {
      tokens.resize(stream.below(a + 1));
      for (auto& token : tokens) token = static_cast<std::uint32_t>(stream.below(b));
    } else if (std::sscanf(text.c_str(), "image %zu %zu %zu", &a, &b, &c) == 3) {
      values = normal_vector(stream, a * b * c);
    } else if (std::sscanf(text.c_str(), "values %zu", &a) == 1) {
      values = normal_vector(stream, a);
    }
    for (double& value : values) {
      if (stream.below(5) == 0) value = 0;
    }
  }
  for (std::size_t s = 0; s < count; ++s) made.x.push_back({made.values[s], made.tokens[s]});
  return made;
}

// Biases that are not zero keep rectifiers away from their kink where there is nothing to read.
Network<double> random_network(const std::string& text, RandomStream& stream) {
  Network<double> model(text, stream.bits32());
  for (double& w : model.parameters()) w += 0.1 * stream.normal();
  return model;
}

struct WriteRow {
  std::size_t k, per_sample;
  std::vector<double>& out;

  void operator()(const OuterBatch<double>& block) const {
    for (std::size_t r = 0; r < block.u_rows(); ++r) {
      for (std::size_t c = 0; c < block.units; ++c) {
        out[block.offset + block.row(r) * block.units + c] +=
            block.u[r * block.u_stride + k / per_sample] * block.v[c * block.v_stride + k];
      }
    }
  }
  void operator()(const DenseBatch<double>& block) const {
    for (std::size_t i = 0; i < block.rows[k].size(); ++i) out[block.offset + i] += block.rows[k][i];
  }
  void operator()(const RowsBatch<double>& block) const {
    const SparseRows<double>& rows = block.rows[k];
    ASSERT_EQ(rows.rows.size(), rows.index.size() * block.width);
    for (std::size_t i = 0; i < rows.rows.size(); ++i) {
      out[block.offset + rows.index[i / block.width] * block.width + i % block.width] += rows.rows[i];
    }
  }
};

std::vector<double> row_of(const BatchSensitivity<double>& j, std::size_t k, std::size_t weights) {
  std::vector<double> out(weights);
  for (const auto& block : j.blocks) std::visit(WriteRow{k, j.per_sample, out}, block);
  return out;
}

void expect_close(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    // Sums of some hundred products of numbers of size one, in another order.
    ASSERT_NEAR(actual[i], expected[i], 1e-12 * (1 + std::abs(expected[i]))) << "weight " << i;
  }
}

// The network that has output c alone, and where its weights are among those of all outputs.
struct SingleOutput {
  Network<double> model;
  std::vector<std::size_t> from;
};

SingleOutput single_output(const std::string& body, const Network<double>& all, std::size_t c) {
  SingleOutput made{Network<double>(body + "; dense 1"), {}};
  const std::size_t outputs = all.outputs(), n = made.model.parameters().size();
  const std::size_t last = (all.parameters().size() - n) / std::max<std::size_t>(outputs - 1, 1);
  const std::size_t before = outputs == 1 ? n : n - last;
  for (std::size_t i = 0; i < n; ++i) {
    made.from.push_back(i < before ? i : before + (i - before) * outputs + c);
    made.model.parameters()[i] = all.parameters()[made.from.back()];
  }
  return made;
}

void expect_rows_of_single_outputs(const std::string& body, std::size_t outputs, RandomStream& stream) {
  const Network<double> model = random_network(fmt::format("{}; dense {}", body, outputs), stream);
  ASSERT_EQ(model.outputs(), outputs);
  const std::size_t n = model.parameters().size();
  std::vector<SingleOutput> singles;
  for (std::size_t c = 0; c < outputs; ++c) singles.push_back(single_output(body, model, c));
  const std::size_t capacity = 1 + stream.below(9);
  const auto batch = model.make_batch(capacity);
  EXPECT_EQ(batch->sensitivities().samples, 0U) << "before there are any";
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Drawn drawn = draw(body, repeat == 0 ? capacity : 1 + stream.below(capacity), stream);
    SCOPED_TRACE(fmt::format("{}; dense {}, {} of {} samples", body, outputs, drawn.x.size(), capacity));
    const auto f = batch->forward(drawn.x, nullptr);
    ASSERT_EQ(f.size(), drawn.x.size() * outputs);
    std::vector<std::vector<double>> expected;
    for (std::size_t k = 0; k < f.size(); ++k) {
      const SingleOutput& single = singles[k % outputs];
      EXPECT_NEAR(f[k], single.model.predict(drawn.x[k / outputs]), 1e-12);
      const auto alone = flat_sensitivity<double>(single.model, drawn.x[k / outputs]);
      expected.emplace_back(n);
      for (std::size_t i = 0; i < alone.size(); ++i) expected.back()[single.from[i]] = alone[i];
    }
    const auto& j = batch->sensitivities();
    ASSERT_EQ(j.rows(), f.size());
    for (std::size_t k = 0; k < f.size(); ++k) expect_close(row_of(j, k, n), expected[k]);

    const auto factors = normal_vector(stream, f.size());
    const auto& sums = batch->combined(factors);
    ASSERT_EQ(sums.rows(), drawn.x.size());
    for (std::size_t s = 0; s < drawn.x.size(); ++s) {
      std::vector<double> sum(n);
      for (std::size_t c = 0; c < outputs; ++c) {
        for (std::size_t i = 0; i < n; ++i) sum[i] += factors[s * outputs + c] * expected[s * outputs + c][i];
      }
      expect_close(row_of(sums, s, n), sum);
    }
    const auto& again = batch->sensitivities();
    for (std::size_t k = 0; k < f.size(); ++k) expect_close(row_of(again, k, n), expected[k]);
  }
}

TEST(NetworkBatch, RowsAreTheSensitivitiesOfSingleSamplesAndOutputs) {
  RandomStream stream(1, "rows");
  for (const auto& body : bodies()) {
    for (const std::size_t outputs : {1U, 1U, 1U, 2U, 5U}) expect_rows_of_single_outputs(body, outputs, stream);
  }
}

TEST(NetworkBatch, AnyShapesWillDo) {
  RandomStream stream(2, "shapes");
  for (int repeat = 0; repeat < 150; ++repeat) {
    expect_rows_of_single_outputs(random_body(stream), 1 + stream.below(4), stream);
  }
}

TEST(NetworkBatch, ProductsOfRowsAreThoseOfTheRowsWrittenOut) {
  RandomStream stream(9, "products");
  auto all = bodies();
  all.emplace_back("tokens 4 5; embedding 20; lstm 36; last");  // more weights than are taken at once
  all.emplace_back("image 30 4 4; convolution 20; relu; flatten");
  for (const auto& body : all) {
    for (const std::size_t outputs : {1U, 3U}) {
      SCOPED_TRACE(fmt::format("{}; dense {}", body, outputs));
      const Network<double> model = random_network(fmt::format("{}; dense {}", body, outputs), stream);
      const Drawn drawn = draw(body, 5, stream);
      const auto batch = model.make_batch(5);
      batch->forward(drawn.x, nullptr);
      const auto& j = batch->sensitivities();
      const std::size_t rows = j.rows();
      std::vector<std::vector<double>> written;
      for (std::size_t k = 0; k < rows; ++k) written.push_back(row_of(j, k, model.parameters().size()));
      std::vector<double> gram(rows * rows), of_samples(rows * outputs);
      BatchAlgebra<double>(5, outputs, true).gram(j, j, gram);
      BatchAlgebra<double>(5, outputs, false).gram_of_samples(j, j, of_samples);
      for (std::size_t k = 0; k < rows; ++k) {
        for (std::size_t l = k; l < rows; ++l) {
          const double expected = std::inner_product(written[k].begin(), written[k].end(), written[l].begin(), 0.0);
          EXPECT_NEAR(gram[k * rows + l], expected, 1e-11 * (1 + std::abs(expected))) << k << " " << l;
          if (k / outputs != l / outputs) continue;
          EXPECT_NEAR(of_samples[k * outputs + l % outputs], expected, 1e-11 * (1 + std::abs(expected)));
        }
      }
    }
  }
}

TEST(NetworkBatch, FloatAgreesWithDouble) {
  RandomStream stream(3, "float");
  for (const auto& body : bodies()) {
    if (!has_convolutions && body.find("convolution") != std::string::npos) continue;
    const Network<double> exact = random_network(body + "; dense 3", stream);
    Network<float> model(body + "; dense 3");
    std::ranges::copy(exact.parameters(), model.parameters().begin());
    const Drawn drawn = draw(body, 6, stream);
    std::vector<std::vector<float>> values;
    std::vector<Input<float>> x;
    for (const auto& sample : drawn.values) values.emplace_back(sample.begin(), sample.end());
    for (std::size_t s = 0; s < 6; ++s) x.push_back({values[s], drawn.tokens[s]});
    const auto exact_batch = exact.make_batch(6);
    const auto batch = model.make_batch(6);
    const auto expected = exact_batch->forward(drawn.x, nullptr);
    const auto f = batch->forward(x, nullptr);
    ASSERT_EQ(f.size(), 18U);
    for (std::size_t k = 0; k < f.size(); ++k) EXPECT_NEAR(f[k], expected[k], 1e-4) << body;
    const auto& exact_blocks = exact_batch->sensitivities().blocks;
    const auto& blocks = batch->sensitivities().blocks;
    ASSERT_EQ(blocks.size(), exact_blocks.size());
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto* dense = std::get_if<DenseBatch<float>>(&blocks[b]);
      if (dense == nullptr) continue;
      for (std::size_t k = 0; k < 18; ++k) {
        const auto row = std::get<DenseBatch<double>>(exact_blocks[b]).rows[k];
        for (std::size_t i = 0; i < row.size(); ++i) ASSERT_NEAR(dense->rows[k][i], row[i], 1e-4) << body;
      }
    }
  }
}

TEST(NetworkBatch, WhatIsNoNumberStaysNone) {
  if (!has_convolutions) GTEST_SKIP() << no_convolutions;
  const Network<float> model("image 1 4 4; convolution 2; relu; max-pool; flatten; dense 2; relu; dense 1", 1);
  const std::vector<float> good(16, 0.5F);
  std::vector<float> bad = good;
  bad[5] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Input<float>> x{{good}, {bad}, {good}};
  const auto batch = model.make_batch(4);
  const auto f = batch->forward(x, nullptr);
  EXPECT_TRUE(std::isfinite(f[0]));
  EXPECT_TRUE(std::isnan(f[1]));
  EXPECT_EQ(f[0], f[2]);
}

// Gives the rows of an embedding their values when they are announced, and not before.
class LateRows final : public RowReader {
 public:
  LateRows(Model<double>& model, std::vector<double> values) : model_(model), values_(std::move(values)) {}

  void about_to_read(std::size_t table, std::span<const std::uint32_t> rows) override {
    const RowTable read = model_.row_tables().at(table);
    ASSERT_TRUE(read.sparse);
    ASSERT_TRUE(std::ranges::is_sorted(rows, std::ranges::less_equal()) || rows.size() < 2);
    for (const std::uint32_t row : rows) {
      const std::size_t first = read.offset + row * read.width;
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(first), read.width,
                  model_.parameters().begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

 private:
  Model<double>& model_;
  std::vector<double> values_;
};

TEST(NetworkBatch, RowsOfAnEmbeddingAreAnnouncedBeforeTheyAreRead) {
  RandomStream stream(4, "announced");
  const std::string text = "tokens 6 30; embedding 3; lstm 4; last; dense 2";
  for (int repeat = 0; repeat < 20; ++repeat) {
    Network<double> model = random_network(text, stream);
    const Network<double> whole = model;
    LateRows reader(model, {model.parameters().begin(), model.parameters().end()});
    std::ranges::fill(model.parameters().first(std::size_t{30} * 3), std::numeric_limits<double>::quiet_NaN());
    const Drawn drawn = draw(text, 5, stream);
    const auto batch = model.make_batch(5), expected = whole.make_batch(5);
    EXPECT_TRUE(std::ranges::equal(batch->forward(drawn.x, &reader), expected->forward(drawn.x, nullptr)));
  }
}

Vector weights_of(const Model<double>& model) { return testing::to_eigen(model.parameters()); }

void expect_near(const Vector& actual, const Vector& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  EXPECT_LE((actual - expected).norm(), tolerance * (1 + expected.norm()));
}

std::vector<Sample<double>> with_targets(const Drawn& drawn, const VectorLoss& loss, std::size_t classes,
                                         RandomStream& stream) {
  const bool numbers = loss.spec() == "squared";
  std::vector<Sample<double>> samples;
  for (const auto& x : drawn.x) {
    samples.push_back({x, numbers ? stream.normal() : static_cast<double>(stream.below(classes))});
  }
  return samples;
}

// The step as its definition has it, a system as large as the model, from rows that are tested above.
Vector dense_step(const Network<double>& model, std::span<const Sample<double>> samples, const VectorLoss& loss,
                  double eps_c, double lambda) {
  std::vector<Input<double>> x;
  for (const auto& sample : samples) x.push_back(sample.x);
  const auto batch = model.make_batch(x.size());
  const auto outputs = batch->forward(x, nullptr);
  const std::vector<double> f(outputs.begin(), outputs.end());
  const auto& sensitivities = batch->sensitivities();
  const std::size_t n = model.parameters().size(), c = model.outputs();
  const auto rows = static_cast<Eigen::Index>(f.size()), weights = static_cast<Eigen::Index>(n);
  DenseMatrix j(rows, weights), h = DenseMatrix::Zero(rows, rows);
  Vector l(rows);
  std::vector<double> d1(c), d2(c * c);
  for (std::size_t k = 0; k < f.size(); ++k) {
    const auto row = static_cast<Eigen::Index>(k), first = static_cast<Eigen::Index>(k - k % c);
    const auto written = row_of(sensitivities, k, n);
    j.row(row) = Eigen::Map<const Vector>(written.data(), weights).transpose();
    loss.at({&samples[k / c].y, 1}, std::span(f).subspan(k - k % c, c), d1, d2);
    l(row) = d1[k % c];
    for (std::size_t b = 0; b < c; ++b) h(row, first + static_cast<Eigen::Index>(b)) = d2[k % c * c + b];
    h(row, row) += eps_c;
  }
  const auto count = static_cast<double>(samples.size());
  DenseMatrix system = testing::quadratic_form(h, j) / count;
  system.diagonal().array() += lambda;
  return -testing::solve_definite(system, j.transpose() * l / count);
}

TEST(NetworkBatch, ExactStepsAreThoseOfADenseSolve) {
  RandomStream stream(5, "exact");
  for (const auto& body : bodies()) {
    for (const auto& [name, outputs] :
         {std::pair("squared", 1U), std::pair("logistic", 1U), std::pair("softmax", 3U)}) {
      SCOPED_TRACE(fmt::format("{} {}", body, name));
      const auto loss = make_vector_loss(name);
      Network<double> model = random_network(fmt::format("{}; dense {}", body, outputs), stream);
      BatchTrainer<double> trainer(model, {.loss = loss,
                                           .schedule = Schedule::constant(0.7),
                                           .batch = {.size = 7, .mode = BatchMode::exact, .lambda = 0.3}});
      for (const std::size_t count : {7U, 4U, 1U}) {
        const Drawn drawn = draw(body, count, stream);
        const auto samples = with_targets(drawn, *loss, std::max(2U, outputs), stream);
        const Vector step = 0.7 * dense_step(model, samples, *loss, loss->curvature_floor(), 0.3);
        const Vector before = weights_of(model);
        ASSERT_EQ(trainer.step(samples).status, StepStatus::learned);
        expect_near(weights_of(model) - before, step, 1e-8);
      }
    }
  }
}

TEST(NetworkBatch, AveragedStepsAreTheMeanOfWhatEachSampleAloneWouldDo) {
  RandomStream stream(6, "average");
  auto all = bodies();
  all.emplace_back("values 701; dense 200; tanh");  // more than is taken to fit a cache
  for (const auto& body : all) {
    for (const auto* rule : {"gradient", "gauss-newton"}) {
      SCOPED_TRACE(fmt::format("{} {}", body, rule));
      Network<double> model = random_network(body + "; dense 1", stream);
      const Drawn drawn = draw(body, 5, stream);
      const auto samples = with_targets(drawn, *make_vector_loss("squared"), 1, stream);
      const Vector before = weights_of(model);
      Vector mean = Vector::Zero(before.size());
      for (const auto& sample : samples) {
        Network<double> alone = model;
        Trainer<double> trainer(alone, {.optimizer = {rule, "plain"}, .schedule = Schedule::constant(0.1)});
        trainer.step(sample);
        mean += (weights_of(alone) - before) / 5;
      }
      BatchTrainer<double> trainer(
          model, {.optimizer = {rule, "plain"}, .schedule = Schedule::constant(0.1), .batch = {.size = 8}});
      trainer.step(samples);
      expect_near(weights_of(model) - before, mean, 1e-10);
    }
  }
}

// Adam as a textbook has it: every weight moves at every step. The direction is that of a plain step.
TEST(NetworkBatch, AdamOnAnEmbeddingEqualsADenseRun) {
  RandomStream stream(7, "adam");
  constexpr double rate = 0.02, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  const std::string body = "tokens 4 30; embedding 3; lstm 3; last";
  for (const auto& [rule, mode] :
       {std::pair("gradient", BatchMode::average), std::pair("gauss-newton", BatchMode::average),
        std::pair("gauss-newton", BatchMode::exact)}) {
    for (const std::size_t outputs : {1U, 3U}) {
      SCOPED_TRACE(fmt::format("{} {} {}", rule, to_string(mode), outputs));
      Network<double> model = random_network(fmt::format("{}; dense {}", body, outputs), stream);
      Network<double> reference = model;
      BatchTrainerOptions options{.loss = make_vector_loss(outputs == 1 ? "logistic" : "softmax"),
                                  .optimizer = {rule, "adam"},
                                  .schedule = Schedule::constant(rate),
                                  .batch = {.size = 3, .mode = mode, .lambda = 0.1}};
      BatchTrainer<double> trainer(model, options);
      options.optimizer.transform = "plain";
      options.schedule = Schedule::constant(1);
      Vector a = Vector::Zero(weights_of(model).size()), b = a;
      for (int t = 1; t <= 60; ++t) {
        const Drawn drawn = draw(body, 3, stream);
        const auto samples = with_targets(drawn, *options.loss, std::max<std::size_t>(2, outputs), stream);
        ASSERT_EQ(trainer.step(samples).status, StepStatus::learned);

        const Vector before = weights_of(reference);
        BatchTrainer<double>(reference, options).step(samples);
        const Vector g = before - weights_of(reference);
        a = beta1 * a + (1 - beta1) * g;
        b = beta2 * b + (1 - beta2) * g.cwiseAbs2();
        const Vector root = (b / (1 - std::pow(beta2, t))).cwiseSqrt();
        const Vector after = before - rate / (1 - std::pow(beta1, t)) * a.cwiseQuotient((root.array() + eps).matrix());
        std::copy_n(after.data(), after.size(), reference.parameters().begin());
      }
      expect_near(weights_of(*trainer.snapshot()), weights_of(reference), 1e-7);
    }
  }
}

TEST(NetworkBatch, ARunGoesOnBitByBit) {
  RandomStream stream(8, "saved");
  const std::string body = "tokens 5 40; embedding 3; lstm 4; last";
  const Network<double> start = random_network(body + "; dense 3", stream);
  Network<double> whole = start, half = start, rest(body + "; dense 3");
  const BatchTrainerOptions options{.loss = make_vector_loss("softmax"),
                                    .optimizer = find_optimizer("adam-ignd"),
                                    .schedule = Schedule::constant(0.01),
                                    .batch = {.size = 4, .mode = BatchMode::exact}};
  BatchTrainer<double> uninterrupted(whole, options), first(half, options), second(rest, options);
  for (int step = 0; step < 20; ++step) {
    const Drawn drawn = draw(body, 4, stream);
    const auto samples = with_targets(drawn, *options.loss, 3, stream);
    uninterrupted.step(samples);
    (step < 10 ? first : second).step(samples);
    if (step != 9) continue;
    Checkpoint checkpoint;
    first.save(checkpoint);
    second.restore(checkpoint);
  }
  EXPECT_EQ(weights_of(*second.snapshot()), weights_of(*uninterrupted.snapshot()));
}

TEST(NetworkBatch, SeveralOutputsAreForBatchesOnly) {
  const std::string text = "values 2; dense 4; relu; dense 3";
  Network<float> model(text, 2);
  EXPECT_EQ(model.outputs(), 3U);
  EXPECT_EQ(model.spec(), "network:" + text);
  const auto again = make_model<float>(model.spec(), 2);
  EXPECT_EQ(again->outputs(), 3U);
  EXPECT_TRUE(std::ranges::equal(again->parameters(), model.parameters()));
  const std::string refused = "the network has 3 outputs; only batches read and train it";
  EXPECT_EQ(message_of([&] { Trainer<float> trainer(model, {}); }), refused);
  EXPECT_EQ(message_of([&] { model.predict({std::vector<float>{1, 2}}); }), refused);
  EXPECT_EQ(message_of([&] { check_network(text); }),
            "the network has 3 outputs, but the target needs 1: end it with dense 1");
  EXPECT_NO_THROW(check_network(text, 3));
  EXPECT_NO_THROW(check_network(text, std::nullopt));
  EXPECT_EQ(message_of([] { Network<float> forgotten("values 2; dense 4; relu"); }),
            "the network gives values 4, but must end with its outputs: dense 1, or dense with one unit for each");
  EXPECT_EQ(Network<float>("values 2; dense 1; relu").outputs(), 1U);
}

TEST(Transpose, EveryShape) {
  RandomStream stream(9, "transpose");
  for (int repeat = 0; repeat < 200; ++repeat) {
    const std::size_t rows = stream.below(50), columns = stream.below(50);
    const std::size_t in_stride = columns + stream.below(3), out_stride = rows + stream.below(3);
    const auto in = normal_vector(stream, rows * in_stride);
    std::vector<double> out(columns * out_stride, -100), expected = out;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) expected[c * out_stride + r] = in[r * in_stride + c];
    }
    transpose(in.data(), rows, columns, in_stride, out.data(), out_stride);
    EXPECT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace ignd::testing
