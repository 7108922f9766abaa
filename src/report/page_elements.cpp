#include "report/page_elements.hpp"

#include "report/format.hpp"
#include "report/formula.hpp"
#include "report/page_assets.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace ignd {
namespace {

std::vector<std::string> escaped(const std::vector<std::string>& cells) {
  std::vector<std::string> out;
  out.reserve(cells.size());
  for (const std::string& cell : cells) out.push_back(html_formulas(cell));
  return out;
}

// "'sha256-...'" of an inline style or script: what a content security policy allows it by.
std::string allowed(std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::array<unsigned char, 2 * EVP_MAX_MD_SIZE> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(size));
  return fmt::format("'sha256-{}'", std::string(text.begin(), text.begin() + length));
}

// Nothing is loaded, and nothing runs but the page's own script, whatever the texts of users' files may be.
std::string security_policy() {
  return fmt::format("default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
                     allowed(page_style), allowed(page_script));
}

}  // namespace

std::string page_start(std::string_view title, std::string_view heading) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{}\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n",
      page_mark, security_policy(), html_text(title), page_style, html_text(heading));
}

std::string page_end() { return fmt::format("<script>{}</script>\n</body>\n</html>\n", page_script); }

std::string fact_list(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string html = "<dl>\n";
  for (const auto& [name, text] : facts) {
    html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", html_text(name), html_text(text));
  }
  return html + "</dl>\n";
}

std::string paragraph(std::string_view text, std::string_view css_class) {
  return fmt::format("<p{}>{}</p>\n", css_class.empty() ? "" : fmt::format(" class=\"{}\"", css_class),
                     html_formulas(text));
}

std::string bullet_list(const std::vector<std::string>& items) {
  std::string html = "<ul>\n";
  for (const std::string& item : items) html += "<li>" + html_formulas(item) + "</li>\n";
  return html + "</ul>\n";
}

std::string box(std::string_view heading, const std::vector<std::string>& items) {
  if (items.empty()) return "";
  return fmt::format("<div class=\"box\">\n<p><strong>{}</strong></p>\n{}</div>\n", html_formulas(heading),
                     bullet_list(items));
}

std::string paragraphs(std::string_view text) {
  std::string html;
  std::string current;
  const auto flush = [&] {
    if (!current.empty()) html += paragraph(current);
    current.clear();
  };
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      flush();
    } else {
      current += current.empty() ? "" : " ";
      current += line;
    }
  }
  flush();
  return html;
}

std::string table_row(const std::vector<std::string>& cells, std::string_view tag, std::string_view css_class) {
  std::string html = css_class.empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", css_class);
  for (const std::string& cell : cells) html += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return html + "</tr>\n";
}

std::string table_start(std::string_view caption, const std::vector<std::string>& header, Rows rows) {
  return fmt::format("<div class=\"scroll\"><table class=\"{}\">\n{}<thead>{}</thead>\n<tbody>\n",
                     rows == Rows::sortable   ? "sortable"
                     : rows == Rows::of_texts ? "sortable texts"
                                              : "grouped",
                     caption.empty() ? "" : fmt::format("<caption>{}</caption>\n", html_formulas(caption)),
                     table_row(escaped(header), "th"));
}

std::string html_table(const ResultTable& table, const std::vector<std::string>& header, Rows rows) {
  std::string html = table_start(table.title, header, rows);
  for (const ResultRow& row : table.rows) {
    auto cells = escaped(row.cells);
    for (const std::size_t k : row.bold) cells[k] = "<strong>" + cells[k] + "</strong>";
    html += table_row(cells, "td");
  }
  html += table_end;
  for (const std::string& note : table.notes) html += paragraph(note, "note");
  return html;
}

}  // namespace ignd
