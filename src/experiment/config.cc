#include "experiment/config.h"

#include <regex>
#include <utility>

#include "describe/utf8.h"
#include "search/sample.h"

namespace cadre::experiment {
namespace {

using describe::Path;
using describe::Place;
using describe::Value;

constexpr std::size_t longest_entrypoint = 65'536;

void check_entrypoint(const Value& entrypoint, const Place& place) {
  if (const auto* text = entrypoint.as<std::string>()) {
    if (text->empty()) place.fault(entrypoint, "is empty; name the command that trains");
    if (text->size() > longest_entrypoint) place.fault(entrypoint, "is too long; put the command into a script");
    return;
  }
  const auto* list = entrypoint.as<Value::List>();
  if (list == nullptr) return place.fault(entrypoint, "must be text for a shell or a list of arguments");
  if (list->empty()) return place.fault(entrypoint, "is empty; name the program that trains");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const Path inner(place.path, i);
    if ((*list)[i].as<std::string>() == nullptr) {
      place.at(inner).fault((*list)[i], "must be text; put it in quotes");
    }
  }
}

/// What is wrong with the settings of a checked struct; `at` gives the value in the file for a path.
class ConfigCheck {
 public:
  ConfigCheck(const Config& config, const search::Space& space, const Value& tree, describe::Faults& faults)
      : config_(config), space_(space), tree_(tree), faults_(faults) {}

  void run() {
    check_entrypoint(config_.entrypoint, place({"entrypoint"}));
    check_name("name", config_.name);
    check_name("project", config_.project);
    for (const std::string& label : config_.labels) check_name("labels", label);
    for (const LogPolicy& policy : config_.log_policies) check_pattern(policy);
    check_searcher();
    check_start_with();
  }

 private:
  struct At {
    std::string_view first;
    std::string_view second = {};
  };

  void fault(const At& at, std::string message) {
    const Path root;
    const Path first(root, at.first);
    const Path second(first, at.second);
    const Value* value = tree_.find(at.first);
    const Value* inner = value != nullptr && !at.second.empty() ? value->find(at.second) : nullptr;
    Place{at.second.empty() ? first : second, faults_}.fault(inner != nullptr   ? *inner
                                                             : value != nullptr ? *value
                                                                                : tree_,
                                                             std::move(message));
  }
  Place place(const At& at) {
    path_.emplace(root_, at.first);
    return {*path_, faults_};
  }

  void check_name(std::string_view key, const std::string& name) {
    if (!describe::is_printable(name)) fault({key}, "has control characters; remove them");
  }

  void check_pattern(const LogPolicy& policy) {
    try {
      static_cast<void>(std::regex(policy.pattern, std::regex::ECMAScript | std::regex::optimize));
    } catch (const std::regex_error& error) {
      fault({"log_policies"}, "'" + policy.pattern + "' is not a regular expression: " + error.what());
    }
  }

  void check_searcher() {
    const bool sets_length = std::holds_alternative<search::Asha>(config_.searcher) ||
                             std::holds_alternative<search::AshaPromote>(config_.searcher);
    if (sets_length && config_.length) {
      fault({"length"}, "is set by the searcher's max_time; remove it");
    }
    if (!std::holds_alternative<search::GridSearch>(config_.searcher)) return;
    for (const search::Parameter& parameter : space_.parameters()) {
      const auto has_no_count = [](const auto& domain) {
        if constexpr (requires { domain.count; } && !std::is_same_v<std::decay_t<decltype(domain)>, search::Int>) {
          return !domain.count;
        }
        return false;
      };
      if (std::visit(has_no_count, parameter.domain)) {
        fault({"hyperparameters"}, parameter.name() + ": a grid needs count; add the number of values");
      }
    }
  }

  void check_start_with() {
    const std::vector<search::Point>& points = search::objective_of(config_.searcher).start_with;
    for (std::size_t i = 0; i < points.size(); ++i) check_point(points[i], i);
  }

  void check_point(const search::Point& point, std::size_t index) {
    const std::string where = "start_with[" + std::to_string(index) + "]: ";
    if (point.as<Value::Map>() == nullptr) {
      return fault({"searcher", "start_with"}, where + "must be a map of hyperparameters");
    }
    check_known(point, {}, where);
    for (const search::Parameter& parameter : space_.parameters()) {
      const Value* value = search::find(point, parameter.path);
      if (value == nullptr || search::contains(parameter.domain, *value)) continue;
      fault({"searcher", "start_with"}, where + parameter.name() + " never has this value (" + describe::found(*value) +
                                            "); use one of its values");
    }
  }

  void check_known(const Value& map, const std::vector<std::string>& path, const std::string& where) {
    for (const describe::Entry& entry : *map.as<Value::Map>()) {
      std::vector<std::string> inner = path;
      inner.push_back(entry.key);
      bool is_known = false;
      bool is_above = false;
      for (const search::Parameter& parameter : space_.parameters()) {
        is_known |= parameter.path == inner;
        is_above |=
            parameter.path.size() > inner.size() && std::equal(inner.begin(), inner.end(), parameter.path.begin());
      }
      if (is_known) continue;
      if (is_above && entry.value.as<Value::Map>() != nullptr) {
        check_known(entry.value, inner, where);
        continue;
      }
      std::string name;
      for (const std::string& key : inner) name += (name.empty() ? "" : ".") + key;
      fault({"searcher", "start_with"}, where + "'" + name + "' is not a hyperparameter; remove it");
    }
  }

  const Config& config_;
  const search::Space& space_;
  const Value& tree_;
  describe::Faults& faults_;
  Path root_;
  std::optional<Path> path_;
};

}  // namespace

tl::expected<Checked, describe::Faults> read_config(const Value& tree) {
  Checked checked;
  describe::Faults faults;
  const Path root;
  describe::read_into(tree, checked.config, Place{root, faults});
  const std::size_t of_fields = faults.count();
  const Path inner(root, "hyperparameters");
  const Value none{Value::Map{}};
  const Value* space = tree.find("hyperparameters");
  checked.space = search::read_space(space == nullptr ? none : *space, Place{inner, faults});
  const bool has_space = faults.count() == of_fields;
  if (of_fields == 0) {
    ConfigCheck(checked.config, has_space ? checked.space : search::Space(), tree, faults).run();
  }
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return checked;
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
