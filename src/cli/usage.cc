#include "cli/usage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "cli/command_context.h"
#include "cli/command_tree.h"
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

/// Names that other systems use for commands that have another name here.
struct Synonym {
  std::string_view word;
  std::string_view verb;     ///< below a noun
  std::string_view command;  ///< of the whole program; empty: there is none
};
constexpr std::array synonyms = {
    Synonym{"abort", "kill", "kill"},
    Synonym{"attach", "exec", "exec"},
    Synonym{"cancel", "stop", "stop"},
    Synonym{"create", "run", "run"},
    Synonym{"delete", "delete", "kill"},
    Synonym{"delete", "kill", "kill"},
    Synonym{"end", "cancel", "stop"},
    Synonym{"end", "stop", "stop"},
    Synonym{"experiments", "", "experiment list"},
    Synonym{"follow", "logs", "logs"},
    Synonym{"get", "describe", "job describe"},
    Synonym{"hosts", "", "agent list"},
    Synonym{"info", "describe", "job describe"},
    Synonym{"inspect", "describe", "job describe"},
    Synonym{"jobs", "", "job list"},
    Synonym{"launch", "run", "run"},
    Synonym{"ls", "list", "job list"},
    Synonym{"nodes", "", "agent list"},
    Synonym{"output", "logs", "logs"},
    Synonym{"ps", "list", "job list"},
    Synonym{"queue", "", "job list"},
    Synonym{"remove", "delete", "kill"},
    Synonym{"remove", "kill", "kill"},
    Synonym{"resume", "activate", ""},
    Synonym{"rm", "delete", "kill"},
    Synonym{"rm", "kill", "kill"},
    Synonym{"show", "describe", "job describe"},
    Synonym{"squeue", "", "job list"},
    Synonym{"start", "run", "run"},
    Synonym{"stop", "cancel", "stop"},
    Synonym{"submit", "create", "run"},
    Synonym{"submit", "run", "run"},
    Synonym{"tail", "logs", "logs"},
    Synonym{"sweep", "create", "experiment create"},
    Synonym{"terminate", "cancel", "stop"},
    Synonym{"terminate", "stop", "stop"},
    Synonym{"top", "list", "status"},
    Synonym{"watch", "list", "job list --watch"},
    Synonym{"workers", "", "agent list"},
};

/// The full name of every command below `command` that is called so.
void find_verbs(const CLI::App& command, const std::string& word, std::vector<std::string>& found) {
  for (const CLI::App* verb : verbs_of(command)) {
    if (verb->get_name() == word) found.push_back(full_name(*verb));
    find_verbs(*verb, word, found);
  }
}

const CLI::App& program_of(const CLI::App& command) {
  return command.get_parent() == nullptr ? command : program_of(*command.get_parent());
}

/// The command that is probably meant by a word that `command` does not know; empty: none.
std::string meant_command(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* verb : verbs_of(command)) names.push_back(verb->get_name());
  const auto has = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const std::string near = describe::suggestion(word, {names.begin(), names.end()});
  const bool is_near = near.find("did you mean") != std::string::npos;
  if (is_near)
    return full_name(command) + " " + near.substr(near.find('\'') + 1, near.rfind('\'') - near.find('\'') - 1);
  for (const Synonym& synonym : synonyms) {
    if (synonym.word != word) continue;
    if (command.get_parent() != nullptr && has(synonym.verb))
      return full_name(command) + " " + std::string(synonym.verb);
    if (command.get_parent() == nullptr && !synonym.command.empty())
      return full_name(command) + " " + std::string(synonym.command);
  }
  std::vector<std::string> elsewhere;
  find_verbs(program_of(command), word, elsewhere);
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(elsewhere.size(), 3); ++i) {
    text += (i == 0 ? "" : "' or '") + elsewhere[i];
  }
  return text;
}

/// What a word that the command does not accept would have been.
std::string kind_of(const CLI::App& command, const std::string& word) {
  if (word.starts_with('-')) return "unknown option";
  return verbs_of(command).empty() ? "unexpected argument" : "unknown command";
}

/// A suggestion for a word that the command does not accept; empty: none.
std::string hint(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) {
    const std::string meant = meant_command(command, word);
    return meant.empty() ? "" : "; did you mean '" + meant + "'?";
  }
  std::vector<std::string> names;
  add_options(command, names);
  const std::string words = describe::suggestion(word, {names.begin(), names.end()});
  return words.find("did you mean") == std::string::npos ? "" : ";" + words;
}

}  // namespace

bool passes_code(const CLI::App& command) {
  const std::string name = full_name(command);
  constexpr std::array passing = {"cadre run",  "cadre launch",   "cadre group run",
                                  "cadre wait", "cadre job wait", "cadre task wait"};
  return name.ends_with(" exec") || std::find(passing.begin(), passing.end(), name) != passing.end();
}

int usage_code(const CLI::App& app) { return passes_code(innermost(app)) ? own_failure : bad_usage; }

int printed_code(const CLI::App& app, int code) {
  flush_output();
  const int error = write_error();
  if (error == 0 || error == EPIPE) return code;  // a closed pipe is not an error
  const CLI::App& command = innermost(app);
  print_error(full_name(command) + ": cannot write the output: " + std::strerror(error) + "\n");
  return passes_code(command) ? own_failure : failed;
}

std::string unknown_command(const CLI::App& app, const std::string& word) {
  return full_name(app) + ": unknown command '" + word + "'" + hint(app, word) + "\n" + full_name(app) +
         " --help lists the commands\n";
}

std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  const CLI::App& command = innermost(*app);
  const std::string name = full_name(command);
  std::string text = error.what();
  if (constexpr std::string_view unread = "Could not convert: "; text.starts_with(unread)) {
    text = "not a valid number: " + text.substr(unread.size());
  }
  const std::vector<std::string> extras = app->remaining(true);
  // An unknown command also makes a required command missing; then the unknown word is the error to report.
  const bool is_extra = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                        error.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError);
  if (is_extra && !extras.empty()) {
    const auto option = std::find_if(extras.begin(), extras.end(),
                                     [](const std::string& one) { return one.size() > 1 && one[0] == '-'; });
    const std::string& word = option == extras.end() ? extras.front() : *option;
    text = kind_of(command, word) + " '" + word + "'" + hint(command, word);
    if (word.starts_with('-') && command.get_option_no_throw("command") != nullptr) {
      text += (text.ends_with('?') ? " Write" : "; write") + std::string(" options of the command to run after --");
    }
  }
  return name + ": " + text + "\nfor help, run: " + name + " --help\n";
}

}  // namespace cadre::cli
