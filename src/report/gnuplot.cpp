#include "report/gnuplot.hpp"

#include "base/text.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ignd {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

std::string content_of(const File& file) {
  std::string content;
  std::rewind(file.get());
  char buffer[1 << 16];
  for (std::size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;) {
    content.append(buffer, count);
  }
  return content;
}

// The program's last words name the cause; before them it repeats the script.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return printable(newline == std::string_view::npos ? text : text.substr(newline + 1), 200);
}

std::string message(int error) { return std::generic_category().message(error); }

}  // namespace

GnuplotOutcome run_gnuplot(const std::string& program, const std::string& script) {
  // Files without names, and not pipes: neither side can make the other wait.
  const File in(std::tmpfile());
  const File out(std::tmpfile());
  const File err(std::tmpfile());
  if (!in || !out || !err) return {"", "cannot make a temporary file: " + message(errno)};
  if (std::fwrite(script.data(), 1, script.size(), in.get()) != script.size() || std::fflush(in.get()) != 0) {
    return {"", "cannot write a temporary file: " + message(errno)};
  }
  std::rewind(in.get());

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, ::fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, ::fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, ::fileno(err.get()), STDERR_FILENO);
  std::string name = program;
  std::string no_user_settings = "-d";
  char* arguments[] = {name.data(), no_user_settings.data(), nullptr};
  pid_t child = 0;
  const int fault = ::posix_spawnp(&child, name.c_str(), &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (fault != 0) {
    return {"", fmt::format("cannot start {}: {}; install gnuplot (Debian: gnuplot-nox) and make the report again",
                            in_quotes(program), message(fault))};
  }

  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return {"", fmt::format("cannot wait for {}: {}", in_quotes(program), message(errno))};
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return {"", fmt::format("{} failed: {}", in_quotes(program), last_line(content_of(err)))};
  }
  return {content_of(out), ""};
}

}  // namespace ignd
