#include "ignd/version.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ignd {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  int exit_code = -1;  // or minus the signal that ended it
  std::string out, err;
};

std::string read_and_remove(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  fs::remove(path);
  return content.str();
}

// Runs the program without a shell in between, so that every argument arrives as it is.
Outcome run_tool(std::vector<std::string> arguments) {
  const std::string base = ::testing::TempDir() + "ignd-tool-" + std::to_string(::getpid());
  const std::string out = base + ".out";
  const std::string err = base + ".err";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out.c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err.c_str(), flags, 0600);

  arguments.insert(arguments.begin(), IGND_PROGRAM);
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int fault = ::posix_spawn(&pid, IGND_PROGRAM, &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (fault != 0) throw std::system_error(fault, std::generic_category(), IGND_PROGRAM);
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid) throw std::runtime_error("cannot wait for the program");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), read_and_remove(out), read_and_remove(err)};
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void expect_usage_error(const std::vector<std::string>& arguments) {
  const Outcome outcome = run_tool(arguments);
  std::string shown = ::testing::PrintToString(arguments);
  if (shown.size() > 200) shown = shown.substr(0, 200) + "...";
  EXPECT_EQ(outcome.exit_code, 2) << shown;
  EXPECT_EQ(outcome.out, "") << shown;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << shown << ": " << outcome.err.substr(0, 200);
  EXPECT_TRUE(outcome.err.ends_with('\n')) << shown;
  EXPECT_TRUE(outcome.err.starts_with("ignd: ")) << shown << ": " << outcome.err.substr(0, 200);
}

TEST(Tool, PrintsItsVersionCompilerAndCpuPath) {
  const Outcome outcome = run_tool({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(outcome.out,
            std::string("ignd ") + version() + "\ncompiler: " + compiler() + "\ncpu path: " + cpu_path() + "\n");
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 3);
}

TEST(Tool, PrintsHelpWhenAskedAndWhenNothingIsAsked) {
  const Outcome asked = run_tool({"--help"});
  EXPECT_EQ(asked.exit_code, 0);
  EXPECT_EQ(asked.err, "");
  EXPECT_TRUE(contains(asked.out, "Usage: ignd")) << asked.out;
  EXPECT_TRUE(contains(asked.out, "--help") && contains(asked.out, "--version")) << asked.out;
  for (const auto& arguments : {std::vector<std::string>{}, {"-h"}}) {
    const Outcome other = run_tool(arguments);
    EXPECT_EQ(other.exit_code, 0);
    EXPECT_EQ(other.out, asked.out);
    EXPECT_EQ(other.err, "");
  }
}

TEST(Tool, RefusesUnknownOptions) {
  expect_usage_error({"--frobnicate"});
  expect_usage_error({"--frobnicate=3"});
  expect_usage_error({"--versio"});
  expect_usage_error({"-x"});
  expect_usage_error({"-"});
  expect_usage_error({"--="});
  expect_usage_error({"---"});
  expect_usage_error({"--frobnicate", "--and", "-s", "o=n"});
}

TEST(Tool, RefusesUnknownCommandsAndSaysWhatTheyWere) {
  expect_usage_error({"frobnicate"});
  expect_usage_error({"frobnicate", "the", "data"});
  EXPECT_TRUE(contains(run_tool({"frobnicate"}).err, "frobnicate"));
  EXPECT_TRUE(contains(run_tool({"--frobnicate"}).err, "--frobnicate"));
}

TEST(Tool, RefusesGarbage) {
  for (const std::string garbage :
       {"", " ", "\t", "{}", "%s%n", "\xff\xfe\x80", "--\xff", "\xc3", "=", "@file", "../../etc", "train\x01"}) {
    expect_usage_error({garbage});
    expect_usage_error({garbage, garbage});
  }
}

TEST(Tool, AnswersInOneLineWhateverTheArgument) {
  expect_usage_error({"two\nlines"});
  expect_usage_error({"--two\nlines"});
}

TEST(Tool, FailsWhereItsOutputCannotBeWritten) {
  if (!fs::exists("/dev/full")) return;  // nothing to fail on
  const std::string command = std::string(IGND_PROGRAM) + " --version > /dev/full 2> /dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 1);  // NOLINT(cert-env33-c): the shell opens the file
}

TEST(Bench, PrintsOneObjectPerLine) {
  const Outcome outcome = run_tool({"bench", "--json", "--repeats", "3", "--filter", "linear:features=64 ignd"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  for (const char* part : {"{\"model\":\"linear:features=64\",\"optimizer\":\"ignd\"", "\"threads\":1",
                           "\"us_per_sample\":", "\"floor_us\":"}) {
    EXPECT_TRUE(contains(outcome.out, part)) << part << " is not in " << outcome.out;
  }
}

TEST(Bench, RefusesWhatItDoesNotKnow) {
  expect_usage_error({"bench", "--repeats", "0"});
  expect_usage_error({"bench", "--repeats", "many"});
  expect_usage_error({"bench", "--filter"});
  expect_usage_error({"bench", "--filter", "no\nsuch\nmodel"});
  expect_usage_error({"bench", "--nonsense"});
}

TEST(Tool, RefusesVeryLongArguments) {
  expect_usage_error({std::string(100'000, 'a')});
  expect_usage_error({"--" + std::string(100'000, 'a')});
  expect_usage_error(std::vector<std::string>(10'000, "a"));
}

}  // namespace
}  // namespace ignd
