#include "client/trial/plain_data.h"

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

/// The value of a path of names joined with dots; null: there is none.
const Value* find_path(const Value& tree, std::string_view path) {
  const Value* at = &tree;
  for (;;) {
    const std::size_t dot = path.find('.');
    at = at->find(path.substr(0, dot));
    if (at == nullptr || dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
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

}  // namespace

Result<Value> read_map(BytesView bytes, std::string_view what) {
  auto value = describe::parse_msgpack(bytes);
  if (!value) return Failure(describe::to_error(value.error(), what));
  if (value->as<Value::Map>() != nullptr) return *std::move(value);
  return fail(Errc::invalid, std::string(what) + " must be a map, is " + describe::found(*value));
}

Result<void> check_metrics(const Value& metrics) { return check_metric("", metrics); }

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

}  // namespace cadre::client
