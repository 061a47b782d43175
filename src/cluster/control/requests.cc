#include <algorithm>

#include "base/check.h"
#include "base/overloaded.h"
#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

std::string no_job(JobId id) { return "there is no job " + std::to_string(id.value) + "; see cadre job list"; }

std::optional<TimePoint> unless_never(TimePoint time) {
  return time == TimePoint{} ? std::nullopt : std::optional(time);
}

/// What is wrong with a job beyond what its description says.
std::optional<std::string> fault_of(const JobSpec& spec) {
  std::set<std::string> roles;
  std::int64_t to_start = 0;
  for (const Member& member : spec.members) {
    if (!roles.insert(member.role).second) {
      return "members: the role '" + member.role + "' stands twice; give each a name of its own";
    }
    to_start += member.elastic_min.value_or(member.count.value_or(1));
  }
  if (to_start == 0)
    return "members: are all elastic down to 0; give one of them a least count, so that something starts";
  if (spec.single_agent && spec.uneven) return "uneven: contradicts single_agent; leave one of them out";
  const bool divided = spec.members.size() == 1 && !spec.members.front().count;
  if (!divided && (spec.single_agent || spec.uneven)) {
    return "single_agent and uneven are for one member without a count; leave them out, or leave out the count";
  }
  return std::nullopt;
}

}  // namespace

void Control::answer(Asker asker, requests::Reply reply) {
  outcome_.to_clients.push_back({asker.client, {asker.number, std::move(reply)}});
}

void Control::fail(Asker asker, Errc code, std::string message) {
  answer(asker, requests::Failed{code, std::move(message)});
}

void Control::ask(std::uint64_t client, const requests::Question& question, TimePoint now) {
  const Asker asker{client, question.number};
  std::visit(
      overloaded{
          [&](const requests::Submit& one) { submit(asker, one, now); },
          [&](const requests::ListJobs& one) { list_jobs(asker, one); },
          [&](const requests::GetJob& one) { get_job(asker, one); },
          [&](const requests::EndJob& one) { end_job(asker, one, now); },
          [&](const requests::MoveJob& one) { move_job(asker, one, now); },
          [&](const requests::SetJob& one) { set_job(asker, one, now); },
          [&](const requests::ListAgents&) { list_agents(asker, now); },
          [&](const requests::SetAgent& one) { set_agent(asker, one, now); },
          [&](const requests::GetStatus&) { get_status(asker); },
          [&](const requests::Why& one) { why(asker, one); },
          [&](const requests::RunExec& one) { exec(asker, one); },
          [&](const requests::EndExec& one) {
            end_execs([&](const Exec& exec) { return exec.asker == Asker{client, one.question}; }, "it was ended");
            answer(asker, requests::Text{"ended"});
          },
          [&](const requests::MakeJoinToken&) {
            fail(asker, Errc::invalid, "join tokens are made where the keys are");
          },
      },
      question.request);
}

std::optional<std::string> Control::never_fits(const JobSpec& spec, TimePoint now) {
  const bool has_agents = std::any_of(ledger_.agents().begin(), ledger_.agents().end(),
                                      [&](const auto& agent) { return agent.second.row.pool == spec.pool; });
  if (!has_agents) return std::nullopt;  // nobody knows yet
  Planner& ideal = pools_.at(spec.pool).ideal;
  const Gang gang = gang_of({0}, 0, spec);
  ideal.submit(gang, now);
  const Plan plan = ideal.plan(now);
  const std::string why = ideal.why(gang.id);
  ideal.remove(gang.id);
  if (!plan.start.empty()) return std::nullopt;
  return "it could never run: " + why;
}

void Control::submit(Asker asker, const requests::Submit& request, TimePoint now) {
  const JobSpec& spec = request.job;
  if (const auto missing = missing_pool(spec.pool)) return fail(asker, Errc::not_found, "pool: " + *missing);
  Pool& pool = pools_.at(spec.pool);
  if (auto fault = fault_of(spec)) return fail(asker, Errc::invalid, *std::move(fault));
  if (auto why = never_fits(spec, now)) return fail(asker, Errc::invalid, *std::move(why));
  Job& job = ledger_.add_job(spec, now);
  pool.planner.submit(gang_of(job.row.id, job.row.position, job.row.spec), now);
  pool.changed = true;
  ledger_.note(now, "job", std::to_string(job.row.id.value), "queued");
  answer(asker, view(job));
}

