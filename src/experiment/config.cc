#include "experiment/config.h"

#include <algorithm>
#include <utility>

#include "base/pattern.h"
#include "describe/utf8.h"
#include "search/grid.h"
#include "search/sample.h"

namespace cadre::experiment {
namespace {

using describe::Path;
using describe::Place;
using describe::Value;

constexpr std::size_t longest_entrypoint = 65'536;

/// Calls `check` with the value of a key and its place, if there is one.
template <class Check>
void inside(const Value& value, const Place& place, std::string_view key, Check check) {
  const Value* const inner = value.find(key);
  if (inner == nullptr) return;
  const Path path(place.path, key);
  check(*inner, place.at(path));
}

/// The same for each value of a list.
template <class Check>
void inside_each(const Value& value, const Place& place, Check check) {
  const auto* const list = value.as<Value::List>();
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    const Path path(place.path, i);
    check((*list)[i], place.at(path));
  }
}

void check_entrypoint(const Value& entrypoint, const Place& place) {
  if (const auto* text = entrypoint.as<std::string>()) {
    if (text->empty()) place.fault(entrypoint, "is empty; name the command that trains");
    if (text->size() > longest_entrypoint) place.fault(entrypoint, "is too long; put the command into a script");
    return;
  }
  const auto* list = entrypoint.as<Value::List>();
  if (list == nullptr) {
    place.fault(entrypoint, "expected text for a shell or a list of arguments, found " + describe::found(entrypoint));
    return;
  }
  if (list->empty()) place.fault(entrypoint, "is empty; name the program that trains");
  inside_each(entrypoint, place, [](const Value& argument, const Place& at) {
    if (argument.as<std::string>() != nullptr) return;
    at.fault(argument, "expected text, found " + describe::found(argument) + "; put it in quotes");
  });
}

void check_printable(const Value& value, const Place& place) {
  const auto* text = value.as<std::string>();
  if (text != nullptr && !describe::is_printable(*text)) {
    place.fault(value, "has control characters; remove them");
  }
}

void check_label(const Value& value, const Place& place) {
  check_printable(value, place);
  const auto* text = value.as<std::string>();
  if (text == nullptr) return;
  if (text->empty()) place.fault(value, "is empty; remove it");
  if (text->size() > 128) place.fault(value, "is longer than 128 bytes; shorten it");
}

void check_pattern(const Value& value, const Place& place) {
  const auto* pattern = value.as<std::string>();
  if (pattern == nullptr) return;
  if (const Result<Pattern> parsed = Pattern::parse(*pattern); !parsed) {
    place.fault(value, "is not a regular expression: it " + parsed.error().message);
  }
}

/// Of how many trials a search consists at most; nothing: that is not known.
std::optional<std::int64_t> trials_of(const search::Searcher& searcher) {
  return std::visit(
      [](const auto& one) -> std::optional<std::int64_t> {
        if constexpr (requires { one.max_trials; }) return one.max_trials;
        if constexpr (requires { one.population; }) return one.population;
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, search::Single>) return 1;
        return std::nullopt;
      },
      searcher);
}

/// What is wrong between the searcher, which is right by itself, and the rest. The space is null when it is not right.
void check_searcher(const search::Searcher& searcher, const search::Space* space, const Value& tree,
                    const Place& root) {
  const bool sets_length = std::visit(
      [](const auto& one) {
        return requires { one.max_time; };
      },
      searcher);
  if (sets_length) {
    inside(tree, root, "length", [](const Value& length, const Place& place) {
      if (!length.is_null()) place.fault(length, "is set by max_time of the searcher; remove it");
    });
  }
  inside(tree, root, "searcher", [&](const Value& value, const Place& place) {
    inside(value, place, "start_with", [&](const Value& points, const Place& at) {
      const std::size_t count = points.as<Value::List>()->size();
      const std::optional<std::int64_t> most = trials_of(searcher);
      if (most && count > static_cast<std::size_t>(*most)) {
        at.fault(points, "has " + std::to_string(count) + " points for " + std::to_string(*most) +
                             (*most == 1 ? " trial" : " trials") + "; remove some, or raise the number of trials");
      }
      if (space == nullptr) return;
      inside_each(points, at, [&](const Value& point, const Place& each) { search::check_point(*space, point, each); });
    });
  });
  if (space == nullptr || !std::holds_alternative<search::GridSearch>(searcher)) return;
  inside(tree, root, "hyperparameters",
         [&](const Value& value, const Place& place) { search::check_grid(*space, value, place); });
}

