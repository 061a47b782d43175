#include "cli/completion.h"

#include <vector>

namespace cadre::cli {
namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
}

/// Groups of options are nameless commands to the library.
void add_options(const CLI::App& command, std::string& words) {
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words += " --" + name;
    for (const std::string& name : option->get_snames()) words += " -" + name;
  }
  for (const CLI::App* group : command.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); })) {
    add_options(*group, words);
  }
}

void add_cases(const CLI::App& command, const std::string& path, std::string& cases) {
  std::string words;
  for (const CLI::App* verb : verbs_of(command)) words += " " + verb->get_name();
  add_options(command, words);
  cases += "    \"" + path + "\") words=\"" + words.substr(1) + "\" ;;\n";
  for (const CLI::App* verb : verbs_of(command)) {
    add_cases(*verb, path.empty() ? verb->get_name() : path + " " + verb->get_name(), cases);
  }
}

/// The paths of all commands that have verbs: only after these is a word a verb.
void add_parents(const CLI::App& command, const std::string& path, std::string& patterns) {
  if (verbs_of(command).empty()) return;
  for (const CLI::App* verb : verbs_of(command)) {
    const std::string next = path.empty() ? verb->get_name() : path + " " + verb->get_name();
    patterns += (patterns.empty() ? "\"" : "|\"") + next + "\"";
    add_parents(*verb, next, patterns);
  }
}

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string cases;
  add_cases(app, "", cases);
  std::string known;
  add_parents(app, "", known);
  return "# bash completion of " + name + "; load it with: source <(" + name + " completion bash)\n_" + name +
         "() {\n"
         "  local path=\"\" word words i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    word=\"${COMP_WORDS[i]}\"\n"
         "    [ \"$word\" = -- ] && return\n"
         "    case \"${path:+$path }$word\" in\n"
         "    " +
         known +
         ") path=\"${path:+$path }$word\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$path\" in\n" +
         cases +
         "  esac\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
         "}\n"
         "complete -o default -F _" +
         name + " " + name + "\n";
}

}  // namespace cadre::cli