void Control::end_job(Asker asker, const requests::EndJob& request, TimePoint now) {
  const Job* job = ledger_.find(request.job);
  if (job == nullptr) return fail(asker, Errc::not_found, no_job(request.job));
  if (job->row.stage == JobStage::ended) return answer(asker, view(*job));
  if (request.grace) {
    std::optional<Duration>& grace = ledger_.change(request.job).row.grace;
    grace = std::min(grace.value_or(*request.grace), *request.grace);
  }
  if (job->row.stage == JobStage::queued) {
    stop_tasks(request.job, lease::Reason::killed_by_user, now);  // one may be left on a lost agent
    Job& row = ledger_.change(request.job);
    row.row.reason = lease::Reason::killed_by_user;
    row.row.detail = "withdrawn while it waited";
    finish(row, now);
  } else {
    std::map<TaskId, lease::State> before;
    for (const auto& [member, task] : job->tasks) before.emplace(task.id, task.lease);
    stop_tasks(request.job, lease::Reason::killed_by_user, now);
    for (const auto& [member, task] : job->tasks) {  // a shorter grace must reach those that are stopping already
      const auto* stopping = std::get_if<lease::Stopping>(&task.lease.stage);
      if (stopping == nullptr || !request.grace || before.at(task.id) != task.lease) continue;
      perform(task.id, lease::SendStop{stopping->held, stopping->why});
    }
  }
  answer(asker, view(*job));
}

void Control::get_job(Asker asker, const requests::GetJob& request) {
  const Job* job = ledger_.find(request.job);
  if (job == nullptr) return fail(asker, Errc::not_found, no_job(request.job));
  const bool may_change = job->row.stage != JobStage::ended;
  if (!may_change || !request.seen || *request.seen != job->version) return answer(asker, view(*job));
  if (watching_ >= settings_.watchers_max) {
    return fail(asker, Errc::unavailable, "too many clients wait for changes; try again later");
  }
  ++watching_;
  watchers_[request.job].emplace_back(asker, *request.seen);
}

void Control::list_jobs(Asker asker, const requests::ListJobs& request) {
  requests::Jobs jobs;
  for (auto at = ledger_.jobs().rbegin(); at != ledger_.jobs().rend(); ++at) {
    if (!request.ended && at->second.row.stage == JobStage::ended) continue;
    if (jobs.jobs.size() == static_cast<std::size_t>(request.most)) break;
    jobs.jobs.push_back(view(at->second));
  }
  answer(asker, std::move(jobs));
}

void Control::list_agents(Asker asker, TimePoint now) {
  requests::Agents agents;
  for (const auto& [id, agent] : ledger_.agents()) {
    const bool silent = !agent.peer || now - agent.heard > 3 * settings_.beat_every;
    const AgentRow& row = agent.row;
    const auto used =
        std::count_if(agent.users.begin(), agent.users.end(), [](const auto& user) { return user.has_value(); });
    agents.agents.push_back({id, row.pool, row.host, row.version,
                             row.lost ? "lost"
                             : silent ? "silent"
                                      : "up",
                             row.agent.enabled, row.agent.draining, row.agent.slot_kind, row.agent.slots, used,
                             row.slot_states, row.agent.cpus, row.agent.memory, agent.load,
                             static_cast<std::int64_t>(agent.tasks.size()), row.isolation});
  }
  answer(asker, std::move(agents));
}

void Control::get_status(Asker asker) {
  requests::Status status;
  for (const auto& [id, agent] : ledger_.agents()) {
    ++status.agents;
    if (!agent.peer || agent.row.lost) continue;
    ++status.agents_up;
    status.slots += agent.row.agent.slots;
    status.cpus.milli += agent.row.agent.cpus.milli;
    status.memory += agent.row.agent.memory;
    status.load += agent.load.average;
    for (const auto& user : agent.users) status.slots_used += user.has_value();
    for (const TaskId task : agent.tasks) {
      const Member& member = member_of(task);
      const std::int64_t core_slots =
          agent.row.agent.slot_kind == SlotKind::cpu ? static_cast<std::int64_t>(ledger_.find(task)->slots.size()) : 0;
      status.cpus_used.milli += member.cpus.milli + core_slots * 1000;
      status.memory_used += member.memory;
    }
  }
  for (const auto& [name, pool] : pools_) status.queued += static_cast<std::int64_t>(pool.planner.queued());
  status.ended = ledger_.ended();
  status.running = static_cast<std::int64_t>(ledger_.jobs().size()) - status.queued - status.ended;
  answer(asker, status);
}

