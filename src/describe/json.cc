#include <boost/json/basic_parser_impl.hpp>
#include <exception>
#include <utility>

#include "describe/formats.h"
#include "describe/number.h"
#include "describe/text_checks.h"
#include "describe/tree.h"
#include "describe/utf8.h"

namespace cadre::describe {
namespace {

using boost::json::error_code;
using boost::json::string_view;

/// Turns boost.json's events into a tree. Numbers are read from their text, exactly.
class JsonEvents {
 public:
  static constexpr std::size_t max_array_size = -1;
  static constexpr std::size_t max_object_size = -1;
  static constexpr std::size_t max_string_size = -1;
  static constexpr std::size_t max_key_size = -1;

  explicit JsonEvents(const Bounds& bounds) : tree(bounds) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code& error) { return keep(tree.start_list({}), error); }
  bool on_array_end(std::size_t, error_code&) { return tree.end(), true; }
  bool on_object_begin(error_code& error) { return keep(tree.start_map({}), error); }
  bool on_object_end(std::size_t, error_code&) { return tree.end(), true; }
  bool on_string_part(string_view part, std::size_t, error_code&) { return collect(part); }
  bool on_string(string_view part, std::size_t, error_code& error) {
    collect(part);
    return keep(tree.add(Value(std::exchange(text_, {})), {}), error);
  }
  bool on_key_part(string_view part, std::size_t, error_code&) { return collect(part); }
  bool on_key(string_view part, std::size_t, error_code&) {
    collect(part);
    return tree.key(std::exchange(text_, {}), {}), true;
  }
  bool on_number_part(string_view part, error_code&) { return collect(part); }
  bool on_int64(std::int64_t, string_view part, error_code& error) { return add_number(part, error); }
  bool on_uint64(std::uint64_t, string_view part, error_code& error) { return add_number(part, error); }
  bool on_double(double, string_view part, error_code& error) { return add_number(part, error); }
  bool on_bool(bool truth, error_code& error) { return keep(tree.add(Value(truth), {}), error); }
  bool on_null(error_code& error) { return keep(tree.add(Value(), {}), error); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  Tree tree;
  bool has_stopped = false;

 private:
  bool keep(bool within_bounds, error_code& error) {
    if (within_bounds) return true;
    has_stopped = true;
    error = boost::json::error::too_deep;  // only stops the parser; the fault is kept in the tree
    return false;
  }

  bool collect(string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }

  bool add_number(string_view part, error_code& error) {
    collect(part);
    const std::string text = std::exchange(text_, {});
    auto number = parse_number(text);
    if (number && *number) return keep(tree.add(**std::move(number), {}), error);
    tree.fault(number ? number->error().message : "is not a number", std::nullopt);
    return keep(tree.add(Value(), {}), error);
  }

  std::string text_;
};

void append_line(std::string& out, Indent indent, std::size_t depth) {
  if (indent == Indent::none) return;
  out += '\n';
  out.append(2 * depth, ' ');
}

void append_json(std::string& out, const Value& value, Indent indent, std::size_t depth);

void append_list(std::string& out, const Value::List& list, Indent indent, std::size_t depth) {
  out += '[';
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    append_line(out, indent, depth + 1);
    append_json(out, list[i], indent, depth + 1);
  }
  if (!list.empty()) append_line(out, indent, depth);
  out += ']';
}

void append_map(std::string& out, const Value::Map& map, Indent indent, std::size_t depth) {
  out += '{';
  for (std::size_t i = 0; i < map.size(); ++i) {
    if (i > 0) out += ',';
    append_line(out, indent, depth + 1);
    out += quoted(map[i].key);
    out += indent == Indent::none ? ":" : ": ";
    append_json(out, map[i].value, indent, depth + 1);
  }
  if (!map.empty()) append_line(out, indent, depth);
  out += '}';
}

void append_json(std::string& out, const Value& value, Indent indent, std::size_t depth) {
  if (value.is_null()) out += "null";
  if (const auto* truth = value.as<bool>()) out += *truth ? "true" : "false";
  if (const auto* number = value.as<std::int64_t>()) out += std::to_string(*number);
  if (const auto* number = value.as<std::uint64_t>()) out += std::to_string(*number);
  if (const auto* number = value.as<double>()) {
    const std::string text = to_text(*number);
    out += text.ends_with('N') || text.ends_with('y') ? quoted(text) : text;  // NaN and the infinities
  }
  if (const auto* text = value.as<std::string>()) out += quoted(*text);
  if (const auto* bytes = value.as<Bytes>()) out += quoted(to_base64(*bytes));
  if (const auto* list = value.as<Value::List>()) append_list(out, *list, indent, depth);
  if (const auto* map = value.as<Value::Map>()) append_map(out, *map, indent, depth);
}

}  // namespace

Parsed parse_json(std::string_view text, const Bounds& bounds) {
  if (auto fault = check_text(text, bounds)) return tl::unexpected(Faults(*std::move(fault)));
  boost::json::parse_options options;
  options.max_depth = bounds.depth + 1;  // the tree's own bound comes first, with a better message
  boost::json::basic_parser<JsonEvents> parser(options, bounds);
  Tree& tree = parser.handler().tree;
  try {
    error_code error;
    const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
    if (error && !parser.handler().has_stopped) tree.fault("is not JSON: " + error.message(), mark_at(text, read));
    const std::size_t rest = text.find_first_not_of(" \t\r\n", read);
    if (!error && rest != std::string_view::npos) {
      tree.fault("is not JSON: there is more text after its end; remove it", mark_at(text, rest));
    }
  } catch (const std::exception& error) {
    tree.fault("cannot be read as JSON: " + std::string(error.what()), std::nullopt);
  }
  return std::move(tree).finish();
}

std::string to_json(const Value& value, Indent indent) {
  std::string out;
  append_json(out, value, indent, 0);
  return out;
}

}  // namespace cadre::describe
