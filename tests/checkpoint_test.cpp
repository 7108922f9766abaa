#include "base/atomic_file.hpp"
#include "scratch_folder.hpp"
#include "support.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// The checksum is the format's, not the library's: the test computes it on its own.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

using testing::ScratchFolder;
using Names = std::vector<std::string>;

void write_bytes(const fs::path& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

// What FileError says, or a text that says that something else happened.
template <class Action>
std::string file_error(Action action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return fmt::format("not a FileError but: {}", error.what());
  }
  return "no error";
}

std::string read_error(const fs::path& path) {
  return file_error([&] { Checkpoint::read(path); });
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Everything FileError has to say here names the file in quotes.
bool mentions(std::string_view error, const fs::path& path) { return contains(error, "'" + path.string() + "'"); }

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

bool same_bits(const Checkpoint& a, const Checkpoint& b) {
  return std::ranges::equal(a.entries(), b.entries(), [](const auto& left, const auto& right) {
    if (left.first != right.first || left.second.index() != right.second.index()) return false;
    return std::visit(
        [&]<class Kind>(const Kind& values) {
          using Element = typename Kind::value_type;
          return same_bits<Element>(values, std::get<Kind>(right.second));
        },
        left.second);
  });
}

// ---------------------------------------------------------------------------------------------------------------------
// Going on after a restore

template <class T>
struct Data {
  std::vector<std::vector<T>> values;
  std::vector<std::vector<std::uint32_t>> index;
  std::vector<double> y, weight;

  Sample<T> operator[](std::size_t k) const { return {{values[k], index[k]}, y[k], weight[k]}; }
};

constexpr std::size_t sample_count = 12;
constexpr std::size_t features = 4;
constexpr std::uint32_t table_rows = 32;

// Importance weights other than 1 are in it, 0 too: that is a step that is not counted. Sparse samples read few of the
// rows, so that some are far behind when the checkpoint is written.
template <class T>
Data<T> make_data(bool sparse) {
  RandomStream stream(1, "data");
  Data<T> data;
  for (std::size_t k = 0; k < sample_count; ++k) {
    data.values.push_back(testing::normal_vector<T>(stream, features));
    data.index.emplace_back();
    for (std::size_t i = 0; sparse && i < features; ++i) {
      data.index.back().push_back(static_cast<std::uint32_t>(stream.below(std::uint64_t{3} * table_rows)));
    }
    data.y.push_back(stream.normal());
    data.weight.push_back(std::array{1.0, 1.0, 2.5, 0.0}[k % 4]);
  }
  return data;
}

template <class T>
struct Training {
  std::unique_ptr<Model<T>> model;
  Trainer<T> trainer;
  RandomStream order;

  // The weights and the order depend on the seed; what is restored must replace both.
  Training(const std::string& spec, TrainerOptions options, std::uint64_t seed)
      : model(initial_model(spec, seed)), trainer(*model, std::move(options)), order(seed, "order") {}

  static std::unique_ptr<Model<T>> initial_model(const std::string& spec, std::uint64_t seed) {
    auto model = make_model<T>(spec);
    RandomStream stream(seed, "weights");
    for (T& w : model->parameters()) w = static_cast<T>(0.3 * stream.normal());
    return model;
  }

  StepInfo step(const Data<T>& data) { return trainer.step(data[order.below(sample_count)]); }

  Checkpoint save() const {
    Checkpoint checkpoint;
    trainer.save(checkpoint);
    checkpoint.set("order", order);
    return checkpoint;
  }

  void restore(const Checkpoint& checkpoint) {
    trainer.restore(checkpoint);
    order = checkpoint.stream("order");
  }
};

auto bits_of(const StepInfo& info) {
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  return std::tuple(info.step, bits(info.prediction), bits(info.loss.value), bits(info.loss.d1), bits(info.loss.d2),
                    bits(info.sensitivity), bits(info.coefficient), bits(info.rate), bits(info.h), info.status);
}

template <class T>
void expect_same_models(const Trainer<T>& a, const Trainer<T>& b) {
  const auto same = [](const Model<T>& left, const Model<T>& right) {
    return same_bits<T>(left.parameters(), right.parameters());
  };
  EXPECT_TRUE(same(a.model(), b.model()));
  EXPECT_TRUE(same(*a.snapshot(), *b.snapshot()));
  const auto from = a.options().average_from;
  if (from != 0 && a.steps() >= from) {
    EXPECT_TRUE(same(*a.snapshot(Iterate::averaged), *b.snapshot(Iterate::averaged)));
  }
}

constexpr int half = 12;

template <class T>
void expect_resumes(const ScratchFolder& folder, const std::string& model, const TrainerOptions& options,
                    const Data<T>& data) {
  Training<T> whole(model, options, 1);
  for (int i = 0; i < half; ++i) whole.step(data);
  whole.save().write(folder / "run");

  Training<T> resumed(model, options, 2);
  ASSERT_FALSE(same_bits<T>(whole.trainer.model().parameters(), resumed.trainer.model().parameters()));
  resumed.restore(Checkpoint::read(folder / "run"));
  expect_same_models(whole.trainer, resumed.trainer);
  EXPECT_TRUE(same_bits(whole.save(), resumed.save()));
  for (int i = 0; i < half; ++i) ASSERT_EQ(bits_of(whole.step(data)), bits_of(resumed.step(data)));
  expect_same_models(whole.trainer, resumed.trainer);
  EXPECT_TRUE(same_bits(whole.save(), resumed.save()));
  ASSERT_EQ(whole.trainer.status(), StepStatus::learned) << "a run that ends says little about going on";
  ASSERT_GT(whole.trainer.steps(), half);
}

// Every transform, metric, schedule, averaging (begun before, and only after the checkpoint) and l2 for one model.
template <class T>
void expect_all_resume(const std::string& model) {
  const ScratchFolder folder;
  const bool sparse = model.starts_with("hashed");
  const Data<T> data = make_data<T>(sparse);
  int runs = 0;
  for (const auto& transform : transform_names()) {
    for (const auto* schedule : {"constant:rate=0.1", "robbins-monro:rate=0.2,horizon=5,power=0.6",
                                 "cosine:rate=0.2,steps=20,final=0.01", "constant:rate=0.1,warmup=17"}) {
      for (const auto metric : {PreconditionerKind::identity, PreconditionerKind::second_moment}) {
        for (const std::uint64_t average_from : {0, 3, half + 2}) {
          for (const double l2 : {0.0, 0.01}) {
            if (sparse && l2 > 0 && (transform != "plain" || average_from > 0)) continue;  // refused by name
            SCOPED_TRACE(fmt::format("{} {} {} metric {} average_from {} l2 {}", model, transform, schedule,
                                     static_cast<int>(metric), average_from, l2));
            expect_resumes<T>(folder, model,
                              {.optimizer = {"gauss-newton", transform},
                               .schedule = Schedule::parse(schedule),
                               .l2 = l2,
                               .preconditioner = metric,
                               .average_from = average_from},
                              data);
            ++runs;
          }
        }
      }
    }
  }
  EXPECT_EQ(runs, sparse ? 8 * 4 * 2 * 3 + 4 * 2 : 8 * 4 * 2 * 3 * 2);
}

template <class T>
class Resume : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Resume, Precisions, );

