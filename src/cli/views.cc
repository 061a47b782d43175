#include "cli/views.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/shell_words.h"
#include "cli/facts.h"
#include "cli/table.h"
#include "cli/words.h"
#include "describe/describe.h"

namespace cadre::cli {
namespace {

using cluster::JobStage;
using cluster::control::SlotState;
using cluster::requests::ActorView;
using cluster::requests::AgentView;
using cluster::requests::JobView;
using cluster::requests::MemberView;
using cluster::requests::Status;
using cluster::requests::TaskView;

std::string stage_words(const JobView& job) {
  if (!job.reason) return std::string(describe::name_of(job.stage));
  return ending_words(*job.reason, job.code.value_or(0), "");
}

std::string stage_words(const TaskView& task) {
  if (task.restart_at) return "waiting for restart";
  if (!task.ending) return std::string(describe::name_of(task.stage));
  return ending_words(task.ending->reason, task.ending->code, "");
}

std::string slots_words(const TaskView& task) { return task.slots.empty() ? "" : ranges(task.slots); }

/// `4 tasks, each with 1 cuda slot, 2 cpus and 8GiB of memory`
std::string request_words(const MemberView& member) {
  std::string each;
  const auto add = [&](const std::string& part) { each += (each.empty() ? "" : ", ") + part; };
  const std::string kind = member.slot_kind ? std::string(describe::name_of(*member.slot_kind)) + " " : "";
  if (member.slots > 0) add(counted(member.slots, kind + "slot"));
  if (member.cpus.milli > 0) add(to_string(member.cpus) + (member.cpus.milli == 1000 ? " cpu" : " cpus"));
  if (member.memory.value > 0) add(short_size(member.memory) + " of memory");
  if (each.empty()) each = "no slots, cpus or memory reserved";
  if (member.count.value_or(1) == 1) return each;
  return counted(*member.count, "task") + ", each with " + each;
}

std::string mounts_words(const MemberView& member) {
  std::vector<std::string> texts;
  for (const cluster::Mount& mount : member.mounts) {
    texts.push_back(mount.source + ":" + mount.target + (mount.writable ? ":rw" : ""));
  }
  return joined(texts, ", ");
}

void add_member(Facts& facts, const MemberView& member, const std::string& prefix) {
  constexpr std::size_t hash_shown = 12;
  facts.add(prefix + "command", shell_words(member.argv));
  facts.add(prefix + "requests", request_words(member));
  facts.add(prefix + "environment", joined(member.variables, ", "));
  facts.add(prefix + "folder", member.folder);
  facts.add(prefix + "code", member.code.substr(0, hash_shown));
  facts.add(prefix + "python", member.python);
  facts.add(prefix + "setup", joined(member.setup, "; "));
  facts.add(prefix + "mounts", mounts_words(member));
}

std::string attempts_text(const JobView& job, const Showing& showing) {
  Table table({"RUN", "STARTED", "RUNTIME", "AGENTS", "ENDED"});
  for (const cluster::control::Attempt& attempt : job.attempts) {
    std::vector<std::string> agents;
    for (const cluster::AgentId& agent : attempt.agents) agents.push_back(agent.value);
    table.add({std::to_string(attempt.run), ago(attempt.started, showing.now),
               ran(attempt.started, attempt.ended, showing.now), joined(agents, ","),
               attempt.stop.empty() ? ending_words(attempt.reason, attempt.code, attempt.detail) : attempt.stop});
  }
  return table.empty() ? "" : "\nearlier runs\n" + table.to_text(showing.coloured);
}

std::vector<std::string> task_row(const TaskView& task, TimePoint now) {
  return {to_string(task.id),
          task.role,
          stage_words(task),
          task.agent.value,
          slots_words(task),
          task.usage.memory.value == 0 ? "" : short_size(task.usage.memory),
          ran(task.started, task.ended, now)};
}

std::string state_words(const AgentView& agent) {
  std::string words = agent.state;
  if (!agent.enabled) return words + ", disabled";
  if (agent.draining) return words + ", draining";
  if (!agent.obstacle.empty()) return words + ", accepts no tasks: " + agent.obstacle;
  const auto off = std::count_if(agent.slot_states.begin(), agent.slot_states.end(),
                                 [](SlotState state) { return state != SlotState::enabled; });
  return off == 0 ? words : words + ", " + counted(off, "slot") + " off";
}

std::string one_decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  return text;
}

std::string share_line(const std::string& used, const std::string& all, double share) {
  constexpr std::size_t width = 20;
  return used + " of " + all + " in use  [" + bar(share, width) + "]";
}

double share(std::int64_t used, std::int64_t all) {
  return all == 0 ? 0 : static_cast<double>(used) / static_cast<double>(all);
}

}  // namespace

std::string jobs_text(const std::vector<JobView>& jobs, const Showing& showing) {
  if (jobs.empty()) return "no jobs yet; run one with: cadre run -- hostname\n";
  Table table({"JOB", "NAME", "STATE", "OWNER", "PRIORITY", "SLOTS", "POOL", "SUBMITTED", "RUNTIME"});
  for (const JobView& job : jobs) {
    table.add({std::to_string(job.id.value), job.name, stage_words(job), job.owner, std::to_string(job.priority),
               std::to_string(job.slots), job.pool, ago(job.submitted, showing.now),
               ran(job.started, job.ended, showing.now)});
  }
  return table.to_text(showing.coloured);
}

