#include "cli/completion.h"

#include "cli/command_tree.h"

namespace cadre::cli {
namespace {

void add_cases(const CLI::App& command, const std::string& path, std::string& cases) {
  std::string words;
  for (const CLI::App* verb : verbs_of(command)) words += " " + verb->get_name();
  for (const CLI::Option* option : options_of(command)) {
    for (const std::string& name : option->get_lnames()) words += " --" + name;
    for (const std::string& name : option->get_snames()) words += " -" + name;
  }
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

namespace {

/// `name:what it is for` in single quotes.
std::string zsh_entry(const std::string& name, const std::string& help) {
  std::string entry = "'" + name + ":";
  for (const char c : help.substr(0, help.find('\n'))) {
    if (c == '\'') {
      entry += "'\\''";
    } else {
      entry += c;
    }
  }
  return entry + "'";
}

void add_zsh_cases(const CLI::App& command, const std::string& path, std::string& cases) {
  std::string verbs;
  for (const CLI::App* verb : verbs_of(command)) verbs += " " + zsh_entry(verb->get_name(), verb->get_description());
  std::string options;
  for (const CLI::Option* option : options_of(command)) {
    const std::string& help = option->get_description();
    for (const std::string& name : option->get_lnames()) options += " " + zsh_entry("--" + name, help);
    for (const std::string& name : option->get_snames()) options += " " + zsh_entry("-" + name, help);
  }
  cases += "    '" + path + "')\n      verbs=(" + verbs + ")\n      options=(" + options + ") ;;\n";
  for (const CLI::App* verb : verbs_of(command)) {
    add_zsh_cases(*verb, path.empty() ? verb->get_name() : path + " " + verb->get_name(), cases);
  }
}

}  // namespace

std::string zsh_completion(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string cases;
  add_zsh_cases(app, "", cases);
  std::string known;
  add_parents(app, "", known);
  return "#compdef " + name + "\n# zsh completion of " + name + "; load it with: source <(" + name +
         " completion zsh)\n_" + name +
         "() {\n"
         "  local chosen=\"\" word i\n"
         "  local -a verbs options\n"
         "  for ((i = 2; i < CURRENT; i++)); do\n"
         "    word=\"${words[i]}\"\n"
         "    if [[ \"$word\" == -- ]]; then\n"
         "      _files\n"
         "      return\n"
         "    fi\n"
         "    case \"${chosen:+$chosen }$word\" in\n"
         "    " +
         known +
         ") chosen=\"${chosen:+$chosen }$word\" ;;\n"
         "    esac\n"
         "  done\n"
         "  case \"$chosen\" in\n" +
         cases +
         "  esac\n"
         "  if [[ \"${words[CURRENT]}\" == -* ]]; then\n"
         "    _describe option options\n"
         "  elif (( ${#verbs} )); then\n"
         "    _describe command verbs\n"
         "  else\n"
         "    _files\n"
         "  fi\n"
         "}\n"
         "if [[ \"${funcstack[1]}\" == _" +
         name + " ]]; then _" + name + " \"$@\"; else compdef _" + name + " " + name + "; fi\n";
}

}  // namespace cadre::cli
