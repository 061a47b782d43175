#include "cli/usage.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/commands/verb.h"
#include "describe/fault.h"

namespace cadre::cli {
namespace {

/// The command that was being read.
const CLI::App& innermost(const CLI::App& app) {
  for (const CLI::App* one : app.get_subcommands()) {
    if (!one->get_name().empty()) return innermost(*one);
  }
  return app;
}

void add_options(const CLI::App& command, std::vector<std::string>& names) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* group : command.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); })) {
    add_options(*group, names);
  }
}

/// What fits where a word was not understood.
std::string hint(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  if (word.starts_with('-')) {
    add_options(command, names);
  } else {
    for (const CLI::App* verb : command.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); })) {
      names.push_back(verb->get_name());
    }
  }
  const std::string words = describe::suggestion(word, {names.begin(), names.end()});
  return words.find("did you mean") == std::string::npos ? "" : ";" + words;
}

}  // namespace

std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  const CLI::App& command = innermost(*app);
  const std::string name = full_name(command);
  std::string text = error.what();
  const std::vector<std::string> extras = app->remaining(true);
  // A word that is no verb leaves a verb to be wanted: then the word is what is wrong.
  const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                        error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  if (is_extra && !extras.empty()) {
    const auto option = std::find_if(extras.begin(), extras.end(),
                                     [](const std::string& one) { return one.size() > 1 && one[0] == '-'; });
    const std::string& word = option == extras.end() ? extras.front() : *option;
    text = "'" + word + "' is not understood here" + hint(command, word);
    if (word.starts_with('-') && command.get_option_no_throw("command") != nullptr) {
      text += (text.ends_with('?') ? " Options" : "; options") + std::string(" of what is to be run come after --");
    }
  }
  return name + ": " + text + "\n" + name + " --help says more\n";
}

}  // namespace cadre::cli