TYPED_TEST(Resume, LinearGoesOnBitByBit) { expect_all_resume<TypeParam>("linear:features=4"); }
TYPED_TEST(Resume, HashedLinearGoesOnBitByBit) { expect_all_resume<TypeParam>("hashed-linear:bits=5"); }
TYPED_TEST(Resume, MlpGoesOnBitByBit) { expect_all_resume<TypeParam>("mlp:widths=4x5x3,activation=tanh"); }

TYPED_TEST(Resume, ARunThatHasEndedStaysEnded) {
  const ScratchFolder folder;
  const auto data = make_data<TypeParam>(false);
  // Plain gradient steps of rate 100 double the error many times over until it overflows.
  const TrainerOptions options{.optimizer = {"gradient", "plain"}, .schedule = Schedule::constant(100)};
  Training<TypeParam> ended("linear:features=4", options, 1);
  for (int i = 0; i < 5000 && ended.trainer.status() == StepStatus::learned; ++i) ended.step(data);
  ASSERT_NE(ended.trainer.status(), StepStatus::learned);
  ended.save().write(folder / "run");

  Training<TypeParam> resumed("linear:features=4", options, 2);
  resumed.restore(Checkpoint::read(folder / "run"));
  EXPECT_EQ(resumed.trainer.status(), ended.trainer.status());
  EXPECT_EQ(bits_of(resumed.step(data)), bits_of(ended.step(data)));
  expect_same_models(ended.trainer, resumed.trainer);
}

TEST(CheckpointResume, SavingDoesNotDisturbTheRun) {
  const auto data = make_data<double>(true);
  const TrainerOptions options{.optimizer = {"gauss-newton", "adam"}, .average_from = 3};
  Training<double> quiet("hashed-linear:bits=5", options, 1);
  Training<double> saved("hashed-linear:bits=5", options, 1);
  for (int i = 0; i < 30; ++i) {
    saved.save();
    ASSERT_EQ(bits_of(quiet.step(data)), bits_of(saved.step(data)));
  }
  expect_same_models(quiet.trainer, saved.trainer);
}

// ---------------------------------------------------------------------------------------------------------------------
// Restoring what does not belong here

struct Configuration {
  std::string model = "linear:features=4";
  TrainerOptions options = {};
};

