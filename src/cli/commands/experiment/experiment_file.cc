#include "cli/commands/experiment/experiment_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "cli/commands/verb.h"
#include "cli/files.h"
#include "cli/words.h"
#include "describe/describe.h"

namespace cadre::cli {
namespace {

using describe::Value;

/// The value of a key in a map or a list, or what is wrong. A map gets a new key if it does not have it.
tl::expected<Value*, std::string> inner_value(Value& tree, const std::string& path, const std::string& key) {
  const std::string here = path.empty() ? "the file" : path;
  if (tree.is_null()) tree = Value(Value::Map{});
  if (auto* list = tree.as<Value::List>()) {
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
    const bool is_index = error == std::errc() && end == key.data() + key.size() && index < list->size();
    if (is_index) return &(*list)[index];
    return tl::unexpected(here + " is a list of " + std::to_string(list->size()) +
                          "; name one of its values by its index, from 0");
  }
  auto* map = tree.as<Value::Map>();
  if (map == nullptr) return tl::unexpected(here + " is " + describe::found(tree) + ", which has no keys");
  const auto found = std::find_if(map->begin(), map->end(), [&](const auto& entry) { return entry.key == key; });
  if (found != map->end()) return &found->value;
  map->push_back({key, Value(), {}});
  return &map->back().value;
}

/// The line of a fault: by its setting if it is in one, else by its place in the file.
std::string fault_line(const describe::Fault& fault, const std::string& name,
                       const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::string path = setting.substr(0, setting.find('='));
    if (fault.path == path || fault.path.starts_with(path + ".") || fault.path.starts_with(path + "[")) {
      // The shell removes quotes: KEY="2" is a number for YAML.
      const bool is_quoting = fault.path == path && fault.message.starts_with("expected text, found ");
      const std::string hint = is_quoting ? "; quote it for the shell too: --set '" + path + "=\"" +
                                                setting.substr(setting.find('=') + 1) + "\"'"
                                          : "";
      return "--set " + fault.path + ": " + fault.message + hint + "\n";
    }
  }
  return describe::to_text(describe::Faults(fault), name);
}

/// The words of a shell command, roughly: without its signs.
std::vector<std::string> words_in(const std::string& command) {
  constexpr std::string_view signs = " \t\r\n;&|()<>'\"`";
  std::vector<std::string> words;
  for (std::size_t at = command.find_first_not_of(signs); at != std::string::npos;) {
    const std::size_t end = command.find_first_of(signs, at);
    words.push_back(command.substr(at, end - at));
    at = command.find_first_not_of(signs, end);
  }
  return words;
}

bool is_relative_program(const std::string& word) {
  constexpr std::array<std::string_view, 4> endings = {".py", ".sh", ".R", ".jl"};
  if (word.starts_with('/') || word.starts_with('-') || word.find_first_of(" \n$~=:") != std::string::npos)
    return false;
  return word.starts_with("./") ||
         std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) { return word.ends_with(ending); });
}

}  // namespace

std::string put_setting(Value& tree, const std::string& path, const Value& value) {
  Value* at = &tree;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    if (key.empty()) return "a key is empty; use for example searcher.max_trials=20";
    const auto inner = inner_value(*at, path.substr(0, begin == 0 ? 0 : begin - 1), key);
    if (!inner) return inner.error();
    at = *inner;
    begin = end + 1;
  }
  *at = value;
  return "";
}

void add_set_option(CLI::App& command, std::vector<std::string>& settings) {
  command
      .add_option("--set", settings,
                  "Replace a value of the file, for example searcher.max_trials=20; the value is YAML. Can be given "
                  "several times.")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
}

void add_experiment_file(CLI::App& command, ExperimentFileOptions& options) {
  command
      .add_option("file", options.file, "Experiment file (docs/reference/experiment-file.md); - reads standard input")
      ->required()
      ->type_name("FILE");
  add_set_option(command, options.settings);
}

std::optional<ExperimentFile> read_experiment_file(const CLI::App& command, const ExperimentFileOptions& options) {
  auto file = read_experiment_file(options.file, options.settings);
  if (file) return *std::move(file);
  const auto count = std::count(file.error().begin(), file.error().end(), '\n');
  print_error(file.error());
  print_error(full_name(command) + ": " + counted(count, "error") + " in " + options.file +
              "; for the format, see docs/reference/experiment-file.md\n");
  return std::nullopt;
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
    if (checked.error().more() > 0) faults += "and " + std::to_string(checked.error().more()) + " more\n";
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

std::string file_of_code(const experiment::Config& config) {
  if (!config.environment.folder.empty() || !config.environment.setup.empty()) return "";
  const auto* text = config.entrypoint.as<std::string>();
  const std::vector<std::string> words = text == nullptr ? experiment::argv_of(config.entrypoint) : words_in(*text);
  if (std::find(words.begin(), words.end(), "cd") != words.end()) return "";
  const auto found = std::find_if(words.begin(), words.end(), is_relative_program);
  return found == words.end() ? "" : *found;
}

}  // namespace cadre::cli
