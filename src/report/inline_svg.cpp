#include "report/inline_svg.hpp"

#include "report/escape.hpp"

#include <fmt/format.h>

namespace ignd {
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

// Only inside of tags: what people wrote stays as it is.
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
