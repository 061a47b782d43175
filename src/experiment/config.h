/// The experiment file: what is trained, with which hyperparameters, how they are searched, and on what. Values; safe
/// on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "api/principal.h"
#include "cluster/job.h"
#include "cluster/variables.h"
#include "describe/describe.h"
#include "search/config.h"

namespace cadre::experiment {

struct Environment {
  static constexpr std::string_view doc = "What the tasks of a trial run in.";
  std::map<std::string, std::string> variables;
  std::string python;
  std::vector<std::string> setup;
  std::string folder;
  cluster::Isolation isolation = cluster::Isolation::on;
};
template <class V>
void describe(V& v, Environment& c) {
  v.field("variables", c.variables, "Environment variables in addition to those set by cadre.");
  v.field("python", c.python, "Interpreter or virtual environment on the agent, put first on the PATH.");
  v.field("setup", c.setup, "Setup commands, run in a shell once on each agent for the same code and commands.");
  v.field("folder", c.folder, "Working folder; empty: the task's own folder, which contains the code.");
  v.field("isolation", c.isolation,
          "Whether tasks are isolated from the host and from other tasks; `off` requires an agent that allows it.");
  v.check(cluster::has_plain_names(c.variables), "variables", cluster::plain_names_rule);
}

struct HostMount {
  static constexpr std::string_view doc = "A host folder that the tasks of a trial can access.";
  std::string host_path;
  std::string path;
  bool read_only = true;
};
template <class V>
void describe(V& v, HostMount& c) {
  v.required("host_path", c.host_path, "Path on the host.", not_empty());
  v.required("path", c.path, "Path in the task.", not_empty());
  v.field("read_only", c.read_only, "Whether tasks may only read it; agents must allow writing as well.");
}

struct TrialResources {
  static constexpr std::string_view doc = "What each trial needs, and how the trials share the cluster.";
  std::int32_t slots_per_trial = 1;
  std::optional<plan::SlotKind> slot_kind;
  plan::Cpus cpus;
  ByteSize memory;
  std::string pool = "default";
  std::int32_t priority = 42;
  std::optional<double> weight;
  std::optional<std::int64_t> max_slots;
  bool single_agent = false;
  bool uneven = false;
};
template <class V>
void describe(V& v, TrialResources& c) {
  v.field("slots_per_trial", c.slots_per_trial, "Slots of each trial.", range(0, plan::most_slots));
  v.field("slot_kind", c.slot_kind, "Kind of slot. Default: any.");
  v.field("cpus", c.cpus, "CPU cores of each task.", range(0, plan::most_cpus));
  v.field("memory", c.memory, "Memory of each task.", range(ByteSize{0}, plan::most_memory));
  v.field("pool", c.pool, "Pool in which the trials run.", length(1, 128));
  v.field("priority", c.priority, "Priority of the trials, 1 to 99; smaller is more important.", range(1, 99));
  v.field("weight", c.weight, "Weight of the experiment under the fair share policy. Default: 1.",
          range(0.001, 1'000'000.0));
  v.field("max_slots", c.max_slots, "Most slots that the trials hold together. Default: no limit.",
          range(1, 1'000'000'000));
  v.field("single_agent", c.single_agent, "Whether all slots of a trial must be on one agent.");
  v.field("uneven", c.uneven, "Whether the slots of a trial may be divided unevenly over agents.");
  v.check(!c.single_agent || !c.uneven, "uneven", "cannot be combined with single_agent; remove one of them");
  v.check(!c.max_slots || *c.max_slots >= c.slots_per_trial, "max_slots",
          "is less than slots_per_trial, so that no trial could run; raise it");
}

/// What is kept of checkpoints when an experiment ends, or when this is changed.
struct Retention {
  static constexpr std::string_view doc = "Which checkpoints are kept, and where.";
  std::string store = "default";
  std::int64_t save_experiment_best = 0;
  std::int64_t save_trial_best = 1;
  std::int64_t save_trial_latest = 1;
  bool operator==(const Retention&) const = default;
};
template <class V>
void describe(V& v, Retention& c) {
  v.field("store", c.store, "Name of the store, as the master file has it.", length(1, 64));
  v.field("save_experiment_best", c.save_experiment_best, "Best checkpoints of the experiment that are kept.",
          range(0, 1'000'000));
  v.field("save_trial_best", c.save_trial_best, "Best checkpoints of each trial that are kept.", range(0, 1'000'000));
  v.field("save_trial_latest", c.save_trial_latest, "Latest checkpoints of each trial that are kept.",
          range(0, 1'000'000));
}

enum class LogAction : std::uint8_t { cancel_retries, exclude_agent };
constexpr auto enum_names(LogAction) {
  return std::array{std::pair{LogAction::cancel_retries, "cancel_retries"},
                    std::pair{LogAction::exclude_agent, "exclude_agent"}};
}

struct LogPolicy {
  static constexpr std::string_view doc = "What follows when the output of a failed trial contains a line.";
  std::string pattern;
  LogAction action = LogAction::cancel_retries;
};
template <class V>
void describe(V& v, LogPolicy& c) {
  v.required("pattern", c.pattern, "Regular expression that part of a line matches.", length(1, 1'000));
  v.required("action", c.action,
             "`cancel_retries`: the trial is not restarted; `exclude_agent`: it is restarted on other agents.");
}

struct Config {
  static constexpr std::string_view type_name = "experiment_file";
  static constexpr std::string_view doc = "An experiment: what is trained, and how its hyperparameters are searched.";
  std::string name;
  std::string description;
  std::vector<std::string> labels;
  std::string workspace = api::default_workspace;
  std::string project;
  describe::Value entrypoint;
  Environment environment;
  std::vector<HostMount> mounts;
  describe::Value hyperparameters{describe::Value::Map{}};
  search::Searcher searcher;
  std::optional<std::int64_t> length;
  std::string time_metric = "steps";
  TrialResources resources;
  std::int32_t max_restarts = 5;
  Retention checkpoints;
  std::optional<std::int64_t> validate_every;
  std::optional<std::int64_t> checkpoint_every;
  std::optional<std::uint32_t> seed;
  Duration preemption_grace = std::chrono::hours(1);
  std::vector<LogPolicy> log_policies;
  describe::Value data{describe::Value::Map{}};
};
template <class V>
void describe(V& v, Config& c) {
  v.required("name", c.name, "Name, for display.", length(1, 256));
  v.field("description", c.description, "What the experiment is for.", length(0, 10'000));
  v.field("labels", c.labels, "Labels, to find it again.", length(0, 100));
  v.field("workspace", c.workspace, "Workspace of the experiment; its members can see it.", length(1, 64));
  v.field("project", c.project, "Project in the workspace, for display.", length(0, 128));
  v.required("entrypoint", c.entrypoint, "Command of each task of a trial: text for a shell, or a list of arguments.");
  v.field("environment", c.environment, "What the tasks run in.");
  v.field("mounts", c.mounts, "Host folders that the tasks can access.", length(0, 100));
  v.field("hyperparameters", c.hyperparameters,
          "Hyperparameters: values, domains with a `type` (const, int, double, log, categorical), and maps of them.");
  v.required("searcher", c.searcher, "Search method.");
  v.field("length", c.length, "Length of a trial in steps, for searchers that do not set one.",
          range(1, search::longest_time));
  v.field("time_metric", c.time_metric, "Metric in which lengths are measured; `steps`: the steps of the reports.",
          length(1, 128));
  v.field("resources", c.resources, "What each trial needs.");
  v.field("max_restarts", c.max_restarts, "Restarts of a trial after failures.", range(0, 1'000'000));
  v.field("checkpoints", c.checkpoints, "Which checkpoints are kept, and where.");
  v.field("validate_every", c.validate_every, "Steps between validations, for programs that ask.",
          range(1, search::longest_time));
  v.field("checkpoint_every", c.checkpoint_every, "Steps between checkpoints, for programs that ask.",
          range(1, search::longest_time));
  v.field("seed", c.seed, "Seed of the search. Default: chosen when the experiment is created.",
          range(0, std::int64_t{4'294'967'295}));
  v.field("preemption_grace", c.preemption_grace, "Time to save a checkpoint when a trial is preempted or paused.",
          range(Duration(0), std::chrono::hours(24 * 7)));
  v.field("log_policies", c.log_policies,
          "What follows from lines in the output of failed trials; also as a map of patterns to actions.",
          length(0, 100));
  v.field("data", c.data, "A map of data for the program.");
}

/// A configuration that was checked as a whole, with what was read from it.
struct Checked {
  Config config;
  search::Space space;
};

/// Checks an experiment file, or the same as JSON, and finds all its faults at once, in the order of the file: also
/// those of hyperparameters, of points in `start_with`, and of settings that contradict each other.
[[nodiscard]] tl::expected<Checked, describe::Faults> read_config(const describe::Value& tree);
/// As read_config(), of a file that was accepted before, by rules that were less strict in some places.
[[nodiscard]] tl::expected<Checked, describe::Faults> read_accepted_config(const describe::Value& tree);
/// The same as read_config() from its text.
[[nodiscard]] tl::expected<Checked, describe::Faults> read_config_file(std::string_view text);

/// The arguments of the command that the entrypoint stands for; it is one that read_config() accepts.
[[nodiscard]] std::vector<std::string> argv_of(const describe::Value& entrypoint);

}  // namespace cadre::experiment
