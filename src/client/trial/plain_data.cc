#include "client/trial/plain_data.h"

#include <algorithm>
#include <utility>

#include "describe/describe.h"
#include "describe/utf8.h"
#include "loop/file.h"

namespace cadre::client {
namespace {

using describe::Value;

constexpr std::size_t metric_name_max = 512;

std::string kind_of_metric(const Value& value) {
  if (value.is_null()) return "null";
  if (value.as<Value::List>() != nullptr) return "a list";
  return "bytes";
}

Result<void> check_metric(const std::string& path, const Value& value) {
  if (const auto* map = value.as<Value::Map>()) {
    for (const describe::Entry& entry : *map) {
      const std::string name = path.empty() ? entry.key : path + "." + entry.key;
      if (entry.key.empty()) return fail(Errc::invalid, "a metric has an empty name; give each metric a name");
      if (name.size() > metric_name_max) {
        return fail(Errc::invalid, "the name of the metric " + describe::escaped(name.substr(0, 40)) +
                                       "… is too long; use at most 512 bytes");
      }
      TRY(check_metric(name, entry.value));
    }
    return {};
  }
  const bool is_plain = !value.is_null() && value.as<Value::List>() == nullptr && value.as<Bytes>() == nullptr;
  if (is_plain) return {};
  return fail(Errc::invalid, "the metric " + describe::escaped(path) + " is " + kind_of_metric(value) +
                                 "; report numbers, text, true, false, or maps of them");
}

/// A map in which only that path has a value.
Value tree_of(std::string_view path, Value value) {
  const std::size_t dot = path.find('.');
  if (dot != std::string_view::npos) value = tree_of(path.substr(dot + 1), std::move(value));
  return Value(Value::Map{}).set(std::string(path.substr(0, dot)), std::move(value));
}

Result<Value> parse_map(std::string_view text, const std::string& source) {
  auto parsed = describe::parse_yaml(text);
  if (!parsed) return Failure(describe::to_error(parsed.error(), source));
  if (parsed->is_null()) return Value(Value::Map{});
  if (parsed->as<Value::Map>() == nullptr) {
    return fail(Errc::invalid, source + " must be a map of hyperparameters, is " + describe::found(*parsed));
  }
  return *std::move(parsed);
}

/// The names of all values, those in maps joined with dots.
void collect_names(const Value& tree, const std::string& prefix, std::vector<std::string>& into) {
  const auto* map = tree.as<Value::Map>();
  if (map == nullptr) return;
  for (const describe::Entry& entry : *map) {
    into.push_back(prefix + entry.key);
    collect_names(entry.value, prefix + entry.key + ".", into);
  }
}

bool is_name(std::string_view text) {
  const auto is_start = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_inner = [&](char c) { return is_start(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; };
  return !text.empty() && is_start(text.front()) && std::ranges::all_of(text, is_inner);
}

/// `--learning-rate`: the hyperparameter `learning_rate`, if there is one; otherwise empty.
std::string hyperparameter_of(std::string option, const Value& names) {
  if (!option.starts_with("--")) return "";
  option.erase(0, 2);
  if (find_path(names, option) != nullptr) return option;
  std::ranges::replace(option, '-', '_');
  return find_path(names, option) != nullptr ? option : "";
}

}  // namespace

const Value* find_path(const Value& tree, std::string_view path) {
  const Value* at = &tree;
  for (;;) {
    const std::size_t dot = path.find('.');
    at = at->find(path.substr(0, dot));
    if (at == nullptr || dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
}

Result<Value> read_map(BytesView bytes, std::string_view what) {
  auto value = describe::parse_msgpack(bytes);
  if (!value) return Failure(describe::to_error(value.error(), what));
  if (value->as<Value::Map>() != nullptr) return *std::move(value);
  return fail(Errc::invalid, std::string(what) + " must be a map, is " + describe::found(*value));
}

Result<void> check_metrics(const Value& metrics) { return check_metric("", metrics); }

bool is_metric_number(const Value& value) {
  if (const auto* text = value.as<std::string>()) return *text == "NaN" || *text == "Infinity" || *text == "-Infinity";
  return value.as<double>() != nullptr || value.as<std::int64_t>() != nullptr || value.as<std::uint64_t>() != nullptr;
}

Value merged(Value below, const Value& above) {
  const auto* map = above.as<Value::Map>();
  if (map == nullptr) return above;
  if (below.as<Value::Map>() == nullptr) return above;
  for (const describe::Entry& entry : *map) {
    const Value* before = below.find(entry.key);
    Value value = before == nullptr ? entry.value : merged(*before, entry.value);
    below.set(entry.key, std::move(value));
  }
  return below;
}

Result<Value> read_hyperparameters(const Value& known, const GivenHyperparameters& given) {
  Value all(Value::Map{});
  if (!given.file.empty()) {
    TRY_ASSIGN(text, loop::read_file(given.file));
    TRY_ASSIGN(values, parse_map(text, given.file));
    all = merged(std::move(all), values);
  }
  if (!given.text.empty()) {
    TRY_ASSIGN(values, parse_map(given.text, "CADRE_HYPERPARAMETERS"));
    all = merged(std::move(all), values);
  }
  for (const std::string& word : given.words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string path = word.substr(0, equals);
    if (find_path(known, path) == nullptr && find_path(all, path) == nullptr) continue;
    auto value = describe::parse_yaml(word.substr(equals + 1));
    if (!value) return Failure(describe::to_error(value.error(), word));
    all = merged(std::move(all), tree_of(path, *std::move(value)));
  }
  return all;
}

std::vector<std::string> doubtful_words(const Value& names, const std::vector<std::string>& words) {
  std::vector<std::string> known;
  collect_names(names, "", known);
  std::vector<std::string> doubts;
  if (known.empty()) return doubts;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const bool has_value = equals != std::string::npos;
    const std::string before = words[i].substr(0, equals);
    if (const std::string name = hyperparameter_of(before, names); !name.empty()) {
      const std::string text = has_value ? words[i].substr(equals + 1) : i + 1 < words.size() ? words[i + 1] : "";
      const auto value = describe::parse_yaml(text);
      if (value && describe::to_json(*value) == describe::to_json(*find_path(names, name))) continue;
      doubts.push_back("'" + describe::escaped(before) + "' does not set the hyperparameter " + name + "; write " +
                       name + "=" + (text.empty() ? "VALUE" : describe::escaped(text)));
    } else if (has_value && is_name(before) && find_path(names, before) == nullptr) {
      doubts.push_back("'" + describe::escaped(words[i]) +
                       "' sets no hyperparameter:" + describe::suggestion(before, {known.begin(), known.end()}));
    }
  }
  return doubts;
}

}  // namespace cadre::client
