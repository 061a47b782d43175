#include <algorithm>

#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

std::optional<TimePoint> unless_never(TimePoint time) {
  return time == TimePoint{} ? std::nullopt : std::optional(time);
}

std::int64_t slots_used(const AgentEntry& agent) {
  return std::count_if(agent.users.begin(), agent.users.end(), [](const auto& user) { return user.has_value(); });
}

/// By one request, so that it does not keep others waiting.
constexpr std::size_t looked_at_most = 5'000;
constexpr std::size_t shown_most = 500;

bool is_there(const AgentEntry& agent) { return agent.peer && !agent.row.lost && !agent.row.stopped; }

}  // namespace

std::string Control::state_of(const AgentEntry& agent) const {
  if (agent.removed) return "removed";
  if (agent.row.stopped) return "stopped";
  if (agent.row.lost) return "lost";
  return is_silent(agent) ? "silent" : "up";
}

std::string Control::obstacle_to_work(const AgentEntry& agent) const {
  if (const std::string state = state_of(agent); state != "up") return state;
  if (!agent.row.agent.enabled) return "disabled";
  if (agent.row.agent.draining) return "draining";
  return agent.obstacle.empty() ? "" : "out of service: " + agent.obstacle;
}

requests::AgentView Control::view(const AgentEntry& agent) const {
  const AgentRow& row = agent.row;
  return {row.agent.id,
          row.pool,
          row.host,
          row.version,
          state_of(agent),
          row.agent.enabled,
          row.agent.draining,
          row.agent.slot_kind,
          row.agent.slots,
          slots_used(agent),
          row.slot_states,
          row.agent.cpus,
          row.agent.memory,
          agent.load,
          static_cast<std::int64_t>(agent.tasks.size()),
          row.isolation,
          agent.obstacle};
}

void Control::list_agents(Asker asker, const requests::ListAgents& request) {
  requests::Agents page;
  for (auto at = ledger_.agents().upper_bound(request.after); at != ledger_.agents().end(); ++at) {
    if (page.agents.size() == static_cast<std::size_t>(request.most)) {
      page.next = page.agents.back().id;
      break;
    }
    page.agents.push_back(view(at->second));
  }
  answer(asker, std::move(page));
}

void Control::get_agent(Asker asker, const AgentId& id) {
  const AgentEntry* agent = ledger_.find(id);
  if (agent == nullptr)
    return fail(asker, Errc::not_found, "there is no agent '" + id.value + "'; see cadre agent list");
  answer(asker, view(*agent));
}

void Control::list_slots(const Caller& caller, const requests::ListSlots& request) {
  requests::Slots page;
  std::int32_t agents = 0;
  AgentId last;
  for (auto at = ledger_.agents().upper_bound(request.after); at != ledger_.agents().end(); ++at) {
    if (agents++ == request.most) {
      page.next = last;
      break;
    }
    const AgentRow& row = at->second.row;
    last = at->first;
    for (std::size_t slot = 0; slot < row.slots.size(); ++slot) {
      const std::optional<TaskId>& user = at->second.users[slot];
      const bool is_seen = user && access::may_read(caller.who, ledger_.find(user->job)->row.spec.workspace);
      page.slots.push_back({at->first, static_cast<std::int32_t>(slot), row.agent.slot_kind, row.slots[slot].name,
                            row.slot_states[slot], user.has_value(), is_seen ? user : std::nullopt});
    }
  }
  answer(caller.asker, std::move(page));
}

void Control::list_pools(Asker asker) {
  requests::Pools pools;
  for (const auto& [name, pool] : pools_) {
    if (pool.closed) continue;
    requests::PoolView view{
        name, settings_.pools.at(name).policy, 0, 0, 0, static_cast<std::int64_t>(pool.planner.queued()), 0};
    view.running = static_cast<std::int64_t>(pool.planner.gangs() - pool.planner.queued());
    for (const auto& [id, agent] : ledger_.agents()) {
      if (agent.row.pool != name || !is_there(agent)) continue;
      ++view.agents;
      view.slots += agent.row.agent.slots;
      view.slots_used += slots_used(agent);
    }
    pools.pools.push_back(std::move(view));
  }
  answer(asker, std::move(pools));
}