// A trainer of configuration `here` is offered the checkpoint of a run of configuration `there`; returns the complaint.
template <class Here, class There>
std::string restore_error(const Configuration& here, const Configuration& there) {
  Training<There> other(there.model, there.options, 1);
  const auto other_data = make_data<There>(there.model.starts_with("hashed"));
  for (int i = 0; i < 5; ++i) other.step(other_data);

  Training<Here> run(here.model, here.options, 2);
  const auto data = make_data<Here>(here.model.starts_with("hashed"));
  for (int i = 0; i < 3; ++i) run.step(data);
  const Checkpoint before = run.save();
  std::string error = file_error([&] { run.trainer.restore(other.save()); });
  EXPECT_TRUE(same_bits(before, run.save())) << "a refused restore has changed something";
  return error;
}

const std::string belongs_elsewhere = "the checkpoint belongs to another run: ";

TEST(CheckpointRestore, EachDifferenceIsNamed) {
  struct Difference {
    std::string expected;
    Configuration there;
  };
  const std::vector<Difference> differences{
      {"its model is 'mlp:widths=4x3,activation=relu', not 'linear:features=4,bias=1'", {.model = "mlp:widths=4x3"}},
      {"its model is 'linear:features=4,bias=0', not 'linear:features=4,bias=1'",
       {.model = "linear:features=4,bias=0"}},
      {"its loss is 'huber:delta=1', not 'squared'", {.options = {.loss = make_loss("huber")}}},
      {"its rule is 'gradient', not 'gauss-newton:eps_c=auto,eps_lm=1e-05'",
       {.options = {.optimizer = {"gradient", "plain"}}}},
      {"its transform is 'momentum:beta=0.9', not 'plain'", {.options = {.optimizer = {"gauss-newton", "momentum"}}}},
      {"its schedule is 'constant:rate=0.2', not 'constant:rate=0.1'",
       {.options = {.schedule = Schedule::constant(0.2)}}},
      {"its l2 is '0.5', not '0'", {.options = {.l2 = 0.5}}},
      {"its metric is 'second-moment', not 'identity'",
       {.options = {.preconditioner = PreconditionerKind::second_moment}}},
      {"its average-from is '7', not '0'", {.options = {.average_from = 7}}},
  };
  for (const auto& [expected, there] : differences) {
    EXPECT_EQ((restore_error<double, double>({}, there)), belongs_elsewhere + expected);
    EXPECT_EQ((restore_error<float, float>({}, there)), belongs_elsewhere + expected);
  }
  EXPECT_EQ((restore_error<double, float>({}, {})), belongs_elsewhere + "its precision is 'float', not 'double'");
  EXPECT_EQ((restore_error<float, double>({}, {})), belongs_elsewhere + "its precision is 'double', not 'float'");
}

TEST(CheckpointRestore, AllDifferencesAreNamedAtOnce) {
  const Configuration there{.model = "hashed-linear:bits=5",
                            .options = {.loss = make_loss("huber"),
                                        .optimizer = {"gradient", "adam"},
                                        .schedule = Schedule::cosine(0.1, 100),
                                        .preconditioner = PreconditionerKind::second_moment,
                                        .average_from = 2}};
  const Configuration here{.options = {.l2 = 0.25}};
  const std::string error = restore_error<double, float>(here, there);
  EXPECT_TRUE(error.starts_with(belongs_elsewhere)) << error;
  for (const auto* part :
       {"its precision is 'float'", "its model is 'hashed-linear:bits=5,bias=1'", "its loss is 'huber:delta=1'",
        "its rule is 'gradient'", "its transform is 'adam:", "its schedule is 'cosine:", "its l2 is '0', not '0.25'",
        "its metric is 'second-moment'", "its average-from is '2'"}) {
    EXPECT_TRUE(contains(error, part)) << part << " is not in: " << error;
  }
}

// Long texts may be cut in a message, but not so that both sides look the same.
TEST(CheckpointRestore, ADifferenceAtTheEndOfALongTextIsVisible) {
  const std::string schedule = "robbins-monro:rate=0.12345678901234,horizon=12345.67890123,power=0.61234567,warmup=";
  const auto with_warmup = [&](const char* steps) {
    return Configuration{.options = {.schedule = Schedule::parse(schedule + steps)}};
  };
  const std::string error = restore_error<double, double>(with_warmup("10"), with_warmup("20"));
  EXPECT_TRUE(contains(error, "warmup=20', not '") && error.ends_with("warmup=10'")) << error;
}

// The same checkpoint with one entry replaced; nothing removes it.
Checkpoint with_entry(const Checkpoint& from, const std::string& name, const Checkpoint::Entry* replacement) {
  Checkpoint changed;
  for (const auto& [other, entry] : from.entries()) {
    const Checkpoint::Entry* chosen = other == name ? replacement : &entry;
    if (chosen == nullptr) continue;
    std::visit(
        [&, &key = other]<class Kind>(const Kind& values) {
          if constexpr (std::is_same_v<Kind, std::string>) {
            changed.set(key, values);
          } else {
            changed.set(key, std::span<const typename Kind::value_type>(values));
          }
        },
        *chosen);
  }
  return changed;
}