void Control::why(Asker asker, const requests::Why& request) {
  const Job* job = ledger_.find(request.job);
  if (job == nullptr) return fail(asker, Errc::not_found, no_job(request.job));
  if (job->row.stage != JobStage::ended && pool_of(*job).closed) {
    return answer(asker,
                  requests::Text{"there is no pool '" + job->row.spec.pool + "' any more; it waits until there is"});
  }
  if (job->row.stage != JobStage::ended) {
    return answer(asker, requests::Text{pool_of(*job).planner.why(gang_id(request.job))});
  }
  answer(asker, requests::Text{ending_in_words(*job)});
}

void Control::exec(Asker asker, const requests::RunExec& request) {
  const TaskRow* task = ledger_.find(request.task);
  if (task == nullptr) return fail(asker, Errc::not_found, "there is no task " + to_string(request.task));
  const auto held = lease::current(task->lease);
  AgentEntry* agent = held ? ledger_.find(held->agent) : nullptr;
  if (agent == nullptr || !agent->peer) {
    return fail(asker, Errc::conflict, "task " + to_string(request.task) + " does not run on an agent that is there");
  }
  if (static_cast<std::int64_t>(execs_.size()) >= settings_.execs_max) {
    return fail(asker, Errc::unavailable, "too many commands run inside tasks; try again later");
  }
  const LeaseId lease{request.task, held->epoch};
  execs_[++last_exec_] = {asker, lease, held->agent};
  send(*agent, messages::Exec{lease, {last_exec_, request.argv}});
}

void Control::exec_news(const AgentEntry& agent, const messages::ExecNews& news) {
  const auto found = execs_.find(news.number);
  if (found == execs_.end() || found->second.agent != agent.row.agent.id) return;
  answer(found->second.asker, news);
  if (std::holds_alternative<supervision::ExecEnded>(news.news)) execs_.erase(found);
}

void Control::end_execs(const std::function<bool(const Exec&)>& chosen, const std::string& why) {
  for (auto at = execs_.begin(); at != execs_.end();) {
    const auto& [number, exec] = *at;
    if (!chosen(exec)) {
      ++at;
      continue;
    }
    answer(exec.asker, messages::ExecNews{number, supervision::ExecEnded{number, 0, why}});
    if (const AgentEntry* agent = ledger_.find(exec.agent)) send(*agent, messages::ExecCancel{exec.lease, {number}});
    at = execs_.erase(at);
  }
}

const Member& Control::member_of(TaskId id) const {
  return ledger_.find(id.job)->row.spec.members[static_cast<std::size_t>(ledger_.find(id)->role)];
}

requests::TaskView Control::view(const Job& job, const TaskRow& task) const {
  requests::TaskView view{task.id,
                          job.row.spec.members[static_cast<std::size_t>(task.role)].role,
                          task.rank,
                          stage_name(task.lease),
                          task.lease.epoch.value,
                          task.agent,
                          task.slots,
                          unless_never(task.started),
                          unless_never(task.ended),
                          std::nullopt,
                          task.ending.usage,
                          task.reports,
                          task.last_report};
  if (std::holds_alternative<lease::Ended>(task.lease.stage)) view.ending = task.ending;
  if (const auto usage = usages_.find(task.id); usage != usages_.end()) view.usage = usage->second;
  return view;
}

requests::JobView Control::view(const Job& job) const {
  const JobRow& row = job.row;
  requests::JobView view{row.id,
                         row.spec.name,
                         row.spec.pool,
                         row.spec.priority,
                         row.position,
                         row.spec.group,
                         row.stage,
                         slots_in_full(gang_of(row.id, 0, row.spec).wants),
                         row.submitted,
                         unless_never(row.started),
                         unless_never(row.ended),
                         row.reason,
                         row.code,
                         row.detail,
                         row.runs,
                         job.version,
                         {}};
  for (const auto& [member, task] : job.tasks) {
    if (job.in_run(task)) view.tasks.push_back(this->view(job, task));
  }
  return view;
}

}  // namespace cadre::cluster::control
