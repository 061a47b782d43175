#include "cli/commands/submission.h"
#include "cli/files.h"
#include "describe/describe.h"
#include "remote/group_file.h"

namespace cadre::cli {
namespace {

struct GroupOptions {
  ClientOptions client;
  std::string file;
  std::string code;
  bool detach = false;
};

/// Reads the file before it connects to a master.
int run(const CLI::App& command, const GroupOptions& options) {
  const Result<std::string> text = read_file(options.file);
  if (!text) return refuse(command, text.error().message + "\n");
  const auto file = remote::read_group_file(*text);
  if (!file) {
    return refuse(command, describe::to_text(file.error(), options.file == "-" ? "standard input" : options.file));
  }
  const auto name_of = [names = remote::names_of(*file)](cluster::TaskId task, std::size_t) {
    return names.at(task.member);
  };
  return submit(command, {options.client, remote::to_job(*file), options.code, !options.detach, name_of});
}

}  // namespace

void add_group_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& group =
      add_verb(app, {"group", "Run components that find each other by name", "  cadre group run group.yaml\n"});
  group.require_subcommand(1);

  const auto options = std::make_shared<GroupOptions>();
  CLI::App& command = add_verb(
      group,
      {"run", "Run the components of a file as one job and print their output",
       "  cadre group run group.yaml\n"
       "  cadre group run --dir . --detach group.yaml\n"
       "Either all components start or none. A component that fails is restarted by the rule of its type, also\n"
       "with --detach. With exit code 64 a component is not restarted; 65 ends the whole group. Ctrl-C stops\n"
       "the group; a second Ctrl-C kills it. Exits like cadre run: with 0 if all components succeed, otherwise\n"
       "with the exit code of the component that ended the group, or of the first that failed.\n"},
      options->client);
  command.add_option("file", options->file, "Group file (docs/components.md); - reads standard input")
      ->required()
      ->type_name("FILE");
  command.add_flag("--detach", options->detach, "Print the job ID and do not wait");
  command.add_option("--dir", options->code, "Pack this folder, except what its .cadreignore lists, and run in it")
      ->type_name("FOLDER");
  command.callback([&command, &chosen, options] { chosen = [&command, options] { return run(command, *options); }; });
}

}  // namespace cadre::cli
