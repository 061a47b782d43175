#include "cli/job_options.h"

#include <array>
#include <string_view>

#include "cli/files.h"
#include "describe/describe.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using cluster::JobSpec;
using describe::Value;

using Form = DescribedOption::Form;

constexpr std::string_view members = "members.";

constexpr std::array job_options = {
    DescribedOption{"--name", "name", Form::text, "NAME", "Name of the job; default: the command."},
    DescribedOption{"--workspace", "workspace", Form::text, "NAME"},
    DescribedOption{"--pool", "pool", Form::text, "POOL"},
    DescribedOption{"--priority", "priority", Form::number, "NUMBER"},
    DescribedOption{"--max-time", "max_time", Form::text, "DURATION"},
    DescribedOption{"--slots", "members.slots", Form::number, "NUMBER",
                    "Slots for each task; without --count, they may be divided among agents, with one task on each."},
    DescribedOption{"--slot-kind", "members.slot_kind", Form::text, "KIND",
                    "Kind of slots: cuda, cpu or artificial; default: any."},
    DescribedOption{"--cpus", "members.cpus", Form::number, "NUMBER",
                    "CPUs reserved for each task, and its limit; fractions are allowed."},
    DescribedOption{"--memory", "members.memory", Form::text, "SIZE",
                    "Memory reserved for each task, and its limit, for example 8GiB."},
    DescribedOption{"--count", "members.count", Form::number, "NUMBER",
                    "Number of tasks; default: one, or one on each agent among which the slots are divided."},
    DescribedOption{"--env", "members.command.variables", Form::pairs, "NAME=VALUE", "Environment variable."},
    DescribedOption{"--workdir", "members.command.folder", Form::text, "FOLDER"},
    DescribedOption{"--mount", "members.command.mounts", Form::mounts, "SOURCE:TARGET[:rw]",
                    "Folder of the host to mount in the task, read-only without :rw; the agent must allow it."},
    DescribedOption{"--python", "members.command.python", Form::text, "PATH"},
    DescribedOption{
        "--setup", "members.command.setup", Form::list, "COMMAND",
        "Shell command that prepares the code; an agent runs it once for the same code and setup commands."},
    DescribedOption{"--preemptible", "preemptible", Form::flag, "",
                    "Allow the job to be preempted and run again later."},
    DescribedOption{"--group", "group", Form::text, "NAME"},
    DescribedOption{"--selector", "selector", Form::pairs, "LABEL=VALUE", "Label that an agent must have."},
    DescribedOption{"--exclude", "exclude", Form::list, "AGENT", "Agent on which the job must not run."},
    DescribedOption{"--single-agent", "single_agent", Form::flag, "", "Place all slots of the job on one agent."},
    DescribedOption{"--uneven", "uneven", Form::flag, "", "Allow the slots to be divided unevenly among agents."},
    DescribedOption{"--grace", "members.policy.grace", Form::text, "DURATION"},
    DescribedOption{"--preemption-grace", "members.policy.preemption_grace", Form::text, "DURATION"},
    DescribedOption{"--liveness", "members.policy.liveness", Form::text, "DURATION"},
    DescribedOption{"--fence", "members.policy.fence", Form::text, "keep|strict"},
    DescribedOption{"--isolation", "members.policy.isolation", Form::text, "on|off"},
    DescribedOption{"--run-as-root", "members.policy.run_as_root", Form::flag, ""},
    DescribedOption{"--processes", "members.limits.processes", Form::number, "NUMBER"},
    DescribedOption{"--spool-size", "members.limits.spool", Form::text, "SIZE"},
    DescribedOption{"--spool-full", "members.limits.spool_full", Form::text, "block|drop_oldest"},
};

/// The place of a fault as the user knows it: `--cpus` for members[0].cpus.
std::string place(std::string path) {
  constexpr std::string_view first_member = "members[0]";
  if (path.starts_with(first_member)) path = "members" + path.substr(first_member.size());
  if (path == "members.command.argv" || path.starts_with("members.command.argv[")) return "the command after --";
  return place_of(job_options, path);
}

/// Empty when the words are not UTF-8.
std::string name_of(const std::vector<std::string>& command) {
  constexpr std::size_t name_bytes_max = 40;
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + word;
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return describe::is_utf8(line) ? describe::shortened(line, name_bytes_max) : "";
}

tl::expected<JobSpec, std::string> from_options(const JobOptions& options) {
  if (options.command.empty()) {
    return tl::unexpected<std::string>("there is no command to run; write it after --, as in: cadre run -- hostname\n");
  }
  Value job;
  Value member;
  std::string faults;
  for (const DescribedOption& option : job_options) {
    if (!is_given(option, options.given)) continue;
    Result<Value> value = value_of(option, options.given);
    if (!value) {
      faults += std::string(option.name) + ": " + value.error().message + "\n";
    } else if (option.path.starts_with(members)) {
      put(member, option.path.substr(members.size()), *std::move(value));
    } else {
      put(job, option.path, *std::move(value));
    }
  }
  Value::List argv;
  for (const std::string& word : options.command) argv.emplace_back(word);
  put(member, "command.argv", Value(std::move(argv)));
  job.set("members", Value(Value::List{std::move(member)}));
  auto spec = describe::read<JobSpec>(job);
  if (!spec) {
    for (const describe::Fault& fault : spec.error()) faults += place(fault.path) + ": " + fault.message + "\n";
  }
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  if (spec->name.empty()) spec->name = name_of(options.command);
  return *std::move(spec);
}

tl::expected<JobSpec, std::string> from_file(const JobOptions& options) {
  const std::string name = options.file == "-" ? "standard input" : options.file;
  std::string faults;
  if (!options.command.empty()) {
    faults += "'" + options.command.front() + "' after --: the commands of this job are in " + name +
              "; omit the command or the file\n";
  }
  const Result<std::string> text = read_file(options.file);
  if (!text) return tl::unexpected("--file: " + text.error().message + "\n");
  auto tree = describe::parse_yaml(*text);
  if (!tree) return tl::unexpected(describe::to_text(tree.error(), name));
  const bool is_map = tree->as<Value::Map>() != nullptr;
  for (const DescribedOption& option : job_options) {
    if (!is_given(option, options.given)) continue;
    if (option.path.starts_with(members)) {
      faults += std::string(option.name) + ": applies to a member of the job; set it in " + name + "\n";
      continue;
    }
    Result<Value> value = value_of(option, options.given);
    if (!value) {
      faults += std::string(option.name) + ": " + value.error().message + "\n";
    } else if (is_map) {
      put(*tree, option.path, *std::move(value));
    }
  }
  auto spec = describe::read<JobSpec>(*tree);
  if (!spec) faults += describe::to_text(spec.error(), name);
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  return *std::move(spec);
}

}  // namespace

void add_job_options(CLI::App& command, JobOptions& options) {
  add_options(command, job_options, describe::outline<JobSpec>(), options.given);
  command.add_option("--dir", options.code, "Pack this folder, except what its .cadreignore lists, and run in it.")
      ->type_name("FOLDER");
  command.add_option("--file", options.file, "Job file (docs/reference/job-file.md); - reads standard input.")
      ->type_name("FILE");
  command.add_option("command", options.command, "Command to run, after --")->type_name("COMMAND");
}

tl::expected<JobSpec, std::string> make_job(const JobOptions& options) {
  return options.file.empty() ? from_options(options) : from_file(options);
}

}  // namespace cadre::cli