TEST(CheckpointRestore, AnEntryThatIsMissingOrWrongIsRefusedAndNothingChanges) {
  const TrainerOptions options{
      .optimizer = {"gauss-newton", "adam"}, .preconditioner = PreconditionerKind::second_moment, .average_from = 2};
  const auto data = make_data<float>(true);
  Training<float> source("hashed-linear:bits=5", options, 1);
  for (int i = 0; i < 9; ++i) source.step(data);
  Checkpoint saved;
  source.trainer.save(saved);
  ASSERT_GE(saved.entries().size(), 19U);

  Training<float> target("hashed-linear:bits=5", options, 2);
  for (int i = 0; i < 4; ++i) target.step(data);
  const Checkpoint before = target.save();
  const auto expect_refused = [&](const std::string& name, const Checkpoint::Entry* entry, std::string_view how) {
    const std::string error = file_error([&] { target.trainer.restore(with_entry(saved, name, entry)); });
    EXPECT_TRUE(contains(error, name) && !contains(error, "not a FileError")) << name << ' ' << how << ": " << error;
    EXPECT_TRUE(same_bits(before, target.save())) << name << ' ' << how;
  };
  for (const auto& [name, entry] : saved.entries()) {
    expect_refused(name, nullptr, "missing");
    const Checkpoint::Entry other_type = std::vector<std::uint32_t>{1, 2, 3};
    expect_refused(name, &other_type, "of another type");
    Checkpoint::Entry longer = entry;
    std::visit([](auto& values) { values.push_back({}); }, longer);
    expect_refused(name, &longer, "one longer");
  }
  target.trainer.restore(saved);  // the unchanged one is welcome
  EXPECT_EQ(target.trainer.steps(), source.trainer.steps());
}

TEST(CheckpointRestore, AStatusThatNoTrainerHasIsRefused) {
  Training<double> run("linear:features=4", {}, 1);
  const Checkpoint saved = run.save();
  // "zero weight" belongs to a step, never to a run; a trainer that took it over would refuse to learn.
  for (const auto status : {static_cast<std::uint64_t>(StepStatus::zero_weight), std::uint64_t{6}, UINT64_MAX}) {
    const Checkpoint::Entry entry = std::vector<std::uint64_t>{status};
    const std::string error = file_error([&] { run.trainer.restore(with_entry(saved, "status", &entry)); });
    EXPECT_TRUE(contains(error, "status")) << status << ": " << error;
    EXPECT_EQ(run.trainer.status(), StepStatus::learned);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// The file

constexpr std::uint32_t text_type = 0, float_type = 1, u64_type = 4;  // of docs/formats.md, those used here

template <class Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string padded(std::string bytes) {
  bytes.resize((bytes.size() + 7) / 8 * 8);
  return bytes;
}

std::string raw_entry(std::uint32_t name_size, std::uint32_t type, std::uint64_t count, const std::string& name,
                      const std::string& content) {
  return bytes_of(name_size) + bytes_of(type) + bytes_of(count) + padded(name) + padded(content);
}

// A file with a fitting size and checksum around a body that need not make sense.
std::string raw_file(std::uint32_t entry_count, const std::string& body, std::uint32_t version = 1) {
  std::string file("\x89IGND\r\n\x1a", 8);
  file += bytes_of(version) + bytes_of(entry_count) + bytes_of(std::uint64_t{24 + body.size() + 8}) + body;
  return file + bytes_of(std::uint64_t{XXH3_64bits(file.data(), file.size())});
}

Checkpoint small_checkpoint() {
  Checkpoint checkpoint;
  checkpoint.set("note", std::string("hello"));
  checkpoint.set("w", std::span<const float>(std::array{1.0F, -2.5F, 0.0F}));
  checkpoint.set("steps", std::uint64_t{7});
  return checkpoint;
}

TEST(CheckpointFile, HasExactlyTheBytesOfTheDescribedFormat) {
  const ScratchFolder folder;
  const std::array w{1.0F, -2.5F, 0.0F};
  std::string content(sizeof w, '\0');
  std::memcpy(content.data(), w.data(), sizeof w);
  // In the order of the names, as docs/formats.md says.
  const std::string expected = raw_file(3, raw_entry(4, text_type, 5, "note", "hello") +
                                               raw_entry(5, u64_type, 1, "steps", bytes_of(std::uint64_t{7})) +
                                               raw_entry(1, float_type, 3, "w", content));
  small_checkpoint().write(folder / "file");
  EXPECT_EQ(read_file(folder / "file"), expected);
  EXPECT_TRUE(same_bits(Checkpoint::read(folder / "file"), small_checkpoint()));
}

// The listing in docs/formats.md, lines of an offset and 16 bytes. No checksum of ours has a part in it.
std::string documented_example() {
  std::ifstream page(fs::path(IGND_SOURCE_DIR) / "docs/formats.md");
  std::string bytes;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("    000")) continue;
    std::istringstream words(line.substr(line.find(' ', 4)));
    for (unsigned byte = 0; words >> std::hex >> byte;) bytes += static_cast<char>(byte);
  }
  return bytes;
}

