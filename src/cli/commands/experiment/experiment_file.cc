#include "cli/commands/experiment/experiment_file.h"

#include <algorithm>

#include "cli/files.h"
#include "describe/describe.h"

namespace cadre::cli {
namespace {

using describe::Value;

/// Gives the key at a path its value; what is wrong, or nothing.
std::string put_setting(Value& tree, const std::string& path, const Value& value) {
  Value* at = &tree;
  for (std::size_t begin = 0;;) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    if (key.empty()) return "a key is empty; use for example searcher.max_trials=20";
    if (!at->is_null() && at->as<Value::Map>() == nullptr) {
      return path.substr(0, begin - 1) + " is " + describe::found(*at) + ", not a map";
    }
    if (end == path.size()) {
      at->set(key, value);
      return "";
    }
    if (at->find(key) == nullptr) at->set(key, Value(Value::Map{}));
    Value::Map& map = *at->as<Value::Map>();
    at = &std::find_if(map.begin(), map.end(), [&](const describe::Entry& one) { return one.key == key; })->value;
    begin = end + 1;
  }
}

/// The line of a fault: by its setting if it is in one, else by its place in the file.
std::string fault_line(const describe::Fault& fault, const std::string& name,
                       const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::string path = setting.substr(0, setting.find('='));
    if (fault.path == path || fault.path.starts_with(path + ".") || fault.path.starts_with(path + "[")) {
      return "--set " + fault.path + ": " + fault.message + "\n";
    }
  }
  return describe::to_text(describe::Faults(fault), name);
}

}  // namespace

void add_set_option(CLI::App& command, std::vector<std::string>& settings) {
  command
      .add_option("--set", settings,
                  "Replace a value of the file, for example searcher.max_trials=20. Can be given several times.")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

tl::expected<ExperimentFile, std::string> check_experiment(Value tree, const std::string& name,
                                                           const std::vector<std::string>& settings) {
  std::string faults;
  for (const std::string& setting : settings) {
    const std::size_t sign = setting.find('=');
    if (sign == std::string::npos) {
      faults += "--set " + setting + ": is not of the form KEY=VALUE\n";
      continue;
    }
    auto value = describe::parse_yaml(setting.substr(sign + 1));
    const std::string wrong =
        value ? put_setting(tree, setting.substr(0, sign), *value) : value.error().begin()->message;
    if (!wrong.empty()) faults += "--set " + setting + ": " + wrong + "\n";
  }
  auto checked = experiment::read_config(tree);
  if (!checked) {
    for (const describe::Fault& fault : checked.error()) faults += fault_line(fault, name, settings);
  }
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return ExperimentFile{std::move(tree), *std::move(checked)};
}

tl::expected<ExperimentFile, std::string> read_experiment_file(const std::string& path,
                                                               const std::vector<std::string>& settings) {
  const Result<std::string> text = read_file(path);
  if (!text) return tl::unexpected(text.error().message + "\n");
  const std::string name = path == "-" ? "standard input" : path;
  auto tree = describe::parse_yaml(*text);
  if (!tree) return tl::unexpected(describe::to_text(tree.error(), name));
  return check_experiment(*std::move(tree), name, settings);
}

}  // namespace cadre::cli
