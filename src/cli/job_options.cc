#include "cli/job_options.h"

#include <array>
#include <string_view>

#include "cli/files.h"
#include "describe/describe.h"
#include "describe/outline.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using cluster::JobSpec;
using describe::Value;

enum class Form : std::uint8_t { text, number, flag, list, pairs, mounts };

struct JobOption {
  std::string_view name;
  std::string_view path;  ///< in a JobSpec, its lists left out
  Form form;
  std::string_view type;
  std::string_view help = "";  ///< where the description of the field says too little
};

constexpr std::string_view members = "members.";

constexpr std::array job_options = {
    JobOption{"--name", "name", Form::text, "NAME", "Name of the job; default: the command."},
    JobOption{"--workspace", "workspace", Form::text, "NAME"},
    JobOption{"--pool", "pool", Form::text, "POOL"},
    JobOption{"--priority", "priority", Form::number, "NUMBER"},
    JobOption{"--max-time", "max_time", Form::text, "DURATION"},
    JobOption{"--slots", "members.slots", Form::number, "NUMBER",
              "Slots for each task; without --count, they may be divided among agents, with one task on each."},
    JobOption{"--slot-kind", "members.slot_kind", Form::text, "KIND",
              "Kind of slots: cuda, cpu or artificial; default: any."},
    JobOption{"--cpus", "members.cpus", Form::number, "NUMBER",
              "CPUs reserved for each task, and its limit; fractions are allowed."},
    JobOption{"--memory", "members.memory", Form::text, "SIZE",
              "Memory reserved for each task, and its limit, for example 8GiB."},
    JobOption{"--count", "members.count", Form::number, "NUMBER",
              "Number of tasks; default: one, or one on each agent among which the slots are divided."},
    JobOption{"--env", "members.command.variables", Form::pairs, "NAME=VALUE", "Environment variable."},
    JobOption{"--workdir", "members.command.folder", Form::text, "FOLDER"},
    JobOption{"--mount", "members.command.mounts", Form::mounts, "SOURCE:TARGET[:rw]",
              "Folder of the host to mount in the task, read-only without :rw; the agent must allow it."},
    JobOption{"--python", "members.command.python", Form::text, "PATH"},
    JobOption{"--setup", "members.command.setup", Form::list, "COMMAND",
              "Shell command that prepares the code; an agent runs it once for the same code and setup commands."},
    JobOption{"--preemptible", "preemptible", Form::flag, "", "Allow the job to be preempted and run again later."},
    JobOption{"--group", "group", Form::text, "NAME"},
    JobOption{"--selector", "selector", Form::pairs, "LABEL=VALUE", "Label that an agent must have."},
    JobOption{"--exclude", "exclude", Form::list, "AGENT", "Agent on which the job must not run."},
    JobOption{"--single-agent", "single_agent", Form::flag, "", "Place all slots of the job on one agent."},
    JobOption{"--uneven", "uneven", Form::flag, "", "Allow the slots to be divided unevenly among agents."},
    JobOption{"--grace", "members.policy.grace", Form::text, "DURATION"},
    JobOption{"--preemption-grace", "members.policy.preemption_grace", Form::text, "DURATION"},
    JobOption{"--liveness", "members.policy.liveness", Form::text, "DURATION"},
    JobOption{"--fence", "members.policy.fence", Form::text, "keep|strict"},
    JobOption{"--isolation", "members.policy.isolation", Form::text, "on|off"},
    JobOption{"--run-as-root", "members.policy.run_as_root", Form::flag, ""},
    JobOption{"--processes", "members.limits.processes", Form::number, "NUMBER"},
    JobOption{"--spool-size", "members.limits.spool", Form::text, "SIZE"},
    JobOption{"--spool-full", "members.limits.spool_full", Form::text, "block|drop_oldest"},
};

bool is_repeatable(Form form) { return form == Form::list || form == Form::pairs || form == Form::mounts; }

std::string_view first_name(std::string_view path) { return path.substr(0, path.find('.')); }

/// What the description says of the field at a path.
const describe::FieldShape& field_at(const describe::Shape& shape, std::string_view path) {
  using Kind = describe::Shape::Kind;
  const describe::Shape* record = &shape;
  while (record->kind == Kind::list || record->kind == Kind::optional) record = &record->parts.front();
  const std::string_view name = first_name(path);
  const auto field = std::find_if(record->fields.begin(), record->fields.end(),
                                  [&](const describe::FieldShape& one) { return one.key == name; });
  CHECK(field != record->fields.end());
  return name.size() == path.size() ? *field : field_at(field->shape, path.substr(name.size() + 1));
}

/// The default as it would be typed; empty when there is none worth showing.
std::string default_of(const describe::FieldShape& field) {
  if (const auto* text = field.initial.as<std::string>()) return *text;
  const auto* number = field.initial.as<std::int64_t>();
  return number == nullptr || *number == 0 ? "" : std::to_string(*number);
}

std::string help_of(const JobOption& option, const describe::FieldShape& field) {
  const std::string help(option.help.empty() ? std::string_view(field.doc) : option.help);
  return is_repeatable(option.form) ? help + " Can be given several times." : help;
}