TEST(CheckpointFile, TheDocumentedExampleIsWhatIsWritten) {
  const ScratchFolder folder;
  Checkpoint checkpoint;
  checkpoint.set("steps", std::uint64_t{7});
  checkpoint.write(folder / "file");
  EXPECT_EQ(read_file(folder / "file"), documented_example());
}

TEST(CheckpointFile, EveryKindOfEntryComesBackBitByBit) {
  const ScratchFolder folder;
  using Limits = std::numeric_limits<double>;
  const auto from_bits = [](std::uint64_t bits) { return std::bit_cast<double>(bits); };
  const std::vector<double> doubles{0.0,
                                    -0.0,
                                    Limits::infinity(),
                                    -Limits::infinity(),
                                    Limits::max(),
                                    Limits::denorm_min(),
                                    Limits::quiet_NaN(),
                                    from_bits(0xfff8'dead'beef'0001),
                                    from_bits(0x7ff0'0000'0000'0001)};  // the last one is a signalling NaN
  const std::vector<float> floats{-0.0F, INFINITY, std::bit_cast<float>(std::uint32_t{0xffc1'2345}),
                                  std::numeric_limits<float>::denorm_min(), 1.1F};
  const std::vector<std::uint32_t> words{0, 1, UINT32_MAX};
  const std::vector<std::uint64_t> longs{0, 1, UINT64_MAX};
  const std::string every_byte = [] {
    std::string text(256, '\0');
    std::iota(text.begin(), text.end(), '\0');
    return text;
  }();

  Checkpoint checkpoint;
  checkpoint.set("doubles", std::span<const double>(doubles));
  checkpoint.set("floats", std::span<const float>(floats));
  checkpoint.set("words", std::span<const std::uint32_t>(words));
  checkpoint.set("longs", std::span<const std::uint64_t>(longs));
  checkpoint.set("no floats", std::span<const float>());
  checkpoint.set("no doubles", std::span<const double>());
  checkpoint.set("no words", std::span<const std::uint32_t>());
  checkpoint.set("no longs", std::span<const std::uint64_t>());
  checkpoint.set("no text", std::string());
  checkpoint.set("text", every_byte);
  checkpoint.set("number", UINT64_MAX);
  checkpoint.set("", std::string("the empty name"));
  checkpoint.set(every_byte, std::string("a name of all bytes"));
  checkpoint.set(std::string("a\0b", 3), std::string("NUL"));
  checkpoint.set("8 bytes.", std::string("no padding after this name"));
  RandomStream stream(3, "any");
  for (int i = 0; i < 5; ++i) stream.bits32();
  checkpoint.set("order", stream);
  checkpoint.write(folder / "file");

  const Checkpoint read = Checkpoint::read(folder / "file");
  EXPECT_TRUE(same_bits(checkpoint, read));
  EXPECT_TRUE(same_bits<double>(read.array<double>("doubles", doubles.size()), doubles));
  EXPECT_TRUE(same_bits<float>(read.array<float>("floats", floats.size()), floats));
  EXPECT_EQ(read.array<std::uint32_t>("words", 3), words);
  EXPECT_EQ(read.array<std::uint64_t>("longs", 3), longs);
  EXPECT_TRUE(read.array<float>("no floats", 0).empty());
  EXPECT_EQ(read.text("no text"), "");
  EXPECT_EQ(read.text("text"), every_byte);
  EXPECT_EQ(read.number("number"), UINT64_MAX);
  EXPECT_EQ(read.text(""), "the empty name");
  EXPECT_EQ(read.text(every_byte), "a name of all bytes");
  EXPECT_EQ(read.text(std::string_view("a\0b", 3)), "NUL");
  EXPECT_EQ(read.stream("order").state(), stream.state());
  EXPECT_TRUE(read.has("stream.order"));
  EXPECT_FALSE(read.has("order"));
}

TEST(CheckpointFile, AnEmptyCheckpointIsAFile) {
  const ScratchFolder folder;
  Checkpoint().write(folder / "file");
  EXPECT_EQ(read_file(folder / "file"), raw_file(0, ""));
  const Checkpoint read = Checkpoint::read(folder / "file");
  EXPECT_TRUE(read.entries().empty());
}

// What a temporary refers to is gone at the end of the statement: `for (... : Checkpoint::read(path).entries())` would
// compile and crash.
template <class From>
concept GivesReferences = requires(From&& from) {
  std::forward<From>(from).entries();
}
|| requires(From&& from) { std::forward<From>(from).text("name"); }
|| requires(From&& from) { std::forward<From>(from).template array<float>("name", 1); };

TEST(CheckpointFile, ATemporaryGivesNoReferences) {
  static_assert(GivesReferences<Checkpoint&> && GivesReferences<const Checkpoint&>);
  static_assert(!GivesReferences<Checkpoint> && !GivesReferences<const Checkpoint>);
}

TEST(CheckpointFile, AskingForWhatIsNotThereSaysSo) {
  const Checkpoint checkpoint = small_checkpoint();
  EXPECT_EQ(file_error([&] { checkpoint.text("n"); }), "the checkpoint has no entry 'n'");
  EXPECT_EQ(file_error([&] { checkpoint.stream("order"); }), "the checkpoint has no entry 'stream.order'");
  EXPECT_EQ(file_error([&] { checkpoint.number("note"); }), "the checkpoint's entry 'note' has the wrong type, text");
  EXPECT_EQ(file_error([&] { checkpoint.array<double>("w", 3); }),
            "the checkpoint's entry 'w' has the wrong type, float");
  EXPECT_EQ(file_error([&] { checkpoint.array<float>("w", 4); }),
            "the checkpoint's entry 'w' has 3 numbers instead of 4");
}

TEST(CheckpointFile, EveryTruncationIsNoticed) {
  const ScratchFolder folder;
  small_checkpoint().write(folder / "file");
  const std::string whole = read_file(folder / "file");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_bytes(folder / "cut", whole.substr(0, size));
    const std::string error = read_error(folder / "cut");
    EXPECT_TRUE(mentions(error, folder / "cut")) << size << ": " << error;
    EXPECT_TRUE(contains(error, size == 0 ? "is not an ignd checkpoint" : "truncated")) << size << ": " << error;
  }
  write_bytes(folder / "cut", whole + '\0');
  EXPECT_TRUE(contains(read_error(folder / "cut"), "is damaged"));
}

TEST(CheckpointFile, EveryFlippedBitIsNoticed) {
  const ScratchFolder folder;
  small_checkpoint().write(folder / "file");
  const std::string whole = read_file(folder / "file");
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_bytes(folder / "flipped", flipped);
    const std::string error = read_error(folder / "flipped");
    EXPECT_TRUE(mentions(error, folder / "flipped")) << "bit " << bit << ": " << error;
  }
}

TEST(CheckpointFile, AnotherVersionIsRefusedByItsNumber) {
  const ScratchFolder folder;
  for (const std::uint32_t version : {0U, 2U, UINT32_MAX}) {
    write_bytes(folder / "file", raw_file(0, "", version));
    const std::string error = read_error(folder / "file");
    EXPECT_TRUE(contains(error, fmt::format("has format version {}, but this program reads version 1", version)))
        << error;
  }
  // What follows the version of a later format is not ours to judge.
  std::string later = raw_file(0, "", 2);
  later.back() = static_cast<char>(later.back() ^ 1);
  write_bytes(folder / "file", later + "more");
  EXPECT_TRUE(contains(read_error(folder / "file"), "has format version 2"));
}

TEST(CheckpointFile, SizesThatCannotBeAreRefusedThoughTheChecksumFits) {
  const ScratchFolder folder;
  const std::string good = raw_entry(1, u64_type, 1, "a", bytes_of(std::uint64_t{7}));
  struct Bad {
    std::string what;
    std::string file;
  };
  std::vector<Bad> all{
      {"more entries than there are", raw_file(2, good)},
      {"many more entries than there are", raw_file(UINT32_MAX, good)},
      {"fewer entries than there are", raw_file(1, good + raw_entry(1, text_type, 1, "b", "x"))},
      {"no entries where there is one", raw_file(0, good)},
      {"trailing bytes", raw_file(1, good + std::string(8, '\0'))},
      {"half an entry header", raw_file(2, good + std::string(12, '\0'))},
      {"content that reaches into the checksum",
       raw_file(1, raw_entry(1, u64_type, 2, "a", bytes_of(std::uint64_t{7})))},
      {"a text that reaches into the checksum", raw_file(1, raw_entry(1, text_type, 9, "a", "12345678"))},
      {"an empty body with an entry", raw_file(1, "")},
      {"a name given twice", raw_file(2, good + good)},
      {"a name given twice for two types", raw_file(2, good + raw_entry(1, text_type, 1, "a", "x"))},
  };
  for (const std::uint32_t name_size : {9U, 25U, 0x7fff'ffffU, 0xffff'fff8U, 0xffff'fff9U, UINT32_MAX}) {
    all.push_back({fmt::format("a name of {} bytes", name_size),
                   raw_file(1, raw_entry(name_size, u64_type, 1, "a", bytes_of(std::uint64_t{7})))});
  }
  for (std::uint32_t type = text_type; type <= u64_type; ++type) {
    // Each of these is small again after a multiplication or rounding that overflows.
    for (const std::uint64_t count : {std::uint64_t{1} << 61, std::uint64_t{1} << 62, std::uint64_t{1} << 63,
                                      (std::uint64_t{1} << 62) + 1, UINT64_MAX - 7, UINT64_MAX - 6, UINT64_MAX}) {
      all.push_back({fmt::format("{} elements of type {}", count, type),
                     raw_file(1, raw_entry(1, type, count, "a", bytes_of(std::uint64_t{7})))});
    }
  }
  for (const auto& [what, file] : all) {
    write_bytes(folder / "file", file);
    const std::string error = read_error(folder / "file");
    EXPECT_TRUE(mentions(error, folder / "file")) << what << ": " << error;
  }
  write_bytes(folder / "file", raw_file(1, good));
  EXPECT_EQ(Checkpoint::read(folder / "file").number("a"), 7U) << "the hand-made files are wrong in other ways too";
}

TEST(CheckpointFile, AnUnknownTypeIsRefusedByItsNumber) {
  const ScratchFolder folder;
  for (const std::uint32_t type : {u64_type + 1, u64_type + 2, UINT32_MAX}) {
    write_bytes(folder / "file", raw_file(1, raw_entry(1, type, 1, "a", bytes_of(std::uint64_t{7}))));
    const std::string error = read_error(folder / "file");
    EXPECT_TRUE(mentions(error, folder / "file")) << error;
    EXPECT_TRUE(contains(error, fmt::format("has an entry of unknown type {}", type))) << error;
  }
}

TEST(CheckpointFile, WhatIsNoCheckpointIsRefused) {
  const ScratchFolder folder;
  fs::create_directory(folder / "folder");
  write_bytes(folder / "empty", "");
  write_bytes(folder / "text", "step,loss\n1,0.5\n2,0.25\n3,0.125\n4,0.0625\n");
  write_bytes(folder / "word", "x");
  EXPECT_TRUE(contains(read_error(folder / "folder"), "is not a regular file"));
  EXPECT_TRUE(contains(read_error("/dev/null"), "is not a regular file"));
  EXPECT_TRUE(contains(read_error("/dev/zero"), "is not a regular file"));
  EXPECT_TRUE(contains(read_error(folder / "missing"), "cannot open"));
  EXPECT_TRUE(contains(read_error(folder / "missing"), "No such file"));
  EXPECT_TRUE(contains(read_error(""), "cannot open"));
  EXPECT_TRUE(contains(read_error(folder / "text" / "below"), "Not a directory"));
  for (const auto* name : {"empty", "text", "word"}) {
    EXPECT_TRUE(contains(read_error(folder / name), "is not an ignd checkpoint")) << name;
    EXPECT_TRUE(mentions(read_error(folder / name), folder / name)) << name;
  }
}

// The size of a file is a claim like any other: here it is far more than there is memory, and costs no disk.
TEST(CheckpointFile, AFileLargerThanMemoryIsRefused) {
  const ScratchFolder folder;
  write_bytes(folder / "huge", "not a checkpoint");
  const off_t size = off_t{1} << 62;
  const off_t smaller = off_t{1} << 43;  // for file systems that have no such files
  ASSERT_TRUE(::truncate((folder / "huge").c_str(), size) == 0 || ::truncate((folder / "huge").c_str(), smaller) == 0);
  EXPECT_TRUE(mentions(read_error(folder / "huge"), folder / "huge")) << read_error(folder / "huge");
}

// What would be lost is not a file of ours: with the right to do so, /dev/null for everybody.
TEST(CheckpointFile, DevicesAndPipesAreNotReplaced) {
  const ScratchFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, folder / "link");
  for (const fs::path& path : {pipe, folder / "link"}) {
    try {
      Checkpoint().write(path.string());
      FAIL() << "a pipe was replaced";
    } catch (const FileError& fault) {
      EXPECT_TRUE(contains(fault.what(), "is not a regular file")) << fault.what();
    }
  }
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(folder.files(), (std::vector<std::string>{"link", "pipe"}));
}

// A reader that opens a pipe without a writer waits for one for ever; the alarm turns that into a failure.
TEST(CheckpointFileDeathTest, APipeIsRefusedWithoutWaiting) {
  const ScratchFolder folder;
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto read_in_time = [&] {
    ::alarm(5);
    ::_exit(contains(read_error(pipe), "is not a regular file") ? 0 : 1);
  };
  EXPECT_EXIT(read_in_time(), ::testing::ExitedWithCode(0), "");
}

// ---------------------------------------------------------------------------------------------------------------------
// Replacing a file

Checkpoint numbered_checkpoint(std::uint64_t number, std::size_t size = 20'000) {
  Checkpoint checkpoint;
  checkpoint.set("number", number);
  checkpoint.set("content", std::span<const std::uint64_t>(std::vector<std::uint64_t>(size, number)));
  return checkpoint;
}

// The number of a checkpoint as above; throws FileError if the file is anything else.
std::uint64_t read_numbered(const fs::path& path, std::size_t size = 20'000) {
  const Checkpoint checkpoint = Checkpoint::read(path);
  const std::uint64_t number = checkpoint.number("number");
  if (!same_bits(checkpoint, numbered_checkpoint(number, size))) throw FileError("a mixture of two files");
  return number;
}

TEST(CheckpointWrite, ReplacesTheFileAndLeavesNothingElse) {
  const ScratchFolder folder;
  for (std::uint64_t number = 0; number < 3; ++number) {
    numbered_checkpoint(number).write(folder / "run");
    EXPECT_EQ(read_numbered(folder / "run"), number);
    EXPECT_EQ(folder.files(), Names{"run"});
  }
}

TEST(CheckpointWrite, TakesAPathWithoutAFolder) {
  const ScratchFolder folder;
  const fs::path home = fs::current_path();
  fs::current_path(folder / ".");
  numbered_checkpoint(4).write("run");
  fs::current_path(home);
  EXPECT_EQ(read_numbered(folder / "run"), 4U);
}

// Files may not become larger than this while it lives: what a full disk does, without one. The signal that would
// come with it is ignored.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  FileSizeLimit(FileSizeLimit&&) = delete;
  FileSizeLimit& operator=(FileSizeLimit&&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(CheckpointWrite, AFullDiskLeavesTheOldFileAndNoTemporaryOne) {
  const ScratchFolder folder;
  numbered_checkpoint(1).write(folder / "run");
  const std::string before = read_file(folder / "run");
  for (const rlim_t limit : {rlim_t{0}, rlim_t{1}, rlim_t{4096}, rlim_t{before.size() - 1}}) {
    const std::string error = [&] {
      const FileSizeLimit full(limit);
      return file_error([&] { numbered_checkpoint(2).write(folder / "run"); });
    }();
    EXPECT_TRUE(contains(error, "cannot write") && mentions(error, folder / "run")) << limit << ": " << error;
    EXPECT_EQ(read_file(folder / "run"), before) << limit;
    EXPECT_EQ(folder.files(), Names{"run"}) << limit;
  }
  const FileSizeLimit enough(before.size());
  numbered_checkpoint(2).write(folder / "run");
  EXPECT_EQ(read_numbered(folder / "run"), 2U);
}

TEST(CheckpointWrite, AFolderThatIsMissingIsNamed) {
  const ScratchFolder folder;
  const fs::path path = folder / "missing" / "run";
  const std::string error = file_error([&] { numbered_checkpoint(1).write(path); });
  EXPECT_TRUE(contains(error, "cannot create") && contains(error, path.string())) << error;
  EXPECT_TRUE(folder.files().empty());
}

TEST(CheckpointWrite, ADirectoryIsNotReplaced) {
  const ScratchFolder folder;
  for (const bool filled : {false, true}) {
    const fs::path path = folder / "run";
    fs::create_directory(path);
    if (filled) write_bytes(path / "content", "x");
    const std::string error = file_error([&] { numbered_checkpoint(1).write(path); });
    EXPECT_TRUE(contains(error, "cannot replace") && mentions(error, path)) << error;
    EXPECT_EQ(folder.files(), Names{"run"});
    EXPECT_TRUE(fs::is_directory(path));
    EXPECT_EQ(fs::exists(path / "content"), filled);
    fs::remove_all(path);
  }
}

// Rewrites the file with two contents in turn until it is killed; one byte through the pipe says that it has begun.
[[noreturn]] void rewrite_for_ever(const fs::path& path, std::uint64_t number, int pipe) {
  try {
    const std::array both{numbered_checkpoint(number), numbered_checkpoint(number + 1)};
    both[0].write(path);
    if (::write(pipe, "", 1) != 1) ::_exit(1);
    for (std::size_t i = 1;; ++i) both.at(i % 2).write(path);
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

TEST(CheckpointWrite, AKilledWriterLeavesTheOldOrTheNewFile) {
  const ScratchFolder folder;
  const fs::path path = folder / "run";
  RandomStream moments(1, "when to kill");
  for (std::uint64_t number = 0; number < 40; number += 2) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) rewrite_for_ever(path, number, pipe[1]);
    ::close(pipe[1]);
    char begun = 0;
    ASSERT_EQ(::read(pipe[0], &begun, 1), 1) << "the writer failed on its own";
    ::close(pipe[0]);
    ::usleep(static_cast<useconds_t>(moments.below(2000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the writer failed on its own";
    EXPECT_EQ(read_numbered(path) / 2, number / 2);
  }
}

// Each of two writers replaces the file whole; neither may be handed the other's temporary file.
TEST(CheckpointWrite, TwoThreadsWritingOneFileLeaveAWholeOne) {
  const ScratchFolder folder;
  const fs::path path = folder / "run";
  numbered_checkpoint(0).write(path);
  std::array<std::string, 2> errors;
  const auto write_often = [&](std::uint64_t writer) {
    const Checkpoint checkpoint = numbered_checkpoint(1 + writer);
    errors.at(writer) = file_error([&] {
      for (int i = 0; i < 100; ++i) {
        checkpoint.write(path);
        read_numbered(path);
      }
    });
  };
  std::thread first(write_often, 0);
  std::thread second(write_often, 1);
  first.join();
  second.join();
  for (const auto& error : errors) EXPECT_EQ(error, "no error");
  EXPECT_EQ(folder.files(), Names{"run"});
}

}  // namespace
}  // namespace ignd
