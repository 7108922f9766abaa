#pragma once

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// Runs the built tool as a process.
namespace ignd::testing {

struct Outcome {
  int exit_code = -1;  // or minus the signal that ended it
  std::string out, err;
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline std::string content_of(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

// A program started without a shell in between, so that every argument arrives as it is. What it prints comes through a
// pipe that holds a page: it cannot run far ahead of who reads.
class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    err_ = ::testing::TempDir() + "ignd-tool-" + std::to_string(::getpid()) + ".err";
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
    out_ = ends[0];
#ifdef F_SETPIPE_SZ
    ::fcntl(out_, F_SETPIPE_SZ, 4096);
#endif
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    // A shell that runs the tests in the background makes them ignore SIGINT, which programs inherit.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    const int fault = ::posix_spawn(&pid_, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    ::close(ends[1]);
    if (fault != 0) throw std::system_error(fault, std::generic_category(), arguments[0]);
  }
  ~Process() {
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    ::close(out_);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  Process(Process&&) = delete;
  Process& operator=(Process&&) = delete;

  // Reads until so many lines have been printed, or all.
  void read_lines(std::size_t lines) {
    while (lines > 0) {
      char c = 0;
      if (::read(out_, &c, 1) != 1) return;
      seen_ += c;
      if (c == '\n') --lines;
    }
  }

  void signal(int number) const { ::kill(pid_, number); }
  pid_t id() const { return pid_; }

  bool has_ended() const {
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  // To its end.
  Outcome finish() {
    char buffer[4096];
    for (ssize_t count = 0; (count = ::read(out_, buffer, sizeof buffer)) > 0;) {
      seen_.append(buffer, static_cast<std::size_t>(count));
    }
    int status = 0;
    if (::waitpid(std::exchange(pid_, 0), &status, 0) < 0) throw std::runtime_error("cannot wait for the program");
    std::string errors = content_of(err_);
    std::filesystem::remove(err_);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), seen_, errors};
  }

 private:
  pid_t pid_ = 0;
  int out_ = -1;
  std::string err_;
  std::string seen_;
};

inline std::vector<std::string> tool_with(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), IGND_PROGRAM);
  return arguments;
}

inline Outcome run_tool(const std::vector<std::string>& arguments) { return Process(tool_with(arguments)).finish(); }

// In the shell's words, with the tool as "$ignd".
inline Outcome run_shell(const std::string& command) {
  return Process({"/bin/sh", "-c", "ignd='" IGND_PROGRAM "'; " + command}).finish();
}

}  // namespace ignd::testing
