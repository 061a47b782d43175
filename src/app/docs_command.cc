#include "app/docs_command.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "agent/config.h"
#include "app/man_page.h"
#include "app/parts.h"
#include "cli/command_tree.h"
#include "cli/exit_code.h"
#include "experiment/config.h"
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

describe::Shape& shape_of(describe::Shape& file, std::string_view key) {
  return std::find_if(file.fields.begin(), file.fields.end(), [&](const auto& field) { return field.key == key; })
      ->shape;
}

/// To the description of the file, hyperparameters are any value: the page shows what each of them can be.
describe::Shape experiment_file() {
  describe::Shape shape = describe::outline<experiment::Config>();
  describe::Shape& hyperparameters = shape_of(shape, "hyperparameters");
  hyperparameters.kind = describe::Shape::Kind::map;
  hyperparameters.parts = {describe::outline<search::Domain>()};
  return shape;
}

/// The same for its schema: a value, a domain with a type, or a map of them, which has no type.
std::string experiment_schema() {
  using describe::Value;
  const std::string here = "#/properties/hyperparameters";
  const auto text = [](std::string_view words) { return Value(words); };
  Value plain = Value().set(
      "type", Value(Value::List{text("null"), text("boolean"), text("number"), text("string"), text("array")}));
  Value domain = describe::schema_of(describe::outline<search::Domain>(), here + "/additionalProperties/anyOf/1");
  Value nested = Value().set("$ref", Value(here)).set("not", Value().set("required", Value(Value::List{text("type")})));
  describe::Shape shape = describe::outline<experiment::Config>();
  shape_of(shape, "hyperparameters").schema =
      Value()
          .set("type", text("object"))
          .set("additionalProperties", Value().set("anyOf", Value(Value::List{plain, domain, nested})));
  describe::Shape& policies = shape_of(shape, "log_policies");
  Value by_pattern =
      Value()
          .set("type", text("object"))
          .set("additionalProperties", describe::schema_of(describe::outline<experiment::LogAction>(), ""));
  Value listed = describe::schema_of(policies, "#/properties/log_policies/anyOf/0");
  policies.kind = describe::Shape::Kind::scalar;
  policies.parts.clear();
  policies.schema = Value().set("anyOf", Value(Value::List{listed, by_pattern}));
  return describe::schema_document(shape, "cadre experiment file");
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
          root / "docs/reference/experiment-file.md",
          describe::page_of(
              experiment_file(),
              {"Experiment file",
               "What `cadre experiment` reads, in YAML; [search.md](../search.md) explains hyperparameters and search "
               "methods. A hyperparameter is a value, a domain with a `type` (`hyperparameters.*` below), or a map of "
               "hyperparameters. This page is generated. A JSON Schema of it is `schema/experiment.schema.json`."})) &&
      write(root / "schema/experiment.schema.json", experiment_schema()) &&
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
