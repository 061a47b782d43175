#include "app/man_page.h"

#include <string_view>
#include <vector>

#include "cli/command_tree.h"

namespace cadre::app {
namespace {

/// As text: dashes are minus signs, and no line is taken for a command.
std::string plain(std::string_view text) {
  std::string all;
  for (const char c : text) {
    const bool begins = all.empty() || all.back() == '\n';
    if (begins && (c == '.' || c == '\'')) all += "\\&";
    if (c == '\\') {
      all += "\\e";
    } else if (c == '-') {
      all += "\\-";
    } else {
      all += c;
    }
  }
  return all;
}

void add_options(const CLI::App& command, std::string& page) {
  for (const CLI::Option* option : cli::options_of(command)) {
    if (option->get_lnames() == std::vector<std::string>{"help"}) continue;
    std::string names;
    for (const std::string& name : option->get_snames()) names += (names.empty() ? "-" : ", -") + name;
    for (const std::string& name : option->get_lnames()) names += (names.empty() ? "--" : ", --") + name;
    if (names.empty()) names = option->get_name(true);
    const std::string type = option->get_expected_max() == 0 ? "" : option->get_type_name();
    page += ".TP\n.B " + plain(names) + "\n";
    page += plain((type.empty() ? "" : type + ": ") + option->get_description()) + "\n";
  }
}

void add_to_page(const CLI::App& command, const std::string& parents, std::string& page) {
  const std::string name = parents + " " + command.get_name();
  page += ".SS " + plain(name) + "\n" + plain(command.get_description()) + ".\n";
  add_options(command, page);
  if (!command.get_footer().empty()) page += ".PP\n.nf\n" + plain(command.get_footer()) + "\n.fi\n";
  for (const CLI::App* verb : cli::verbs_of(command)) add_to_page(*verb, name, page);
}

}  // namespace

std::string man_page(const CLI::App& app, std::string_view version) {
  std::string page = ".TH CADRE 1 \"\" \"cadre " + plain(std::string(version)) + "\" \"User Commands\"\n";
  page += ".ad l\n.SH NAME\ncadre \\- a cluster system for machine learning\n";
  page += ".SH SYNOPSIS\n.B cadre\n.I command\n[\n.I options\n]\n";
  page += ".SH EXIT STATUS\n0 success, 1 failure, 2 invalid usage, 3 refused, 4 unreachable;\n";
  page += ".B cadre run\nexits with the exit code of the task.\n";
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : cli::verbs_of(app)) add_to_page(*command, app.get_name(), page);
  return page;
}

}  // namespace cadre::app
