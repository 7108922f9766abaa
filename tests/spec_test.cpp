#include "base/spec.hpp"

#include "support.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <locale>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::size_t occurrences(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// What InvalidArgument says, or a text that says that something else happened.
template <class Action>
std::string complaint(Action action) {
  try {
    action();
  } catch (const InvalidArgument& error) {
    return error.what();
  } catch (const std::exception& error) {
    return fmt::format("not an InvalidArgument but: {}", error.what());
  }
  return "no complaint";
}

bool is_complaint(std::string_view text) { return text != "no complaint" && !text.starts_with("not an Invalid"); }

// One line for a terminal: nothing that moves the cursor, and not empty.
bool is_one_line(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(),
                                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

// ---------------------------------------------------------------------------------------------------------------------
// Texts that mean the same

TEST(TidySpec, HasNoBlanksAroundItsParts) {
  for (const char* spelled : {"huber:delta=2,x=a b", " huber : delta = 2 , x = a b ", "\thuber:\tdelta=2,x=a b"}) {
    EXPECT_EQ(tidy_spec(spelled), "huber:delta=2,x=a b") << spelled;
  }
  EXPECT_EQ(tidy_spec(""), "");
  EXPECT_EQ(tidy_spec("  "), "");
  EXPECT_EQ(tidy_spec("plain"), "plain");
  for (const char* broken : {":", "a:", ":b=1", "a:b", "a:b=,=c", "a:b=1,", "a b:c d", "a:b:c"}) {
    EXPECT_EQ(tidy_spec(broken), broken);  // what is wrong with it is said elsewhere
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Numbers

std::vector<double> interesting_numbers() {
  using Limits = std::numeric_limits<double>;
  std::vector<double> numbers{0.0,
                              -0.0,
                              0.1,
                              1.0 / 3,
                              1e-5,
                              1e15,
                              1e16,
                              1e17,
                              1e22,
                              1e23,
                              123456789,
                              9007199254740992.0,
                              Limits::infinity(),
                              -Limits::infinity(),
                              Limits::max(),
                              Limits::lowest(),
                              Limits::min(),
                              Limits::denorm_min(),
                              std::nextafter(Limits::min(), 0.0),
                              Limits::epsilon()};
  RandomStream stream(1, "numbers");
  const auto bits = [&] { return std::uint64_t{stream.bits32()} << 32 | stream.bits32(); };
  while (numbers.size() < 100'000) {
    const double any = std::bit_cast<double>(bits());
    if (!std::isnan(any)) numbers.push_back(any);
    numbers.push_back(std::bit_cast<double>(bits() >> 12));  // a denormal
    numbers.push_back(stream.normal());
    numbers.push_back(static_cast<double>(stream.below(1000)) / 100);
  }
  return numbers;
}

// "1.50e+10" -> "15"
std::string significant_digits(std::string_view text) {
  std::string digits;
  for (const char c : text.substr(0, text.find('e'))) {
    if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
  }
  while (digits.ends_with('0')) digits.pop_back();
  return digits;
}

TEST(Numbers, ReadBackAsTheSameBitsFromTheShortestText) {
  std::array<char, 64> buffer{};
  for (const double x : interesting_numbers()) {
    const std::string text = format_number(x);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(parse_number(text, "x")), std::bit_cast<std::uint64_t>(x)) << text;
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::scientific).ptr;
    ASSERT_EQ(significant_digits(text), significant_digits({buffer.data(), end})) << text;
  }
}

TEST(Numbers, WhatIsNoNumberIsRefusedWithItsName) {
  for (const std::string text :
       {"",   " ",     "x",      "1x",  "1 ",   " 1",  "+1",     "--1",   "1,5",   "1.5.2", "0x10", "1e",
        "e5", "1e999", "-1e999", "nan", "-nan", "NaN", "nan(1)", "1_000", "1'000", "½",     "１"}) {
    const std::string error = complaint([&] { parse_number(text, "the rate"); });
    EXPECT_TRUE(is_complaint(error) && error.starts_with("the rate is '")) << text << ": " << error;
  }
  EXPECT_EQ(parse_number("inf", "x"), INFINITY);
  EXPECT_EQ(parse_number("-inf", "x"), -INFINITY);
  EXPECT_EQ(parse_number(".5", "x"), 0.5);
  EXPECT_EQ(parse_number("1E3", "x"), 1000);
}

TEST(Numbers, CountsAreWholeAndFit) {
  EXPECT_EQ(parse_count("0", "x"), 0U);
  EXPECT_EQ(parse_count("18446744073709551615", "x"), UINT64_MAX);
  for (const std::string text : {"", " 1", "1 ", "-1", "-0", "+1", "1.0", "1e3", "0x10", "inf", "nan",
                                 "18446744073709551616", "99999999999999999999999999"}) {
    const std::string error = complaint([&] { parse_count(text, "steps"); });
    EXPECT_TRUE(is_complaint(error) && error.starts_with("steps is '")) << text << ": " << error;
  }
}

// Decimal commas and grouped digits, in C++ and, where the machine has such a locale, in C.
class CommaLocale {
 public:
  CommaLocale() : cpp_(std::locale::global(std::locale(std::locale::classic(), new Punctuation))) {
    for (const auto* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) break;
    }
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;
  CommaLocale(CommaLocale&&) = delete;
  CommaLocale& operator=(CommaLocale&&) = delete;
  ~CommaLocale() {
    std::locale::global(cpp_);
    std::setlocale(LC_ALL, "C");
  }

 private:
  struct Punctuation : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  std::locale cpp_;
};

TEST(Numbers, AreTheSameInEveryLocale) {
  const CommaLocale commas;
  EXPECT_EQ(format_number(1234567.25), "1234567.25");
  EXPECT_EQ(parse_number("1234567.25", "x"), 1234567.25);
  EXPECT_THROW(parse_number("0,5", "x"), InvalidArgument);
  EXPECT_EQ(parse_count("1234567", "x"), 1234567U);
  EXPECT_EQ(make_loss("huber:delta=0.5")->spec(), "huber:delta=0.5");
  EXPECT_EQ(Schedule::parse("cosine:rate=0.5,steps=5000").spec(), "cosine:rate=0.5,steps=5000,final=0");
  EXPECT_EQ(make_transform<double>("adamw")->spec(), "adamw:beta1=0.9,beta2=0.999,eps=1e-08,decay=0.01");
  EXPECT_EQ(make_model<double>("linear:features=1000")->spec(), "linear:features=1000,bias=1");
  EXPECT_TRUE(contains(complaint([] { make_loss("huber:delta=-1.5"); }), "delta is -1.5,"));
}

// ---------------------------------------------------------------------------------------------------------------------
// Specs: what the parser says

TEST(Spec, SpacesAroundPartsDoNotCount) {
  EXPECT_EQ(make_loss(" huber : delta = 2 ")->spec(), "huber:delta=2");
  EXPECT_EQ(make_transform<double>("\tadam:\tbeta1=0.5 ,  eps=0 ")->spec(), "adam:beta1=0.5,beta2=0.999,eps=0");
}

TEST(Spec, EveryFaultIsListedAtOnce) {
  const std::string error = complaint([] { make_transform<double>("adam:beta1=2,beta2=x,epz=1,oops,,beta1=0.5"); });
  for (const auto* part : {"transform 'adam:beta1=2,", "'beta1' is given twice", "beta2 is 'x', which is not a number",
                           "no option 'epz', did you mean 'eps'?", "'oops' is not of the form key=value",
                           "'' is not of the form key=value"}) {
    EXPECT_TRUE(contains(error, part)) << part << " is not in: " << error;
  }
  EXPECT_TRUE(is_one_line(error));
}

TEST(Spec, ValuesOutOfRangeAreListedWithTheRest) {
  struct Faulty {
    std::string text;
    std::function<void(std::string_view)> make;
    std::vector<std::string> parts;
  };
  const auto transform = [](std::string_view text) { make_transform<double>(text); };
  const auto schedule = [](std::string_view text) { Schedule::parse(text); };
  const auto model = [](std::string_view text) { make_model<double>(text); };
  const std::vector<Faulty> all{
      {"adamw:beta1=-1,beta2=1,eps=-1,decay=inf", transform, {"beta1", "beta2", "eps", "decay"}},
      {"polyak:k=0,cap=-1", make_step_rule, {"k is 0", "cap is -1"}},
      {"gauss-newton:eps_c=-1,eps_lm=-2", make_step_rule, {"eps_c is -1", "eps_lm is -2"}},
      {"robbins-monro:rate=-1,horizon=0,power=-2", schedule, {"rate", "horizon", "power"}},
      {"cosine:rate=-1,steps=0,final=-2", schedule, {"rate", "steps", "final"}},
      {"hashed-linear:bits=99,bias=7", model, {"bits", "99", "bias"}},
      {"mlp:widths=0x3,activation=foo", model, {"width", "activation"}},
  };
  for (const auto& [text, make, parts] : all) {
    std::string error = complaint([&, &given = text, &from = make] { from(given); });
    EXPECT_TRUE(is_complaint(error)) << text << ": " << error;
    // Without the text itself, which names everything.
    if (const auto echo = error.find(text); echo != std::string::npos) error.erase(echo, text.size());
    for (const auto& part : parts) EXPECT_TRUE(contains(error, part)) << text << ": no '" << part << "' in: " << error;
  }
}

TEST(Spec, AFaultIsListedOnce) {
  const std::string error = complaint([] { make_step_rule("gauss-newton:eps_c=1,eps_c=2"); });
  EXPECT_EQ(occurrences(error, "'eps_c' is given twice"), 1U) << error;
}

TEST(Spec, TheNearestNameIsOffered) {
  EXPECT_TRUE(contains(complaint([] { make_loss("hubr"); }), "there is no loss 'hubr', did you mean 'huber'?"));
  EXPECT_TRUE(contains(complaint([] { make_step_rule("gausnewton"); }), "did you mean 'gauss-newton'?"));
  EXPECT_TRUE(contains(complaint([] { make_transform<double>("adan"); }), "did you mean 'adam'?"));
  EXPECT_TRUE(contains(complaint([] { Schedule::parse("cosin:rate=1"); }), "did you mean 'cosine'?"));
  EXPECT_TRUE(contains(complaint([] { make_model<double>("liner"); }), "did you mean 'linear'?"));
  EXPECT_TRUE(contains(complaint([] { find_optimizer("ignnd"); }), "did you mean 'ignd'?"));
  EXPECT_TRUE(contains(complaint([] { make_loss("huber:dleta=1"); }), "no option 'dleta', did you mean 'delta'?"));
  EXPECT_TRUE(contains(complaint([] { make_model<double>("mlp:widths=2,activation=rellu"); }), "did you mean 'relu'?"));
  // Nothing is near, so nothing is offered, but all names are listed.
  const std::string far = complaint([] { make_loss("qqqqqqqqqqqqqqqqqqqq"); });
  EXPECT_FALSE(contains(far, "did you mean")) << far;
  for (const auto& name : loss_names()) EXPECT_TRUE(contains(far, name)) << far;
}

TEST(Spec, ARefusedOptimizerIsNotOfferedItsOwnName) {
  for (const auto* text : {" sgd ", "sgd:", "sgd:rate=1"}) {
    const std::string error = complaint([&] { find_optimizer(text); });
    EXPECT_FALSE(contains(error, "no optimizer 'sgd'")) << text << ": " << error;
  }
}

TEST(Spec, GarbageIsRefused) {
  using namespace std::string_view_literals;
  for (const auto text : {""sv,
                          " "sv,
                          ":"sv,
                          "::"sv,
                          "="sv,
                          ","sv,
                          "huber:"sv,
                          "huber::"sv,
                          "huber:,"sv,
                          "huber:delta"sv,
                          "huber:delta="sv,
                          "huber:=1"sv,
                          "huber:="sv,
                          "huber:delta=1,"sv,
                          "huber:,delta=1"sv,
                          "huber:delta==1"sv,
                          "huber:delta=1;"sv,
                          "huber:delta=1=2"sv,
                          "Huber"sv,
                          "huber delta=1"sv,
                          "squared:delta=1"sv,
                          "huber\0"sv,
                          "\0"sv,
                          "huber:delta=1\0"sv,
                          "huber:\0=1"sv,
                          "huber\n"sv,
                          "huber:delta=1\n"sv,
                          "huber:a\nb=1"sv,
                          "huber:a\nb"sv,
                          "\x1b[31mhuber"sv,
                          "\xff\xfe"sv}) {
    const std::string error = complaint([&] { make_loss(text); });
    EXPECT_TRUE(is_complaint(error)) << ::testing::PrintToString(text) << ": " << error;
    // What was typed may be echoed, but not so that it breaks the line (or, as a NUL does, the message).
    EXPECT_TRUE(is_one_line(error)) << ::testing::PrintToString(text) << ": " << ::testing::PrintToString(error);
    EXPECT_TRUE(contains(error, "Known: squared") || contains(error, "not of the form") ||
                contains(error, "no option") || contains(error, "not a number"))
        << ::testing::PrintToString(text) << ": the message breaks off: " << error;
  }
}

TEST(Spec, AVeryLongTextGetsAShortAnswer) {
  const std::size_t size = 1 << 20;
  const auto repeated = [&](std::string_view part) {
    std::string text;
    while (text.size() < size) text += part;
    return text;
  };
  const std::vector<std::pair<std::string, std::string>> all{
      {"a long name", std::string(size, 'a')},
      {"a long key", "huber:" + std::string(size, 'a') + "=1"},
      {"a long value", "huber:delta=" + std::string(size, '1') + "x"},
      {"a long option without a value", "huber:" + std::string(size, 'a')},
      {"many empty options", "huber:" + repeated(",")},
      {"many unknown keys", "huber:" + repeated("a=1,")},
      {"one key many times", "huber:" + repeated("delta=1,")},
      {"a long run of zero bytes", std::string(size, '\0')},
  };
  for (const auto& [what, text] : all) {
    const std::string error = complaint([&, &given = text] { make_loss(given); });
    EXPECT_TRUE(is_complaint(error)) << what;
    EXPECT_LT(error.size(), 1000U) << what << " is answered with " << error.substr(0, 200) << "...";
  }
  const std::string activation = "mlp:widths=2,activation=" + std::string(size, 'a');
  EXPECT_LT(complaint([&] { make_model<double>(activation); }).size(), 1000U) << "a long activation";
  const std::string widths = "mlp:widths=" + repeated("1x") + "18446744073709551615";
  EXPECT_LT(complaint([&] { make_model<double>(widths); }).size(), 1000U) << "many widths";
}

// ---------------------------------------------------------------------------------------------------------------------
// Sizes that nobody can mean

// Only sizes far beyond any limit are here: a machine would try to make the largest model that is allowed.
TEST(Spec, AModelTooLargeForAnyMachineIsRefusedBeforeItIsAllocated) {
  for (const auto* spec :
       {"mlp:widths=4000000000x4000000000", "mlp:widths=4294967294x4294967294x4294967294",
        "mlp:widths=18446744073709551615", "mlp:widths=1x18446744073709551615", "mlp:widths=18446744073709551615x1",
        "mlp:widths=1048576x1048576", "mlp:widths=2147483648x2147483648x2", "hashed-linear:bits=32",
        "hashed-linear:bits=64", "hashed-linear:bits=4294967299", "hashed-linear:bits=18446744073709551615",
        "hashed-linear:bits=0", "mlp:widths=0", "mlp:widths=3x0x3", "mlp:widths=", "mlp", "linear:features=0,bias=0",
        // The bias makes this one wrap around to a model without weights.
        "linear:features=18446744073709551615", "linear:features=18446744073709551615,bias=0",
        "linear:features=9223372036854775808", "linear:features=1152921504606846976",
        "linear:features=576460752303423488", "linear:features=35184372088832"}) {
    const std::string as_double = complaint([&] { make_model<double>(spec); });
    EXPECT_TRUE(is_complaint(as_double)) << spec << ": " << as_double;
    const std::string as_float = complaint([&] { make_model<float>(spec); });
    EXPECT_TRUE(is_complaint(as_float)) << spec << ": " << as_float;
  }
}

TEST(Spec, AScheduleKeepsTheLargestCountsOrRefusesThem) {
  for (const auto* spec :
       {"cosine:rate=1,steps=18446744073709551615,final=0", "cosine:rate=1,steps=9007199254740993,final=0",
        "constant:rate=1,warmup=18446744073709551615"}) {
    std::string kept = spec;
    const std::string error = complaint([&] { kept = Schedule::parse(spec).spec(); });
    EXPECT_TRUE(is_complaint(error) || kept == spec) << spec << " became " << kept;
  }
}

TEST(Spec, ABiasIsYesOrNo) {
  EXPECT_EQ(make_model<double>("linear:features=2,bias=0")->parameters().size(), 2U);
  EXPECT_EQ(make_model<double>("linear:features=2,bias=1")->parameters().size(), 3U);
  EXPECT_TRUE(is_complaint(complaint([] { make_model<double>("linear:features=2,bias=0.5"); })));
}

// ---------------------------------------------------------------------------------------------------------------------
// Random changes to valid specs

// One to four bytes replaced, inserted, removed or repeated; mostly by bytes that mean something.
std::string mutated(std::string text, RandomStream& stream) {
  constexpr std::string_view meaningful = "0123456789.-+einfxauto:=,:=,:=, ";
  const auto byte = [&] {
    return stream.below(4) == 0 ? static_cast<char>(stream.below(256)) : meaningful[stream.below(meaningful.size())];
  };
  for (auto edits = 1 + stream.below(4); edits > 0; --edits) {
    const std::size_t at = stream.below(text.size() + 1);
    switch (stream.below(4)) {
      case 0:
        text.insert(at, 1, byte());
        break;
      case 1:
        text.erase(at, 1 + stream.below(3));
        break;
      case 2:
        text.insert(at, text.substr(stream.below(text.size() + 1), stream.below(8)));
        break;
      default:
        if (at < text.size()) text[at] = byte();
    }
  }
  return text;
}

// `make` takes a text and gives back the text of what it made. Whatever it is fed with, it either makes something that
// it would make again from its own text, or complains in one line.
template <class Make>
void expect_sense_or_complaint(const std::vector<std::string>& valid, Make make,
                               const std::function<bool(std::string_view)>& allowed = {}) {
  for (const auto& text : valid) ASSERT_EQ(make(make(text)), make(text)) << text;
  RandomStream stream(1, valid.front());
  int made = 0;
  int refused = 0;
  while (made + refused < 2000) {
    const std::string text = mutated(valid[stream.below(valid.size())], stream);
    if (allowed && !allowed(text)) continue;
    std::string spec;
    const std::string error = complaint([&] { spec = make(text); });
    if (error == "no complaint") {
      ++made;
      ASSERT_EQ(complaint([&] { EXPECT_EQ(make(spec), spec); }), "no complaint") << ::testing::PrintToString(text);
    } else {
      ++refused;
      ASSERT_TRUE(is_complaint(error)) << ::testing::PrintToString(text) << ": " << error;
      EXPECT_TRUE(is_one_line(error)) << ::testing::PrintToString(text) << ": " << ::testing::PrintToString(error);
    }
    if (::testing::Test::HasFailure()) return;  // one example is enough
  }
  EXPECT_GT(made, 20) << "the changes are too violent to say much";
  EXPECT_GT(refused, 200) << "the changes are too mild to say much";
}

TEST(MutatedSpec, Loss) {
  expect_sense_or_complaint({"squared", "logistic", "poisson", "huber:delta=1.5", "log-cosh", "pinball:tau=0.25"},
                            [](std::string_view text) { return make_loss(text)->spec(); });
}

TEST(MutatedSpec, StepRule) {
  expect_sense_or_complaint({"gradient", "normalized:eps=1e-8", "polyak:k=0.5,cap=inf",
                             "gauss-newton:eps_c=auto,eps_lm=1e-5", "gauss-newton:eps_c=0.25,eps_lm=0"},
                            [](std::string_view text) { return make_step_rule(text)->spec(); });
}

TEST(MutatedSpec, Transform) {
  expect_sense_or_complaint({"plain", "momentum:beta=0.9", "nesterov:beta=0.9", "adagrad:eps=1e-10",
                             "rmsprop:rho=0.9,eps=1e-8", "adadelta:rho=0.95,eps=1e-6",
                             "adam:beta1=0.9,beta2=0.999,eps=1e-8", "adamw:beta1=0.9,beta2=0.999,eps=1e-8,decay=0.01"},
                            [](std::string_view text) { return make_transform<double>(text)->spec(); });
}

TEST(MutatedSpec, Schedule) {
  expect_sense_or_complaint({"0.1", "constant:rate=0.1", "robbins-monro:rate=1,horizon=1000,power=0.6,warmup=10",
                             "cosine:rate=0.1,steps=5000,final=0.001,warmup=7"},
                            [](std::string_view text) { return Schedule::parse(text).spec(); });
}

TEST(MutatedSpec, Optimizer) {
  expect_sense_or_complaint(optimizer_names(), [](std::string_view text) {
    const Optimizer optimizer = find_optimizer(text);
    EXPECT_NO_THROW(make_step_rule(optimizer.rule));
    EXPECT_NO_THROW(make_transform<double>(optimizer.transform));
    return std::string(text);
  });
}

TEST(MutatedSpec, Model) {
  // Numbers above 20 are left out: a model that is valid and large costs seconds and says nothing about its spec.
  const auto small = [](std::string_view text) {
    std::size_t number = 0;
    return std::none_of(text.begin(), text.end(), [&](char c) {
      number = c >= '0' && c <= '9' ? std::min<std::size_t>(1000, 10 * number + static_cast<std::size_t>(c - '0')) : 0;
      return number > 20;
    });
  };
  expect_sense_or_complaint(
      {"linear:features=8,bias=1", "linear:features=3", "hashed-linear:bits=4,bias=0",
       "mlp:widths=8x12,activation=relu", "mlp:widths=3,activation=tanh", "mlp:widths=2x3x4,activation=identity"},
      [](std::string_view text) { return make_model<double>(text)->spec(); }, small);
}

TEST(Spec, AnOptionIsSetInThePlaceOfItsValue) {
  EXPECT_EQ(with_option("gauss-newton", "eps_lm", "1"), "gauss-newton:eps_lm=1");
  EXPECT_EQ(with_option("gauss-newton:eps_lm=2", "eps_lm", "1"), "gauss-newton:eps_lm=1");
  EXPECT_EQ(with_option("gauss-newton:eps_lm=2,eps_c=3", "eps_lm", "1"), "gauss-newton:eps_c=3,eps_lm=1");
  EXPECT_EQ(with_option("gauss-newton: eps_lm = 2 , eps_c=3", "eps_lm", "1"), "gauss-newton: eps_c=3,eps_lm=1");
}

}  // namespace
}  // namespace ignd
