#include "objects/s3/xml.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "describe/utf8.h"

namespace cadre::objects::s3 {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == ':';
}

std::string_view without_prefix(std::string_view name) {
  return name.substr(name.find(':') == std::string_view::npos ? 0 : name.find(':') + 1);
}

/// Of a code point that XML allows, as UTF-8; empty: it allows none such.
std::string encoded(std::uint32_t point) {
  const bool is_allowed = point == 9 || point == 10 || point == 13 || (point >= 0x20 && point < 0xd800) ||
                          (point >= 0xe000 && point < 0xfffe) || (point >= 0x10000 && point < 0x110000);
  if (!is_allowed) return {};
  const auto tail = [point](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3f)); };
  if (point < 0x80) return {static_cast<char>(point)};
  if (point < 0x800) return {static_cast<char>(0xc0 | (point >> 6)), tail(0)};
  if (point < 0x10000) return {static_cast<char>(0xe0 | (point >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

class Parser {
 public:
  Parser(std::string_view text, const XmlBounds& bounds) : rest_(text), bounds_(bounds) {}

  Result<XmlElement> parse() {
    if (rest_.size() > bounds_.size_bytes) return refuse("it is too large");
    if (!describe::is_utf8(rest_)) return refuse("it is not UTF-8");
    take("\xef\xbb\xbf");
    skip_spaces();
    if (take("<?xml")) {
      const std::size_t end = rest_.find("?>");
      if (end == std::string_view::npos) return refuse("its first line does not end");
      rest_.remove_prefix(end + 2);
    }
    TRY(skip_between());
    if (!take("<")) return refuse("it does not begin with an element");
    TRY_ASSIGN(root, element(1));
    TRY(skip_between());
    if (!rest_.empty()) return refuse("something follows its last element");
    return root;
  }

 private:
  static Failure refuse(const std::string& why) {
    return fail(Errc::corrupt, "the response is not XML as S3 writes it: " + why);
  }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  bool skip_spaces() {
    const std::size_t before = rest_.size();
    while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
    return rest_.size() < before;
  }

  Result<void> skip_comment() {
    const std::size_t end = rest_.find("--");
    if (end == std::string_view::npos || !rest_.substr(end).starts_with("-->")) return refuse("a comment does not end");
    rest_.remove_prefix(end + 3);
    return {};
  }

  /// Spaces and comments, outside of the root.
  Result<void> skip_between() {
    skip_spaces();
    while (take("<!--")) {
      TRY(skip_comment());
      skip_spaces();
    }
    return {};
  }

  Result<std::string_view> name() {
    const auto end = std::ranges::find_if_not(rest_, is_of_name);
    const std::string_view found = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    if (found.empty() || without_prefix(found).empty()) return refuse("a name is missing");
    rest_.remove_prefix(found.size());
    return found;
  }

  /// After the name of an element: whether it is closed at once.
  Result<bool> attributes() {
    for (std::size_t count = 0; count <= bounds_.attributes; ++count) {
      const bool has_space = skip_spaces();
      if (take("/>")) return true;
      if (take(">")) return false;
      if (!has_space) return refuse("a tag does not end");
      TRY(name());
      skip_spaces();
      if (!take("=")) return refuse("an attribute has no value");
      skip_spaces();
      const char quote = rest_.empty() ? '\0' : rest_.front();
      if (quote != '"' && quote != '\'') return refuse("an attribute has no quotes");
      const std::size_t end = rest_.find(quote, 1);
      if (end == std::string_view::npos || rest_.substr(0, end).find('<') != std::string_view::npos) {
        return refuse("an attribute does not end");
      }
      rest_.remove_prefix(end + 1);
    }
    return refuse("an element has too many attributes");
  }

  /// After its `<`.
  Result<XmlElement> element(std::size_t depth) {
    if (depth > bounds_.depth) return refuse("its elements are nested too deep");
    if (++elements_ > bounds_.elements) return refuse("it has too many elements");
    XmlElement made;
    TRY_ASSIGN(tag, name());
    made.name = without_prefix(tag);
    TRY_ASSIGN(is_closed, attributes());
    while (!is_closed) {
      TRY(append_text(made.text));
      if (take("</")) {
        TRY_ASSIGN(end, name());
        skip_spaces();
        if (end != tag || !take(">")) return refuse("the tags of an element do not match");
        is_closed = true;
      } else if (take("<!--")) {
        TRY(skip_comment());
      } else if (take("<")) {
        TRY_ASSIGN(child, element(depth + 1));
        made.children.push_back(std::move(child));
      }
    }
    return made;
  }

  /// Up to the next tag.
  Result<void> append_text(std::string& text) {
    while (true) {
      const std::size_t end = rest_.find_first_of("<&");
      if (end == std::string_view::npos) return refuse("it ends too early");
      const std::string_view plain = rest_.substr(0, end);
      if (std::ranges::any_of(plain, [](char c) { return c >= '\0' && c < ' ' && !is_space(c); })) {
        return refuse("it has control characters");
      }
      text += plain;
      rest_.remove_prefix(end);
      if (!take("&")) return {};
      TRY(append_entity(text));
    }
  }

  Result<void> append_entity(std::string& text) {
    constexpr std::size_t longest = 9;  // #x0010ffff
    const std::size_t end = rest_.substr(0, longest + 1).find(';');
    if (end == std::string_view::npos) return refuse("an & does not begin an entity");
    const std::string_view entity = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    static constexpr std::pair<std::string_view, char> known[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
    for (const auto& [name, c] : known) {
      if (entity == name) return text += c, Result<void>();
    }
    const bool is_hex = entity.starts_with("#x");
    if (!entity.starts_with('#')) return refuse("an entity is not one of XML's own");
    const std::string_view digits = entity.substr(is_hex ? 2 : 1);
    std::uint32_t point = 0;
    const auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), point, is_hex ? 16 : 10);
    const std::string c = problem == std::errc() && stop == digits.data() + digits.size() ? encoded(point) : "";
    if (c.empty()) return refuse("an entity stands for no character");
    text += c;
    return {};
  }

  std::string_view rest_;
  const XmlBounds bounds_;
  std::size_t elements_ = 0;
};

}  // namespace

const XmlElement* XmlElement::child(std::string_view child_name) const {
  const auto found = std::ranges::find(children, child_name, &XmlElement::name);
  return found == children.end() ? nullptr : &*found;
}

std::string_view XmlElement::text_of(std::string_view child_name) const {
  const XmlElement* found = child(child_name);
  return found == nullptr ? std::string_view() : std::string_view(found->text);
}

Result<XmlElement> parse_xml(std::string_view text, const XmlBounds& bounds) { return Parser(text, bounds).parse(); }

}  // namespace cadre::objects::s3
