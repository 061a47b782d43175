#include <algorithm>
#include <string>

#include "experiment/control/lives.h"

namespace cadre::experiment {

cluster::JobSpec job_of(const Experiment& experiment, const Trial& trial) {
  const Config& config = experiment.checked.config;
  const std::string number = std::to_string(trial.row.id.number);
  cluster::JobSpec job;
  const std::string suffix = " trial " + number;
  job.name = experiment.row.name.substr(0, 256 - suffix.size()) + suffix;
  job.workspace = experiment.row.workspace;
  job.pool = config.resources.pool;
  job.priority = config.resources.priority;
  job.group = "experiment-" + std::to_string(experiment.row.id.value);
  job.preemptible = true;
  job.single_agent = config.resources.single_agent;
  job.uneven = config.resources.uneven;
  for (const std::string& agent : trial.row.excluded) job.exclude.emplace_back(agent);
  cluster::MemberSpec& member = job.members.emplace_back();
  member.role = "trial";
  if (config.resources.slots_per_trial <= 1) member.count = 1;
  member.slots = config.resources.slots_per_trial;
  member.slot_kind = config.resources.slot_kind;
  member.cpus = config.resources.cpus;
  member.memory = config.resources.memory;
  member.policy.preemption_grace = config.preemption_grace;
  member.policy.isolation = config.environment.isolation;
  cluster::Command& command = member.command;
  command.argv = argv_of(config.entrypoint);
  command.variables = config.environment.variables;
  command.variables.try_emplace("PYTHONUNBUFFERED", "1");  // otherwise output is seen late, and lost when it is killed
  command.variables["CADRE_EXPERIMENT"] = std::to_string(experiment.row.id.value);
  command.variables["CADRE_TRIAL"] = to_string(trial.row.id);
  command.variables["CADRE_TRIAL_SEED"] = std::to_string(trial.row.seed);
  command.folder = config.environment.folder;
  command.code = experiment.spec.code;
  command.python = config.environment.python;
  command.setup = config.environment.setup;
  for (const HostMount& mount : config.mounts) {
    command.mounts.push_back({mount.host_path, mount.path, !mount.read_only});
  }
  return job;
}

}  // namespace cadre::experiment
