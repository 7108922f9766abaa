#include "data/table.hpp"
#include "ignd/error.hpp"
#include "ignd/random.hpp"
#include "scratch_folder.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ignd {
namespace {

constexpr std::size_t no_memory = 0;

// Another TMPDIR as long as it lives.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& path) {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    setenv("TMPDIR", path.c_str(), 1);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  TemporaryFolder(TemporaryFolder&&) = delete;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    if (before_) {
      setenv("TMPDIR", before_->c_str(), 1);
    } else {
      unsetenv("TMPDIR");
    }
  }

 private:
  std::optional<std::string> before_;
};

double value_at(std::size_t row, std::size_t column) {
  return static_cast<double>(row) * 1000 + static_cast<double>(column);
}

void append_rows(RowStore& store, std::size_t count) {
  std::vector<double> rows;
  for (std::size_t r = store.size(); r < store.size() + count; ++r) {
    for (std::size_t c = 0; c < store.width(); ++c) rows.push_back(value_at(r, c));
  }
  store.append(rows);
}

void expect_rows(const RowStore& store, std::size_t count) {
  ASSERT_EQ(store.size(), count);
  for (std::size_t r = 0; r < count; ++r) {
    ASSERT_EQ(store[r].size(), store.width());
    for (std::size_t c = 0; c < store.width(); ++c) ASSERT_EQ(store[r][c], value_at(r, c)) << r << ' ' << c;
  }
}

// What a child process says by its exit code; it must not return to the test.
int exit_code_of(int (*child)()) {
  const pid_t process = fork();
  if (process == 0) _exit(child());
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(RowStore, HoldsWhatWasAppended) {
  // Widths around the size of a chunk, which is 4 MiB: one row fills it, or does not divide it.
  for (const std::size_t width :
       {std::size_t{1}, std::size_t{3}, std::size_t{1000}, std::size_t{1} << 19, (std::size_t{1} << 19) + 1}) {
    for (const std::size_t memory : {no_memory, std::size_t{5} << 20, RowStore::default_memory}) {
      RowStore store(width, memory);
      EXPECT_EQ(store.size(), 0U);
      const std::size_t rows = std::min<std::size_t>(3 * (std::size_t{1} << 19) / width + 3, 1000);
      for (const std::size_t part : {std::size_t{0}, std::size_t{1}, rows - 1}) append_rows(store, part);
      expect_rows(store, rows);
    }
  }
}

TEST(RowStore, TheFileHoldsTheSameAsMemory) {
  RandomStream stream(1, "rows");
  RowStore in_memory(7);
  RowStore in_file(7, no_memory);
  RowStore in_both(7, std::size_t{4} << 20);
  for (int i = 0; i < 40; ++i) {
    std::vector<double> rows(7 * stream.below(20'000));
    for (double& value : rows) value = stream.normal();
    for (RowStore* store : {&in_memory, &in_file, &in_both}) store->append(rows);
  }
  ASSERT_GT(in_memory.size(), 150'000U);
  ASSERT_EQ(in_file.size(), in_memory.size());
  ASSERT_EQ(in_both.size(), in_memory.size());
  for (std::size_t r = 0; r < in_memory.size(); ++r) {
    ASSERT_TRUE(std::ranges::equal(in_memory[r], in_file[r])) << r;
    ASSERT_TRUE(std::ranges::equal(in_memory[r], in_both[r])) << r;
  }
}

TEST(RowStore, MovesWithItsRows) {
  RowStore store(2, no_memory);
  append_rows(store, 10);
  const RowStore moved(std::move(store));
  expect_rows(moved, 10);
}

TEST(RowStore, TheFileHasNoNameAndIsUsedOnlyBeyondTheMemory) {
  const testing::ScratchFolder folder;
  const TemporaryFolder use((folder / "").string());
  RowStore store(2, no_memory);
  append_rows(store, 10);
  EXPECT_TRUE(folder.files().empty());
  const TemporaryFolder none((folder / "none").string());
  RowStore small(2);
  append_rows(small, 10);
  expect_rows(small, 10);
}

TEST(RowStore, AFolderThatIsNotThereIsNamed) {
  const testing::ScratchFolder folder;
  const TemporaryFolder use((folder / "none").string());
  RowStore store(2, no_memory);
  try {
    append_rows(store, 1);
    FAIL();
  } catch (const FileError& fault) {
    const std::string what = fault.what();
    EXPECT_NE(what.find((folder / "none").string()), std::string::npos) << what;
    EXPECT_NE(what.find("No such file"), std::string::npos) << what;
    EXPECT_NE(what.find("TMPDIR"), std::string::npos) << what;
  }
  EXPECT_EQ(store.size(), 0U);
}

TEST(RowStore, AFolderThatCannotBeWrittenIsRefused) {
  // Nobody may make files there, not even the administrator.
  const TemporaryFolder use("/proc");
  RowStore store(2, no_memory);
  EXPECT_THROW(append_rows(store, 1), FileError);
}

TEST(RowStore, AFileInPlaceOfTheFolderIsRefused) {
  const testing::ScratchFolder folder;
  std::ofstream(folder / "file") << "x";
  const TemporaryFolder use((folder / "file").string());
  RowStore store(2, no_memory);
  EXPECT_THROW(append_rows(store, 1), FileError);
}

TEST(RowStore, AFullDiskIsAnErrorAndLeavesTheRowsThatFit) {
  const int code = exit_code_of([] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{std::size_t{10} << 20, std::size_t{10} << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    RowStore store(1 << 10, no_memory);  // 512 rows in a chunk; two chunks fit
    try {
      for (int i = 0; i < 4000; ++i) append_rows(store, 1);
    } catch (const FileError& fault) {
      const std::string what = fault.what();
      if (what.find("File too large") == std::string::npos || what.find("TMPDIR") == std::string::npos) return 2;
      if (store.size() != 1024) return 3;
      for (std::size_t r = 0; r < store.size(); ++r) {
        if (store[r][5] != value_at(r, 5)) return 4;
      }
      return 0;
    }
    return 1;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace ignd
