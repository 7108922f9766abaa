#include "base/number.hpp"

#include "ignd/random.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace ignd {
namespace {

// Where the number ends and what it is; -1 if there is none.
struct Read {
  std::ptrdiff_t size;
  double value;
};

// From memory of exactly that size, so that the address sanitizer sees a byte too many.
Read read(const std::string& text) {
  const std::vector<char> exact(text.begin(), text.end());
  double value = 0;
  const char* const end = read_number(exact.data(), exact.data() + exact.size(), value);
  return {end == nullptr ? -1 : end - exact.data(), value};
}

bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }

// As the whole text and with something behind it, which takes other ways through the code.
void expect_as_strtod(const std::string& text) {
  const double expected = std::strtod(text.c_str(), nullptr);
  for (const auto* behind : {"", " ", ":", " 12345:0.123456789", "x234567890123456789"}) {
    const Read found = read(text + behind);
    EXPECT_EQ(found.size, static_cast<std::ptrdiff_t>(text.size())) << text << behind;
    EXPECT_TRUE(same_bits(found.value, expected)) << text << behind << " gave " << found.value;
  }
}

double random_bits(RandomStream& stream) {
  while (true) {
    const auto value = std::bit_cast<double>(std::uint64_t{stream.bits32()} << 32 | stream.bits32());
    if (std::isfinite(value)) return value;
  }
}

TEST(Number, ReadsAnyDoubleWithAnyNumberOfDigits) {
  RandomStream stream(1, "numbers");
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const double value = random_bits(stream);
    for (int digits = 0; digits <= 17; ++digits) expect_as_strtod(fmt::format("{:.{}e}", value, digits));
  }
}

TEST(Number, ReadsOrdinaryNumbersWithAnyNumberOfDecimals) {
  RandomStream stream(2, "numbers");
  for (int repeat = 0; repeat < 3000; ++repeat) {
    const double value = stream.normal() * std::pow(10, static_cast<double>(stream.below(10)));
    for (int digits = 0; digits <= 20; ++digits) expect_as_strtod(fmt::format("{:.{}f}", value, digits));
    expect_as_strtod(fmt::format("{}", value));
    expect_as_strtod(fmt::format("{:+g}", value));
  }
}

TEST(Number, ReadsRandomDigitsPointsAndExponents) {
  RandomStream stream(3, "numbers");
  const auto digits = [&](std::uint64_t most) {
    std::string text;
    for (std::uint64_t left = stream.below(most + 1); left > 0; --left) {
      text += static_cast<char>('0' + (stream.below(3) == 0 ? stream.below(10) : 0));
    }
    return text;
  };
  for (int repeat = 0; repeat < 30000; ++repeat) {
    std::string text(1, "-+ "[stream.below(3)]);
    if (text == " ") text.clear();
    std::string body = digits(24);
    if (stream.below(2) == 0) body += "." + digits(24);
    if (body.find_first_of("0123456789") == std::string::npos) body += "7";
    text += body;
    if (stream.below(3) == 0) text += fmt::format("{}{}", stream.below(2) == 0 ? "e-" : "E", stream.below(400));
    expect_as_strtod(text);
  }
}

TEST(Number, ReadsTheEdgesOfTheRange) {
  for (const auto* text : {"0",
                           "-0",
                           "+0",
                           "0.0",
                           "-.0",
                           "00000000000000000000001",
                           "1.7976931348623157e308",
                           "1.7976931348623159e308",
                           "2e308",
                           "-2e308",
                           "1e999999999999999999999",
                           "1e-999999999999999999999",
                           "-1e-400",
                           "4.9e-324",
                           "2.4e-324",
                           "2.5e-324",
                           "2.2250738585072014e-308",
                           "2.2250738585072011e-308",
                           "9007199254740992",
                           "9007199254740993",
                           "9007199254740991",
                           "99999999999999999999",
                           "123456789012345678",
                           "0.1234567",
                           "0.12345678",
                           "1234567.1234567",
                           "12345678.12345678",
                           "1.",
                           ".5",
                           "-.5",
                           "+.5",
                           "1e5",
                           "1E+5",
                           "1.e5",
                           "inf",
                           "-inf",
                           "infinity",
                           "1e0"}) {
    expect_as_strtod(text);
  }
}

TEST(Number, SaysTooLargeAndTooSmallWhereverTheDigitsAre) {
  const std::string zeros(400, '0');
  expect_as_strtod("0." + zeros + "1");
  expect_as_strtod("-0." + zeros + "1e50");
  expect_as_strtod("1" + zeros);
  expect_as_strtod("-1" + zeros + "e-50");
  expect_as_strtod("1" + zeros + "e-400");
  expect_as_strtod("0." + zeros + "1e401");
  expect_as_strtod("0." + zeros + "0e401");
  expect_as_strtod("0." + zeros + "1e800");
}

TEST(Number, ReadsNan) {
  EXPECT_TRUE(std::isnan(read("nan").value));
  EXPECT_EQ(read("nan").size, 3);
  EXPECT_TRUE(std::isnan(read("-nan 1234567890123456789").value));
}

TEST(Number, SaysWhereThereIsNone) {
  for (const auto* text : {"",  "-",  "+", ".",  "-.", "+-1", "-+1", "--1", "++1",  "e5", ".e5",
                           "x", " 1", ":", "\n", "in", "na",  "#",   "'1'", "\xff", "+ 1"}) {
    for (const auto* behind : {"", " 123456789012345678901234567890"}) {
      EXPECT_EQ(read(std::string(text) + (*text == '\0' ? "" : behind)).size, -1) << text << behind;
    }
  }
}

TEST(Number, StopsWhereTheNumberDoes) {
  for (const auto* behind : {":2", "#", "|", "\n", "\r\n", "e", "e+", "ex", "x", "-", "+1", ".5", ",7", "/", ";"}) {
    for (const auto* text : {"1.25", "-17.5", "0.123456789012345678901"}) {
      for (const auto* rest : {"", "                   ", "12345678901234567890"}) {
        if (std::isdigit(static_cast<unsigned char>(*rest)) != 0 && (behind[0] == 'e' || behind[0] == '.')) continue;
        EXPECT_EQ(read(std::string(text) + behind + rest).size,
                  static_cast<std::ptrdiff_t>(std::string_view(text).size()))
            << text << behind << rest;
      }
    }
  }
}

TEST(Number, NeverLooksBehindTheEnd) {
  const std::string text = "-1234567.7654321e-12345678";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string front = text.substr(0, size);
    char* end = nullptr;
    const double expected = std::strtod(front.c_str(), &end);
    const Read found = read(front);
    EXPECT_EQ(found.size, end == front.c_str() ? -1 : end - front.c_str()) << front;
    EXPECT_TRUE(found.size < 0 || same_bits(found.value, expected)) << front;
  }
}

}  // namespace
}  // namespace ignd