requests::SnapshotPage Control::snapshot(const access::Principal& who, const requests::GetSnapshot& request) const {
  requests::SnapshotPage page;
  requests::GetSnapshot next = request;
  std::size_t looked_at = 0;
  const auto is_full = [&] {
    return looked_at == looked_at_most || page.part.jobs.size() + page.part.agents.size() == shown_most;
  };
  for (auto at = ledger_.jobs().upper_bound(request.after_job); !request.after_agent && at != ledger_.jobs().end();
       ++at) {
    if (is_full()) {
      page.next = next;
      return page;
    }
    ++looked_at;
    next.after_job = at->first;
    const Job& job = at->second;
    if (job.row.stage == JobStage::ended || !access::may_read(who, job.row.spec.workspace)) continue;
    page.part.jobs.push_back(view(job));
  }
  const AgentId after = request.after_agent.value_or(AgentId());
  next.after_agent = after;
  for (auto at = ledger_.agents().upper_bound(after); at != ledger_.agents().end(); ++at) {
    if (is_full()) {
      page.next = next;
      break;
    }
    page.part.agents.push_back(view(at->second));
    next.after_agent = at->first;
  }
  return page;
}

requests::Status Control::status() const {
  requests::Status status;
  for (const auto& [id, agent] : ledger_.agents()) {
    ++status.agents;
    if (const std::string obstacle = obstacle_to_work(agent);
        !obstacle.empty() && status.agents_off.size() < requests::agent_notes_most) {
      status.agents_off.push_back({id, obstacle});
    }
    if (!is_there(agent)) continue;
    ++status.agents_up;
    status.slots += agent.row.agent.slots;
    status.cpus.milli += agent.row.agent.cpus.milli;
    status.memory += agent.row.agent.memory;
    status.load += agent.load.average;
    status.slots_used += slots_used(agent);
    status.cpus_used.milli += agent.cpus_used.milli;
    status.memory_used += agent.memory_used;
  }
  for (const auto& [name, pool] : pools_) status.queued += static_cast<std::int64_t>(pool.planner.queued());
  status.ended = ledger_.ended();
  status.actors = ledger_.actors();
  status.sessions = static_cast<std::int64_t>(sessions_.all().size());
  status.running = static_cast<std::int64_t>(ledger_.jobs().size()) - status.queued - ledger_.ended_in_memory();
  return status;
}

const MemberSpec& Control::member_of(TaskId id) const {
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
                          task.last_report,
                          task.restarts,
                          unless_never(task.restart_at)};
  if (ending_of(task) != nullptr || awaits_restart(task)) view.ending = task.ending;
  if (const auto usage = usages_.find(task.id); usage != usages_.end()) view.usage = usage->second;
  return view;
}

requests::JobView Control::view(const Job& job) const {
  const JobRow& row = job.row;
  requests::JobView view;
  view.id = row.id;
  view.name = row.spec.name;
  view.workspace = row.spec.workspace;
  view.owner = row.owner;
  view.pool = row.spec.pool;
  view.priority = row.spec.priority;
  view.position = row.position;
  view.group = row.spec.group;
  view.session = row.spec.session;
  view.actor = row.spec.actor;
  view.stage = row.stage;
  view.slots = slots_in_full(gang_of(row.id, 0, row.spec).wants);
  view.submitted = row.submitted;
  view.started = unless_never(row.started);
  view.ended = unless_never(row.ended);
  if (row.stage == JobStage::ended) {
    view.reason = row.reason;
    view.code = row.code;
    if (row.history.failed) view.failed = TaskId{row.id, *row.history.failed};
  }
  view.detail = row.detail;
  view.stopped_by = row.history.stopped_by;
  view.stop = row.history.stop;
  view.runs = row.runs;
  view.version = job.version;
  for (const auto& [member, task] : job.tasks) {
    if (job.in_run(task)) view.tasks.push_back(this->view(job, task));
  }
  return view;
}

requests::JobView Control::whole_view(const Job& job) const {
  requests::JobView view = this->view(job);
  for (const MemberSpec& member : job.row.spec.members) {
    const Command& command = member.command;
    requests::MemberView shown;
    shown.role = member.role;
    shown.count = member.count;
    shown.argv = command.argv;
    shown.slots = member.slots;
    shown.slot_kind = member.slot_kind;
    shown.cpus = member.cpus;
    shown.memory = member.memory;
    for (const auto& [name, value] : command.variables) shown.variables.push_back(name);
    shown.folder = command.folder;
    shown.python = command.python;
    shown.setup = command.setup;
    shown.mounts = command.mounts;
    shown.code = command.code;
    view.members.push_back(std::move(shown));
  }
  view.attempts = job.row.history.attempts;
  return view;
}

}  // namespace cadre::cluster::control