std::string job_text(const JobView& job, const Showing& showing) {
  Facts facts;
  facts.add("job", std::to_string(job.id.value));
  facts.add("name", job.name);
  facts.add("state", ending_words(job));
  if (job.reason != cluster::lease::Reason::killed_by_user || job.stopped_by.empty()) facts.add("stopped", job.stop);
  if (job.failed && job.tasks.size() > 1) facts.add("failed", "task " + to_string(*job.failed));
  for (const MemberView& member : job.members) {
    add_member(facts, member, job.members.size() > 1 ? member.role + " " : "");
  }
  facts.add("priority", std::to_string(job.priority));
  facts.add("owner", job.owner);
  facts.add("workspace", job.workspace);
  facts.add("pool", job.pool);
  facts.add("group", job.group);
  facts.add("actor", job.actor);
  facts.add("session", job.session.value);
  facts.add("slots", std::to_string(job.slots));
  facts.add("submitted", with_time(job.submitted, showing.now));
  facts.add("started", with_time(job.started, showing.now));
  facts.add("ended", with_time(job.ended, showing.now));
  if (job.runs > 0) facts.add("attempts", std::to_string(job.runs));
  std::string text = facts.to_text(showing.coloured);
  if (!job.tasks.empty()) text += "\n" + tasks_text({job}, showing);
  return text + attempts_text(job, showing);
}

std::string tasks_text(const std::vector<JobView>& jobs, const Showing& showing) {
  if (jobs.empty()) return "no tasks yet; run one with: cadre run -- hostname\n";
  Table table({"TASK", "ROLE", "STATE", "AGENT", "SLOTS", "MEMORY", "RUNTIME"});
  for (const JobView& job : jobs) {
    for (const TaskView& task : job.tasks) table.add(task_row(task, showing.now));
    if (job.tasks.empty()) table.add({std::to_string(job.id.value), "", stage_words(job), "", "", "", ""});
  }
  return table.to_text(showing.coloured);
}

std::string task_text(const TaskView& task, const Showing& showing) {
  Facts facts;
  facts.add("task", to_string(task.id));
  facts.add("role", task.role);
  facts.add("rank", std::to_string(task.rank));
  facts.add("state", task.ending ? ending_words(task.ending->reason, task.ending->code, task.ending->detail)
                                 : std::string(describe::name_of(task.stage)));
  facts.add("agent", task.agent.value);
  facts.add("slots", slots_words(task));
  facts.add("epoch", std::to_string(task.epoch));
  if (task.restarts > 0) facts.add("restarts", std::to_string(task.restarts) + " in a row");
  if (task.restart_at) facts.add("next restart", "in " + short_duration(*task.restart_at - showing.now));
  facts.add("started", with_time(task.started, showing.now));
  facts.add("ended", with_time(task.ended, showing.now));
  facts.add("memory", short_size(task.usage.memory) + ", at most " + short_size(task.usage.memory_most));
  facts.add("processor time", short_duration(task.usage.cpu_time));
  facts.add("processes", std::to_string(task.usage.processes));
  if (task.usage.calls > 0) facts.add("calls", std::to_string(task.usage.calls));
  if (task.usage.errors > 0) facts.add("errors", std::to_string(task.usage.errors));
  if (task.reports > 0) facts.add("reports", std::to_string(task.reports) + ", last: " + task.last_report);
  if (!task.announcement.empty()) facts.add("announcement", task.announcement);
  return facts.to_text(showing.coloured);
}

std::string actors_text(const std::vector<ActorView>& actors, const Showing& showing) {
  if (actors.empty()) return "no actors; programs create actors after they connect\n";
  Table table({"ACTOR", "CLASS", "NAME", "STATE", "OWNER", "AGENT", "MEMORY", "CALLS", "ERRORS", "RESTARTS", "RUNTIME",
               "SESSION"});
  for (const ActorView& actor : actors) {
    table.add({std::to_string(actor.id.value), actor.actor, actor.name, ending_words(actor), actor.owner,
               actor.agent.value, actor.memory.value == 0 ? "" : short_size(actor.memory), std::to_string(actor.calls),
               std::to_string(actor.errors), std::to_string(actor.restarts),
               ran(actor.started, actor.ended, showing.now), actor.session.value});
  }
  return table.to_text(showing.coloured);
}

std::string sessions_text(const std::vector<cluster::requests::SessionView>& sessions, const Showing& showing) {
  if (sessions.empty()) return "no sessions; a session begins when a program connects and ends with the program\n";
  Table table({"SESSION", "OWNER", "PROGRAM", "HOST", "PID", "ACTORS", "SINCE", "LAST SEEN"});
  for (const cluster::requests::SessionView& session : sessions) {
    table.add({session.id.value, session.owner, session.program, session.host,
               session.pid == 0 ? "" : std::to_string(session.pid), std::to_string(session.actors),
               ago(session.since, showing.now), ago(session.heard, showing.now)});
  }
  return table.to_text(showing.coloured);
}

