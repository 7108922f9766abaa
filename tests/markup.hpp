#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// A reader of HTML and SVG that knows just enough to say whether a page is put together properly.
namespace ignd::testing {

struct Element {
  std::string name;
  std::map<std::string, std::string> attributes;  // as written, not unescaped
};

struct Markup {
  std::vector<Element> elements;
  std::vector<std::string> scripts;  // what runs
  std::string text;                  // what a reader sees, entities resolved
  std::vector<std::string> faults;   // empty: every tag is closed, every attribute quoted, every entity known
};

class MarkupReader {
 public:
  explicit MarkupReader(std::string_view source) : rest_(source) {}

  Markup read() {
    while (!rest_.empty()) {
      if (rest_[0] == '<') {
        read_tag();
      } else {
        read_text();
      }
    }
    for (const auto& name : open_) fault("is never closed: " + name);
    return std::move(markup_);
  }

 private:
  void read_text() {
    const bool raw = !open_.empty() && (open_.back() == "style" || open_.back() == "script");
    const std::string end = raw ? "</" + open_.back() : "<";
    const std::string_view text = rest_.substr(0, std::min(rest_.find(end), rest_.size()));
    rest_.remove_prefix(text.size());
    if (!raw) {
      markup_.text += resolved(text);
    } else if (open_.back() == "script") {
      markup_.scripts.emplace_back(text);
    }
  }

  std::string resolved(std::string_view text) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> entities{
        {{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}}};
    std::string out;
    while (!text.empty()) {
      if (text[0] != '&') {
        out += text[0];
        text.remove_prefix(1);
        continue;
      }
      const auto* entity = std::find_if(entities.begin(), entities.end(),
                                        [&](const auto& entry) { return text.starts_with(entry.first); });
      if (entity == entities.end()) {
        fault("unknown entity: " + std::string(text.substr(0, 10)));
        return out;
      }
      out += entity->second;
      text.remove_prefix(entity->first.size());
    }
    return out;
  }

  void read_tag() {
    if (rest_.starts_with("<!") || rest_.starts_with("<?")) {
      rest_.remove_prefix(std::min(rest_.find('>'), rest_.size() - 1) + 1);
      return;
    }
    const bool closing = rest_.starts_with("</");
    rest_.remove_prefix(closing ? 2 : 1);
    Element element;
    element.name = word();
    if (element.name.empty()) fault("a tag without a name");
    while (true) {
      skip_space();
      if (rest_.empty()) return fault("a tag that does not end");
      if (rest_[0] == '>' || rest_.starts_with("/>")) break;
      if (!read_attribute(element)) return;
    }
    const bool alone = rest_[0] == '/' || element.name == "meta";
    rest_.remove_prefix(rest_[0] == '/' ? 2 : 1);
    if (closing) {
      if (open_.empty() || open_.back() != element.name) return fault("is closed but not open: " + element.name);
      open_.pop_back();
      return;
    }
    if (!alone) open_.push_back(element.name);
    markup_.elements.push_back(std::move(element));
  }

  bool read_attribute(Element& element) {
    const std::string name = word();
    skip_space();
    if (name.empty() || rest_.empty() || rest_[0] != '=') {
      fault("an attribute without a value in " + element.name);
      rest_ = {};
      return false;
    }
    rest_.remove_prefix(1);
    skip_space();
    const char quote = rest_.empty() ? '\0' : rest_[0];
    const std::size_t end = quote == '"' || quote == '\'' ? rest_.find(quote, 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      fault("a value without quotes in " + element.name);
      rest_ = {};
      return false;
    }
    if (element.attributes.contains(name)) fault("twice the same attribute: " + name);
    element.attributes[name] = rest_.substr(1, end - 1);
    resolved(element.attributes[name]);
    rest_.remove_prefix(end + 1);
    return true;
  }

  std::string word() {
    std::string name(rest_.substr(0, std::min(rest_.find_first_of(" \t\n=/>\"'<"), rest_.size())));
    rest_.remove_prefix(name.size());
    return name;
  }

  void skip_space() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size())); }

  void fault(std::string what) { markup_.faults.push_back(std::move(what)); }

  std::string_view rest_;
  std::vector<std::string> open_;
  Markup markup_;
};

inline Markup read_markup(std::string_view source) { return MarkupReader(source).read(); }

inline std::vector<std::string> values_of(const Markup& markup, const std::string& attribute) {
  std::vector<std::string> values;
  for (const Element& element : markup.elements) {
    const auto found = element.attributes.find(attribute);
    if (found != element.attributes.end()) values.push_back(found->second);
  }
  return values;
}

}  // namespace ignd::testing