/// Gives the place at a path its value.
void put(Value& tree, std::string_view path, Value value) {
  const std::string key(first_name(path));
  if (key.size() == path.size()) {
    tree.set(key, std::move(value));
    return;
  }
  if (tree.find(key) == nullptr) tree.set(key, Value(Value::Map{}));
  for (describe::Entry& entry : *tree.as<Value::Map>()) {
    if (entry.key == key) return put(entry.value, path.substr(key.size() + 1), std::move(value));
  }
}

/// A number as YAML writes it; anything else stays text, which the reader rejects.
Value number(const std::string& text) {
  auto parsed = describe::parse_yaml(text);
  const bool is_number = parsed && (parsed->as<std::int64_t>() != nullptr || parsed->as<std::uint64_t>() != nullptr ||
                                    parsed->as<double>() != nullptr);
  return is_number ? *std::move(parsed) : Value(text);
}

Result<Value> pairs(const std::vector<std::string>& texts, std::string_view form) {
  Value map(Value::Map{});
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    if (sign == 0 || sign == std::string::npos) {
      return fail(Errc::invalid, "'" + text + "' is not of the form " + std::string(form));
    }
    map.set(text.substr(0, sign), Value(text.substr(sign + 1)));
  }
  return map;
}

Result<Value> mounts(const std::vector<std::string>& texts, std::string_view form) {
  Value::List list;
  for (const std::string& text : texts) {
    const std::size_t first = text.find(':');
    const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
    const std::string mode = second == std::string::npos ? "" : text.substr(second + 1);
    if (first == std::string::npos || (second != std::string::npos && mode != "ro" && mode != "rw")) {
      return fail(Errc::invalid, "'" + text + "' is not of the form " + std::string(form));
    }
    Value mount;
    mount.set("source", Value(text.substr(0, first)));
    mount.set("target", Value(text.substr(first + 1, second == std::string::npos ? second : second - first - 1)));
    mount.set("writable", Value(mode == "rw"));
    list.push_back(std::move(mount));
  }
  return Value(std::move(list));
}

Result<Value> value_of(const JobOption& option, const std::vector<std::string>& texts) {
  switch (option.form) {
    case Form::text: return Value(texts.back());
    case Form::number: return number(texts.back());
    case Form::flag: return Value(true);
    case Form::pairs: return pairs(texts, option.type);
    case Form::mounts: return mounts(texts, option.type);
    case Form::list: {
      Value::List list;
      for (const std::string& text : texts) list.emplace_back(text);
      return Value(std::move(list));
    }
  }
  return Value();
}

bool is_given(const JobOption& option, const JobOptions& options) {
  const std::string name(option.name);
  if (option.form == Form::flag) return options.flags.at(name);
  return !options.given.at(name).empty();
}

const std::vector<std::string>& texts_of(const JobOption& option, const JobOptions& options) {
  static const std::vector<std::string> none;
  return option.form == Form::flag ? none : options.given.at(std::string(option.name));
}

/// The place of a fault as the user knows it: `--cpus` for members[0].cpus.
std::string place(std::string path) {
  constexpr std::string_view first_member = "members[0]";
  if (path.starts_with(first_member)) path = "members" + path.substr(first_member.size());
  if (path == "members.command.argv" || path.starts_with("members.command.argv[")) return "the command after --";
  for (const JobOption& option : job_options) {
    if (!path.starts_with(option.path)) continue;
    const std::string rest = path.substr(option.path.size());
    if (rest.empty()) return std::string(option.name);
    if (rest[0] == '.' || rest[0] == '[') return std::string(option.name) + " " + rest.substr(rest[0] == '.' ? 1 : 0);
  }
  return path;
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
  for (const JobOption& option : job_options) {
    if (!is_given(option, options)) continue;
    Result<Value> value = value_of(option, texts_of(option, options));
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
  for (const JobOption& option : job_options) {
    if (!is_given(option, options)) continue;
    if (option.path.starts_with(members)) {
      faults += std::string(option.name) + ": applies to a member of the job; set it in " + name + "\n";
      continue;
    }
    Result<Value> value = value_of(option, texts_of(option, options));
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
  const describe::Shape shape = describe::outline<JobSpec>();
  for (const JobOption& option : job_options) {
    const describe::FieldShape& field = field_at(shape, option.path);
    const std::string name(option.name);
    if (option.form == Form::flag) {
      command.add_flag(name, options.flags[name], help_of(option, field));
      continue;
    }
    CLI::Option& added = *command.add_option(name, options.given[name], help_of(option, field));
    added.type_name(std::string(option.type));
    added.allow_extra_args(false);
    if (!is_repeatable(option.form)) added.expected(1)->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    if (const std::string initial = default_of(field); !initial.empty()) added.default_str(initial);
  }
  command.add_option("--dir", options.code, "Pack this folder, except what its .cadreignore lists, and run in it.")
      ->type_name("FOLDER");
  command.add_option("--file", options.file, "Job file (docs/cli.md); - reads standard input.")->type_name("FILE");
  command.add_option("command", options.command, "Command to run, after --")->type_name("COMMAND");
}

tl::expected<JobSpec, std::string> make_job(const JobOptions& options) {
  return options.file.empty() ? from_options(options) : from_file(options);
}

}  // namespace cadre::cli
