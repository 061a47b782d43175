#include "cluster/control/jobs/history.h"

#include <algorithm>

#include "base/rounded.h"
#include "cluster/ending.h"
#include "describe/utf8.h"

namespace cadre::cluster::control {
namespace {

using lease::Reason;

std::size_t tasks_of(const Job& job) {
  return static_cast<std::size_t>(
      std::count_if(job.tasks.begin(), job.tasks.end(), [&](const auto& one) { return job.in_run(one.second); }));
}

std::string agents_in_words(const std::vector<AgentId>& agents) {
  std::string text;
  for (const AgentId& agent : agents) text += (text.empty() ? "" : ", ") + agent.value;
  return text.empty() ? "" : " on " + text;
}

}  // namespace

std::string ending_in_words(const Job& job) {
  const JobRow& row = job.row;
  const std::string code = std::to_string(row.code);
  std::string words;
  switch (row.reason) {
    case Reason::exited: words = row.code == 0 ? "it ended successfully" : "it exited with code " + code; break;
    case Reason::signalled: words = "it was terminated by signal " + code; break;
    case Reason::killed_by_user:
      words = row.history.stopped_by.empty() ? "it was stopped" : "it was " + row.history.stop;
      break;
    case Reason::preempted: words = "it was preempted"; break;
    case Reason::out_of_memory: words = "it ran out of memory"; break;
    case Reason::unresponsive: words = "it sent no heartbeat"; break;
    case Reason::agent_lost: words = "its agent was lost"; break;
    case Reason::failed_to_start: words = "it could not be started"; break;
  }
  // That it had no grace is what a kill means.
  const bool is_said = row.history.stop.starts_with("killed by ") && row.detail.starts_with("killed after ");
  if (!row.detail.empty() && !is_said) words += ": " + row.detail;
  const auto failed = row.history.failed ? job.tasks.find(*row.history.failed) : job.tasks.end();
  if (failed != job.tasks.end() && tasks_of(job) > 1 && row.reason != Reason::killed_by_user) {
    words += "\n  task " + to_string(failed->second.id) + " (rank " + std::to_string(failed->second.rank) + " on " +
             failed->second.agent.value + ") failed first; the others were stopped because of it";
  }
  for (const auto& [member, task] : job.tasks) {
    if (!job.in_run(task)) continue;
    words += "\n  " + to_string(task.id) + " on " + task.agent.value + ": used at most " +
             cadre::to_string(task.ending.usage.memory_most) + " of memory, " + rounded(task.ending.usage.cpu_time) +
             " of CPU time";
  }
  for (const Attempt& attempt : row.history.attempts) words += "\n  " + attempt_in_words(attempt);
  return words;
}

std::string attempt_in_words(const Attempt& attempt) {
  return "run " + std::to_string(attempt.run) + agents_in_words(attempt.agents) + " ended after " +
         rounded(attempt.ended - attempt.started) + ": " +
         (attempt.stop.empty() ? ending_words(attempt.reason, attempt.code, attempt.detail) : attempt.stop);
}

void note_attempt(Job& job, TimePoint now) {
  JobHistory& history = job.row.history;
  Attempt attempt{job.row.runs, job.row.started, now, Reason::agent_lost, 0, "", history.stop, {}};
  for (const auto& [member, task] : job.tasks) {
    if (!job.in_run(task)) continue;
    const bool is_new = std::find(attempt.agents.begin(), attempt.agents.end(), task.agent) == attempt.agents.end();
    if (is_new && attempt.agents.size() < attempt_agents_most) attempt.agents.push_back(task.agent);
    const lease::Ending* ending = ending_of(task);
    if (ending != nullptr && was_interrupted(*ending)) {
      attempt.reason = ending->reason;
      attempt.code = ending->code;
      // It is kept as JSON, which holds only UTF-8.
      if (describe::is_utf8(task.ending.detail)) attempt.detail = task.ending.detail;
    } else if (const auto lost = lost_of(task); lost && attempt.stop.empty()) {
      attempt.stop = "agent " + lost->agent.value + " was lost";
    }
  }
  if (attempt.reason == Reason::agent_lost && attempt.stop.empty() && attempt.agents.size() == 1) {
    attempt.stop = "agent " + attempt.agents.front().value + " was lost";
  }
  history.stop.clear();
  history.stopped_by.clear();
  history.attempts.push_back(std::move(attempt));
  if (history.attempts.size() > attempts_most) history.attempts.erase(history.attempts.begin());
}

}  // namespace cadre::cluster::control
