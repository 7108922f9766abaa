#include "data/network_file.hpp"

#include "ignd/error.hpp"
#include "ignd/network.hpp"
#include "ignd/random.hpp"
#include "make_archive.hpp"
#include "models/model_specs.hpp"
#include "run_tool.hpp"
#include "scratch_folder.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

// Networks in TOML.
namespace ignd {
namespace {

using testing::contains;
using testing::ScratchFolder;
using testing::write_text;

std::string fault_of(const std::string& toml) {
  try {
    const std::string text = parse_network_file(toml);
    return "none, but " + text;
  } catch (const InvalidArgument& fault) {
    EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos) << fault.what();
    return fault.what();
  }
}

TEST(NetworkFile, IsANetworkOfItsLayers) {
  EXPECT_EQ(parse_network_file("threads = 2\n[[layer]]\nkind = \"dense\"\nunits = 32\n[[layer]]\nkind = \"tanh\"\n"
                               "[[layer]]\nunits = 1\nkind = \"dense\"\n"),
            "network:threads 2; dense 32; tanh; dense 1");
  EXPECT_EQ(
      parse_network_file("[[layer]]\nkind = \"embedding\"\nwidth = 8\ndeviation = 0.5\n[[layer]]\nkind = \"lstm\"\n"
                         "units = 4\nrecurrent = \"lecun\"\nforget-bias = 2\n[[layer]]\nkind = \"last\"\n"
                         "[[layer]]\nkind = \"dense\"\nunits = 1\n"),
      "network:embedding 8 deviation=0.5; lstm 4 forget-bias=2 recurrent=lecun; last; dense 1");
}

TEST(NetworkFile, FillsInTheCountsThatWereLeftOut) {
  const auto layer = [](const std::string& keys) { return parse_network_file("[[layer]]\n" + keys); };
  EXPECT_EQ(layer("kind = \"convolution\"\nchannels = 16"), "network:convolution 16");
  EXPECT_EQ(layer("kind = \"convolution\"\nchannels = 16\npadding = 0"), "network:convolution 16 3 1 0");
  EXPECT_EQ(layer("kind = \"convolution\"\nchannels = 16\nstride = 2"), "network:convolution 16 3 2");
  EXPECT_EQ(layer("kind = \"convolution\"\nchannels = 16\nkernel = 5"), "network:convolution 16 5");
  EXPECT_EQ(layer("kind = \"max-pool\""), "network:max-pool");
  EXPECT_EQ(layer("kind = \"max-pool\"\nstride = 1"), "network:max-pool 2 1");
  EXPECT_EQ(layer("kind = \"max-pool\"\nsize = 3"), "network:max-pool 3");
}

// The same network as the one written on the command line.
TEST(NetworkFile, MakesTheNetworkThatItSays) {
  const std::string text = parse_network_file(
      "[[layer]]\nkind = \"convolution\"\nchannels = 2\npadding = 0\n[[layer]]\nkind = \"relu\"\n"
      "[[layer]]\nkind = \"max-pool\"\nstride = 1\n[[layer]]\nkind = \"flatten\"\n"
      "[[layer]]\nkind = \"dense\"\nunits = 1\n");
  const Shape image = Shape::image(3, 8, 8);
  const std::string by_hand = "network:convolution 2 3 1 0; relu; max-pool 2 1; flatten; dense 1";
  EXPECT_EQ(make_model<float>(named_network(text, image))->spec(),
            make_model<float>(named_network(by_hand, image))->spec());
}

TEST(NetworkFile, SaysAllThatIsWrongWithItsLines) {
  const std::string fault =
      fault_of("threads = 0\n[[layer]]\nkind = \"dens\"\n[[layer]]\nkind = \"dense\"\nunit = 3\n");
  for (const char* part : {"line 1: threads must be a whole number from 1 to 1024", "line 3: there is no layer 'dens'",
                           "did you mean 'dense'", "line 6: a layer dense has no 'unit', did you mean 'units'?"}) {
    EXPECT_TRUE(contains(fault, part)) << part << " is not in " << fault;
  }
  EXPECT_TRUE(contains(fault_of(""), "line 1: the layers are missing"));
  EXPECT_TRUE(contains(fault_of("layer = 3"), "line 1: the layers are missing"));
  EXPECT_TRUE(contains(fault_of("layer = []"), "the layers are missing"));
  EXPECT_TRUE(contains(fault_of("layer = [{kind = \"relu\"}, 3]"), "the layers are missing"));
  EXPECT_TRUE(contains(fault_of("[[layer]]\n"), "a layer needs a kind"));
  EXPECT_TRUE(contains(fault_of("[[layer]]\nkind = 7\n"), "line 2: a layer needs a kind"));
  EXPECT_TRUE(contains(fault_of("[[layer]]\nkind = \"dense\"\n"), "a layer dense needs its units"));
  EXPECT_TRUE(contains(fault_of("[[layer]]\nkind = \"attention\"\n"), "there are dense, relu, tanh"));
  EXPECT_TRUE(contains(fault_of("[[layer]]\nkind = \"relu\"\nunits = 3\n"), "line 3: a layer relu has no 'units'"));
  EXPECT_TRUE(contains(fault_of("layers = 1\n[[layer]]\nkind = \"relu\"\n"), "the file has no 'layers'"));
  for (const char* units : {"0", "-1", "1.5", "\"3\"", "[3]", "true", "9223372036854775807", "{}"}) {
    EXPECT_TRUE(contains(fault_of(fmt::format("[[layer]]\nkind = \"dense\"\nunits = {}\n", units)),
                         "line 3: units must be a whole number"))
        << units;
  }
  for (const char* bias : {"nan", "inf", "\"1\"", "[]"}) {
    EXPECT_TRUE(contains(fault_of(fmt::format("[[layer]]\nkind = \"lstm\"\nunits = 3\nforget-bias = {}\n", bias)),
                         "line 4: forget-bias must be a number"))
        << bias;
  }
  EXPECT_TRUE(contains(fault_of("[[layer]]\nkind = \"lstm\"\nunits = 3\nrecurrent = \"lecun; dense 1\"\n"),
                       "line 4: recurrent must be one of orthogonal, lecun"));
  EXPECT_TRUE(contains(fault_of("[[layer]\n"), "line 1: "));
  EXPECT_TRUE(contains(fault_of("a = 1\na = 2\n"), "line 2: "));
  // The parser takes it that nobody writes this, and says so in an assertion.
  EXPECT_EQ(fault_of("[,"), "line 1: the file is not readable TOML");
}

// Whatever it is fed with, it is a network or one line.
TEST(NetworkFile, TakesGarbage) {
  const std::string good =
      "threads = 2\n[[layer]]\nkind = \"convolution\"\nchannels = 16\n[[layer]]\nkind = \"lstm\"\nunits = 64\n"
      "forget-bias = 1\n[[layer]]\nkind = \"dense\"\nunits = 1\n";
  RandomStream stream(5, "garbage");
  const auto byte = [&] {
    constexpr std::string_view frequent = "[]{}=\"'.,\n#_+-:0123456789abcdeT \\";
    return stream.below(4) == 0 ? static_cast<char>(stream.below(256)) : frequent[stream.below(frequent.size())];
  };
  for (int i = 0; i < 20'000; ++i) {
    std::string text = stream.below(5) == 0 ? std::string() : good;
    const auto changes = 1 + stream.below(6);
    for (std::uint64_t change = 0; change < changes; ++change) {
      const std::size_t at = text.empty() ? 0 : stream.below(text.size());
      switch (stream.below(3)) {
        case 0:
          text.insert(at, 1, byte());
          break;
        case 1:
          if (!text.empty()) text[at] = byte();
          break;
        default:
          text.erase(at, stream.below(20));
      }
    }
    try {
      EXPECT_TRUE(parse_network_file(text).starts_with("network:"));
    } catch (const InvalidArgument& fault) {
      EXPECT_TRUE(std::string(fault.what()).starts_with("line ")) << fault.what();
      EXPECT_EQ(std::string(fault.what()).find('\n'), std::string::npos) << fault.what();
    }
  }
}

TEST(NetworkFile, IsReadFromAFile) {
  const ScratchFolder folder;
  write_text(folder / "net.toml", "[[layer]]\nkind = \"dense\"\nunits = 1\n");
  EXPECT_EQ(read_network_file(folder / "net.toml"), "network:dense 1");
  write_text(folder / "net.toml", "[[layer]]\nkind = \"dense\"\n");
  EXPECT_THROW(read_network_file(folder / "net.toml"), InvalidArgument);
  write_text(folder / "net.toml", std::string((std::size_t{1} << 20) + 1, '#'));
  EXPECT_THROW(read_network_file(folder / "net.toml"), FileError);
  EXPECT_THROW(read_network_file(folder / "none.toml"), FileError);
  EXPECT_THROW(read_network_file(folder / "."), FileError);
}

}  // namespace
}  // namespace ignd
