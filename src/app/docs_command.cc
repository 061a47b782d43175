#include "app/docs_command.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "agent/config.h"
#include "app/man_page.h"
#include "app/parts.h"
#include "cli/command_tree.h"
#include "cli/exit_code.h"
#include "gateway/openapi.h"
#include "master/config.h"
#include "plan/plan_file.h"
#include "remote/group_file.h"
#include "simulate/report.h"

namespace cadre::app {
namespace {

/// A command and those below it.
void add_to_reference(const CLI::App& command, const std::string& parents, std::string& text) {
  const std::string name = parents + " " + command.get_name();
  text += "\n## " + name + "\n\n```\n" + command.help(parents) + "```\n";
  for (const CLI::App* below : cli::verbs_of(command)) add_to_reference(*below, name, text);
}

std::string command_page(const CLI::App& app) {
  std::string text = "# Command line\n\nThe output of `cadre --help` for every command. This page is generated.\n\n";
  text += "Exit codes: 0 success, 1 failure, 2 invalid usage or file, 3 refused, 4 unreachable.\n";
  for (const CLI::App* command : cli::verbs_of(app)) add_to_reference(*command, "cadre", text);
  return text;
}

bool write(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) std::fprintf(stderr, "cadre docs: cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

/// The keys of the master, then the sections of its parts.
describe::Shape master_file() {
  describe::Shape shape = describe::outline<master::Config>();
  const api::Sections sections = take_sections({});
  shape.fields.insert(shape.fields.end(), sections.taken().begin(), sections.taken().end());
  return shape;
}

int run(const CLI::App& app, const std::filesystem::path& root) {
  using plan::PlanAnswer;
  using plan::PlanFile;
  const std::string intro =
      "The file that `cadre plan` reads: YAML, or JSON, which is YAML. This page is generated. "
      "A JSON Schema of it is `schema/plan-file.schema.json`.";
  const bool written =
      write(root / "docs/reference/command-line.md", command_page(app)) &&
      write(root / "docs/reference/plan-file.md", describe::reference_page<PlanFile>("Plan file", intro)) &&
      write(root / "docs/reference/plan-answer.md",
            describe::reference_page<PlanAnswer>("Plan answer",
                                                 "What `cadre plan --json` prints. This page is generated.")) &&
      write(root / "docs/reference/job-file.md",
            describe::reference_page<cluster::JobSpec>(
                "Job file", "What `cadre run --file` reads: a job in YAML. This page is generated.")) &&
      write(root / "docs/reference/group-file.md",
            describe::reference_page<remote::GroupFile>(
                "Group file",
                "What `cadre group run` reads: components that run as one job, in YAML. This page is "
                "generated. A JSON Schema of it is `schema/group-file.schema.json`.")) &&
      write(
          root / "docs/reference/master-file.md",
          describe::page_of(master_file(),
                            {"Master file", "What `cadre master --config` reads, in YAML. This page is generated."})) &&
      write(root / "docs/reference/agent-file.md",
            describe::reference_page<agent::Config>(
                "Agent file",
                "What `cadre agent --config` reads, in YAML. An option of the command line replaces the whole value of "
                "its key, also of a list or a map. This page is generated. A JSON Schema of it is "
                "`schema/agent-file.schema.json`.")) &&
      write(root / "docs/reference/simulation-outcome.md",
            describe::reference_page<simulate::Outcome>(
                "Simulation outcome", "What `cadre simulate --json` prints. This page is generated.")) &&
      write(root / "docs/reference/cadre.1", man_page(app, version())) &&
      write(root / "schema/openapi.json", gateway::openapi_document(version(), interfaces_of(parts_of({})))) &&
      write(root / "schema/agent-file.schema.json", describe::json_schema<agent::Config>("cadre agent file")) &&
      write(root / "schema/group-file.schema.json", describe::json_schema<remote::GroupFile>("cadre group file")) &&
      write(root / "schema/plan-file.schema.json", describe::json_schema<PlanFile>("cadre plan file"));
  return written ? cli::done : cli::failed;
}

}  // namespace

void add_docs_command(CLI::App& app, std::function<int()>& chosen) {
  CLI::App& command = *app.add_subcommand("docs", "Write the generated reference pages and schemas");
  const auto root = std::make_shared<std::string>();
  command.add_option("folder", *root, "Folder in which docs/reference/ and schema/ are written")->required();
  command.callback([root, &app, &chosen] { chosen = [root, &app] { return run(app, *root); }; });
}

}  // namespace cadre::app
