#include "report/gnuplot.hpp"

#include "base/text.hpp"
#include "report/format.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
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

// The last line names the cause; before it gnuplot repeats the script.
std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return printable(newline == std::string_view::npos ? text : text.substr(newline + 1), 200);
}

std::string message(int error) { return std::generic_category().message(error); }

}  // namespace

GnuplotOutcome run_gnuplot(const std::string& program, const std::string& script) {
  // Unnamed files rather than pipes: neither side can block the other.
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

namespace {

void erase_elements(std::string& text, std::string_view name) {
  const std::string open = fmt::format("<{}>", name);
  const std::string close = fmt::format("</{}>", name);
  for (std::size_t at = 0; (at = text.find(open, at)) != std::string::npos;) {
    const std::size_t end = text.find(close, at);
    if (end == std::string::npos) return;
    text.erase(at, end + close.size() - at);
  }
}

// Only inside tags: text stays unchanged.
std::string with_prefixed_ids(std::string_view svg, std::string_view prefix) {
  std::string out;
  bool in_tag = false;
  for (std::size_t at = 0; at < svg.size(); ++at) {
    in_tag = svg[at] == '<' || (in_tag && svg[at] != '>');
    out += svg[at];
    if (!in_tag) continue;
    for (const std::string_view mark : {" id='", " id=\"", "href='#", "href=\"#", "url(#"}) {
      if (!svg.substr(at).starts_with(mark)) continue;
      out += svg.substr(at + 1, mark.size() - 1);
      out += prefix;
      at += mark.size() - 1;
      break;
    }
  }
  return out;
}

}  // namespace

std::optional<std::string> inline_svg(std::string_view svg, std::string_view prefix, std::string_view label) {
  const std::size_t start = svg.find("<svg");
  const std::size_t view_box = svg.find("viewBox=\"");
  const std::size_t end = svg.rfind("</svg>");
  if (start == std::string_view::npos || view_box == std::string_view::npos || end == std::string_view::npos) return {};
  const std::size_t content = svg.find('>', start) + 1;
  const std::size_t size = view_box + std::string_view("viewBox=\"").size();
  if (content > end || size > content) return {};
  std::string body(svg.substr(content, end - content));
  for (const std::string_view name : {"title", "desc"}) erase_elements(body, name);
  return fmt::format(
      "<svg class=\"panel\" viewBox=\"{}\" role=\"img\" aria-label=\"{}\" xmlns=\"http://www.w3.org/2000/svg\" "
      "xmlns:xlink=\"http://www.w3.org/1999/xlink\">{}</svg>",
      svg.substr(size, svg.find('"', size) - size), html_text(label), with_prefixed_ids(body, prefix));
}

}  // namespace ignd
