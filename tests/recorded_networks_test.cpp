#include "ignd/network.hpp"
#include "support.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

// Two small networks against another implementation: bench/record_networks.cpp printed the numbers below, computed in
// double by LibTorch 1.13.1 (its conv2d, max_pool2d, embedding, lstm and autograd). Weights and images are sines of
// their position.
namespace ignd::testing {
namespace {

double wave(std::size_t position, double pace, double phase) {
  return std::sin(static_cast<double>(position) * pace + phase);
}

struct Sums {
  double plain, squares, weighted;  // the last shows entries in wrong places
};

// What a network gave, with a few of the entries of its sensitivity: every 13th.
struct Recorded {
  double output;
  Sums sums;
  std::vector<double> entries;
};

struct RecordedImage {
  double phase;
  Recorded recorded;
};

struct RecordedText {
  std::vector<std::uint32_t> tokens;
  Recorded recorded;
};

const char* image_network =
    "image 2 13 8; convolution 3; relu; max-pool; convolution 4 2 2 1; tanh; max-pool 2 1; flatten; dense 5; relu; "
    "dense 1";
const std::vector<RecordedImage> images{
    {0.2,
     {-0.54535044043921888,
      {2.6913952203378386, 3.6874445366924884, 0.56346831185882507},
      {-0.040854347898697033, -0.022674850711692483, 0.021106695167757299, -0.012763252743836724, -0.026078741078245704,
       0.16015888246930213, 0, -0.0060412623801963106, 0.1781845368793413, -0.041492236733056305, 0,
       0.072175415546385902, 0, 0, 0.1477270512106991, 0, -0.064827699207898132, 0, 0}}},
    {2.5,
     {-0.63248353498100229,
      {4.4439597455629283, 7.0386735494231782, 1.0864811241768693},
      {-0.037045731419212025, -0.031422161495190198, -0.022890577990243167, -0.020539289261057792,
       -0.041163397959914527, -0.0053230776795047882, -0.043241220936508097, -0.05618773223535023, 0.062146556959395999,
       0.087988881362959848, 0, 0.063003390234197015, 0, 0, 0.14951345641989797, 0, -0.16895862727822455, 0, 0}}},
};

const char* text_network = "tokens 7 11; embedding 3; lstm 4; last; dense 1";
const std::vector<RecordedText> texts{
    {{3, 1, 4, 1, 5, 9, 2},
     {0.38303571711930906,
      {1.8066925663387232, 1.1176168026636275, 0.78546206666957208},
      {0, -5.0537748173435553e-05, 0, -0.0043885980087757888, -0.0088113143943845396, 0.00020567134385102178,
       -0.0042143400785740956, 0.0075932524376060486, 0.0012153373478158678, -0.00022174294571435495,
       0.0012580308317130919, 0.0030071544420533442, 0.085614046088699422}}},
    {{10, 0, 0},
     {0.30287182012053371,
      {2.2263523889839663, 1.1219344189037144, 0.86475812336064595},
      {-0.060222617248348487, 0, 0, 0.0015907789355776999, -0.00017783499386539773, 0.00015391963335989228,
       0.014579508371286819, 0.009273165344059222, 0.00027268889981507747, -0.00010505155152164271,
       0.00036727808300609745, 0.00032167428408076822, 0.13960287341817962}}},
};

template <class T>
Network<T> with_sines_as_weights(const char* text) {
  Network<T> network(text);
  const auto w = network.parameters();
  for (std::size_t k = 0; k < w.size(); ++k) w[k] = static_cast<T>(wave(k, 0.7, 0.3) / 2);
  return network;
}

template <class T>
void expect_recorded(const Model<T>& network, const Input<T>& x, const Recorded& recorded, double tolerance) {
  EXPECT_NEAR(network.predict(x), recorded.output, tolerance);
  const std::vector<T> j = flat_sensitivity<T>(network, x);
  Sums sums{};
  for (std::size_t k = 0; k < j.size(); ++k) {
    const auto entry = static_cast<double>(j[k]);
    sums.plain += entry;
    sums.squares += entry * entry;
    sums.weighted += entry * wave(k, 1.3, 0.1);
  }
  ASSERT_EQ((j.size() + 12) / 13, recorded.entries.size());
  for (std::size_t k = 0; k < j.size(); k += 13) {
    EXPECT_NEAR(j[k], recorded.entries[k / 13], tolerance) << "weight " << k;
  }
  const double summed = 30 * tolerance;  // some 200 entries with errors of either sign
  EXPECT_NEAR(sums.plain, recorded.sums.plain, summed);
  EXPECT_NEAR(sums.squares, recorded.sums.squares, summed);
  EXPECT_NEAR(sums.weighted, recorded.sums.weighted, summed);
}

template <class T>
void expect_all_recorded(double tolerance) {
  const Network<T> of_images = with_sines_as_weights<T>(image_network);
  for (const RecordedImage& image : images) {
    SCOPED_TRACE(image.phase);
    std::vector<T> x(2 * 13 * 8);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<T>(wave(k, 0.9, image.phase));
    expect_recorded<T>(of_images, {x}, image.recorded, tolerance);
  }
  const Network<T> of_texts = with_sines_as_weights<T>(text_network);
  for (const RecordedText& text : texts) {
    SCOPED_TRACE(text.tokens.size());
    expect_recorded<T>(of_texts, {{}, text.tokens}, text.recorded, tolerance);
  }
}

// A hundred roundings or so from the input to any of the numbers, which are at most of size one.
TEST(RecordedNetworks, InDouble) { expect_all_recorded<double>(1e-14); }
TEST(RecordedNetworks, InFloat) {
  if (!has_convolutions) GTEST_SKIP() << no_convolutions;
  expect_all_recorded<float>(2e-6);
}

}  // namespace
}  // namespace ignd::testing