/// `pattern: action` as a list of policies.
Value spelled_out(const Value& policies) {
  const auto* map = policies.as<Value::Map>();
  if (map == nullptr) return policies;
  Value::List list;
  for (const describe::Entry& entry : *map) {
    Value pattern(entry.key);
    pattern.set_mark(entry.key_at);
    Value& policy = list.emplace_back();
    policy.set("pattern", std::move(pattern)).set("action", entry.value).set_mark(entry.key_at);
  }
  Value result(std::move(list));
  if (const auto mark = policies.at()) result.set_mark(*mark);
  return result;
}

/// In the order of the file; those without a place come last.
describe::Faults in_order(const describe::Faults& faults) {
  std::vector<describe::Fault> sorted(faults.begin(), faults.end());
  const auto place = [](const describe::Fault& fault) { return fault.at.value_or(describe::Mark{~0U, 0}); };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
  describe::Faults result;
  for (describe::Fault& fault : sorted) result.add(std::move(fault));
  for (std::size_t i = 0; i < faults.more(); ++i) result.add({});
  return result;
}

void check_between(const Value& tree, const Place& root, const search::Space* space) {
  inside(tree, root, "entrypoint", check_entrypoint);
  for (const std::string_view key : {"name", "workspace", "project"}) inside(tree, root, key, check_printable);
  inside(tree, root, "data", [](const Value& data, const Place& at) { static_cast<void>(at.map(data)); });
  inside(tree, root, "labels", [](const Value& labels, const Place& at) { inside_each(labels, at, check_label); });
  inside(tree, root, "log_policies", [](const Value& policies, const Place& at) {
    inside_each(policies, at,
                [](const Value& policy, const Place& each) { inside(policy, each, "pattern", check_pattern); });
  });
  const Value* const value = tree.find("searcher");
  if (value == nullptr) return;
  if (const auto searcher = describe::read<search::Searcher>(*value)) check_searcher(*searcher, space, tree, root);
}

tl::expected<Checked, describe::Faults> read_checked(const Value& file, search::MissingType missing) {
  Value tree = file;
  if (const Value* policies = tree.find("log_policies")) tree.set("log_policies", spelled_out(*policies));
  Checked checked;
  describe::Faults faults;
  const Path path;
  const Place root{path, faults};
  describe::read_into(tree, checked.config, root);
  const std::size_t of_fields = faults.count();
  inside(tree, root, "hyperparameters",
         [&](const Value& value, const Place& place) { checked.space = search::read_space(value, place, missing); });
  check_between(tree, root, faults.count() == of_fields ? &checked.space : nullptr);
  if (!faults.empty()) return tl::unexpected(in_order(faults));
  return checked;
}

}  // namespace

tl::expected<Checked, describe::Faults> read_config(const Value& file) {
  return read_checked(file, search::MissingType::fault);
}

tl::expected<Checked, describe::Faults> read_accepted_config(const Value& file) {
  return read_checked(file, search::MissingType::nested);
}

tl::expected<Checked, describe::Faults> read_config_file(std::string_view text) {
  return describe::parse_yaml(text).and_then(read_config);
}

std::vector<std::string> argv_of(const Value& entrypoint) {
  if (const auto* text = entrypoint.as<std::string>()) return {"/bin/sh", "-c", *text};
  std::vector<std::string> argv;
  const auto* list = entrypoint.as<Value::List>();
  if (list == nullptr) return argv;
  for (const Value& one : *list) {
    if (const auto* text = one.as<std::string>()) argv.push_back(*text);
  }
  return argv;
}

}  // namespace cadre::experiment