std::string agents_text(const std::vector<AgentView>& agents, const Showing& showing) {
  if (agents.empty()) {
    return "no agents; start one on this host with: cadre agent; for another host, create a token with: cadre agent "
           "token\n";
  }
  Table table({"AGENT", "STATE", "SLOTS", "KIND", "CPUS", "MEMORY", "LOAD", "TASKS", "POOL", "HOST", "VERSION"});
  for (const AgentView& agent : agents) {
    table.add({agent.id.value, state_words(agent), std::to_string(agent.slots_used) + "/" + std::to_string(agent.slots),
               std::string(describe::name_of(agent.slot_kind)), to_string(agent.cpus),
               short_size(agent.load.memory_used) + "/" + short_size(agent.memory), one_decimal(agent.load.average),
               std::to_string(agent.tasks), agent.pool, agent.host, agent.version});
  }
  return table.to_text(showing.coloured);
}

std::string agent_text(const AgentView& agent) {
  Facts facts;
  facts.add("agent", agent.id.value);
  facts.add("state", state_words(agent));
  facts.add("pool", agent.pool);
  facts.add("host", agent.host);
  facts.add("version", agent.version);
  facts.add("slots", std::to_string(agent.slots_used) + " of " + std::to_string(agent.slots) + " used (" +
                         std::string(describe::name_of(agent.slot_kind)) + ")");
  std::string states;
  for (std::size_t i = 0; i < agent.slot_states.size(); ++i) {
    if (agent.slot_states[i] == cluster::control::SlotState::enabled) continue;
    states += (states.empty() ? "slot " : ", slot ") + std::to_string(i) + " " +
              std::string(describe::name_of(agent.slot_states[i]));
  }
  facts.add("slot states", states);
  facts.add("cpus", to_string(agent.cpus));
  facts.add("memory", short_size(agent.load.memory_used) + " of " + short_size(agent.memory) + " used");
  facts.add("load", one_decimal(agent.load.average));
  facts.add("tasks", std::to_string(agent.tasks));
  std::string isolation;
  for (const std::string& words : agent.isolation) isolation += (isolation.empty() ? "" : "; ") + words;
  facts.add("isolation", isolation);
  return facts.to_text(false);
}

std::string pools_text(const std::vector<cluster::requests::PoolView>& pools, const Showing& showing) {
  Table table({"POOL", "POLICY", "AGENTS", "SLOTS", "WAITING", "RUNNING"});
  for (const cluster::requests::PoolView& pool : pools) {
    const bool by_priority = std::holds_alternative<plan::PriorityPolicy>(pool.policy);
    table.add({pool.name, by_priority ? "priority" : "fair_share", std::to_string(pool.agents),
               std::to_string(pool.slots_used) + "/" + std::to_string(pool.slots), std::to_string(pool.queued),
               std::to_string(pool.running)});
  }
  return table.to_text(showing.coloured);
}

std::string slots_text(const std::vector<cluster::requests::SlotView>& slots, const Showing& showing) {
  if (slots.empty()) return "no slots: no agent has any; see cadre agent list\n";
  Table table({"AGENT", "SLOT", "KIND", "DEVICE", "STATE", "TASK"});
  for (const cluster::requests::SlotView& slot : slots) {
    table.add({slot.agent.value, std::to_string(slot.slot), std::string(describe::name_of(slot.kind)), slot.device,
               std::string(describe::name_of(slot.state)),
               slot.task   ? to_string(*slot.task)
               : slot.used ? "of another user"
                           : ""});
  }
  return table.to_text(showing.coloured);
}

std::string status_text(const Status& status) {
  Facts facts;
  facts.add("agents", std::to_string(status.agents_up) + " of " + std::to_string(status.agents) + " up");
  std::map<std::string, std::vector<std::string>> off;
  for (const cluster::requests::AgentNote& note : status.agents_off) off[note.state].push_back(note.id.value);
  for (const auto& [state, agents] : off) facts.add("  " + state, joined(agents, ", "));
  facts.add("slots", share_line(std::to_string(status.slots_used), std::to_string(status.slots),
                                share(status.slots_used, status.slots)));
  facts.add("cpus", share_line(to_string(status.cpus_used), to_string(status.cpus),
                               share(status.cpus_used.milli, status.cpus.milli)));
  facts.add("memory", share_line(short_size(status.memory_used), short_size(status.memory),
                                 share(status.memory_used.value, status.memory.value)));
  facts.add("load", one_decimal(status.load));
  facts.add("jobs", std::to_string(status.queued) + " waiting, " + std::to_string(status.running) + " running, " +
                        std::to_string(status.ended) + " ended");
  facts.add("actors", std::to_string(status.actors));
  facts.add("sessions", std::to_string(status.sessions));
  std::string text = facts.to_text(false);
  if (status.agents == 0) text += "\nno agents, so no job can run; start an agent with: cadre agent\n";
  return text;
}

}  // namespace cadre::cli
