#include "cluster/control/control.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/overloaded.h"

namespace cadre::cluster::control {

Control::Control(Settings settings, const Rows& rows, std::uint64_t boot, TimePoint now)
    : settings_(std::move(settings)),
      ledger_(rows, {static_cast<std::size_t>(settings_.ended_jobs_kept), settings_.ended_bytes_kept.value},
              boot << 32),
      boot_(boot),
      sessions_(settings_.session_timeout, now),
      last_exec_(boot << 32),
      awake_({std::max(settings_.beat_every, std::min<Duration>(settings_.agent_timeout / 6, std::chrono::seconds(1))),
              3 * settings_.beat_every},
             now) {
  for (const GroupRow& row : rows.groups) {
    if (const auto pool = settings_.pools.find(row.pool); pool != settings_.pools.end()) {
      pool->second.groups[row.id] = row.settings;
    }
  }
  plan::Accounts accounts;
  for (const auto& [id, max_slots] : rows.quotas) accounts[id].max_slots = max_slots;
  for (const auto& [name, pool] : settings_.pools) {
    plan::Planner ideal(pool.policy, pool.groups);  // without quotas: they may be raised
    pools_.emplace(name, Pool{plan::Planner(pool.policy, pool.groups, accounts), std::move(ideal), true, now});
  }
  const auto keep_pool = [&](const std::string& name) {
    if (pools_.contains(name)) return;
    pools_.emplace(name,
                   Pool{plan::Planner(plan::Policy{}, {}, accounts), plan::Planner(plan::Policy{}), false, now, true});
  };
  for (const auto& [id, job] : ledger_.jobs()) {
    for (const auto& [member, task] : job.tasks) {
      if (lease::current(task.lease)) take_slots(task);
      const auto lost = lost_of(task);
      if (AgentEntry* agent = lost ? ledger_.find(lost->agent) : nullptr) agent->lost.insert(task.id);
    }
  }
  for (const auto& [id, agent] : ledger_.agents()) {
    keep_pool(agent.row.pool);
    AgentEntry& entry = *ledger_.find(id);
    entry.heard = awake_.now();
    offer(entry);
  }
  for (const auto& [id, job] : ledger_.jobs()) {
    if (job.row.stage == JobStage::ended) continue;
    keep_pool(job.row.spec.pool);
    const plan::Gang gang = admitted_gang(job.row);
    plan::Planner& planner = pool_of(job).planner;
    job.row.stage == JobStage::queued ? planner.submit(gang, job.row.queued) : planner.adopt(gang, running_of(job));
    if (is_impaired(job)) impaired_.insert(id);
    if (job.row.stage == JobStage::running) note_deadline(job);
    const bool is_partly_lost = std::any_of(job.tasks.begin(), job.tasks.end(),
                                            [](const auto& one) { return lost_of(one.second).has_value(); });
    if (job.row.stage == JobStage::running && is_partly_lost) in_doubt_.emplace(id, std::nullopt);
    const bool is_attended = !job.row.spec.session.value.empty() && job.row.why.empty();
    if (!is_attended || sessions_.find(job.row.spec.session) != nullptr) continue;
    sessions_.open(job.row.spec.session, job.row.owner, now).since = job.row.submitted;
  }
}

void Control::hear(Peer peer, const messages::FromAgent& message, const std::optional<AgentId>& proven, TimePoint now) {
  awake_.advance(now);
  if (const auto* news = std::get_if<messages::Hello>(&message.body)) return hello(peer, *news, proven, now);
  const auto known = peers_.find(peer);
  AgentEntry* agent = known == peers_.end() ? nullptr : ledger_.find(known->second);
  // An agent that stops before it has read its welcome knows no session yet.
  const bool is_of_session =
      agent != nullptr && (agent->session == message.session ||
                           (message.session == 0 && std::holds_alternative<messages::Goodbye>(message.body)));
  if (!is_of_session) {
    outcome_.to_agents.push_back({peer, {message.session, messages::HelloAgain{}}});
    return;
  }
  agent->heard = awake_.now();
  if (defer(*agent, message.body)) return;
  const AgentId& id = agent->row.agent.id;
  std::visit(
      overloaded{
          [](const messages::Hello&) {},
          [&](const messages::Beat& beat) {
            agent->load = beat.load;
            note_obstacle(*agent, beat.obstacle, now);
            for (const messages::TaskUsage& one : beat.tasks) {
              const TaskRow* task = ledger_.find(one.lease.task);
              const bool counts = task != nullptr && lease::current(task->lease) == lease::Held{id, one.lease.epoch};
              if (counts) usages_[task->id] = one.usage;
            }
            send(*agent, messages::MasterBeat{});
          },
          [&](const messages::Started& news) {
            if (ledger_.find(news.lease.task) == nullptr) return;
            step(news.lease.task, lease::Started{{id, news.lease.epoch}}, now);
            review(news.lease.task.job, now);
          },
          [&](const messages::Exited& news) { exited(*agent, news, now); },
          [&](const messages::Report& news) { report(*agent, news, now); },
          [&](const messages::ExecNews& news) { exec_news(*agent, news); },
          [&](const messages::Goodbye& news) { goodbye(id, news, now); },
          [&](const messages::InputTaken& news) { input_taken(*agent, news); },
      },
      message.body);
}

void Control::tick(TimePoint now) {
  awake_.advance(now);
  std::vector<AgentId> lost;
  std::vector<AgentId> gone;
  for (const auto& [id, agent] : ledger_.agents()) {
    const Duration silence = awake_.now() - agent.heard;
    if (!agent.row.lost && silence > settings_.agent_timeout && !awake_.is_catching_up()) lost.push_back(id);
    if (agent.row.lost && (agent.removed || silence > settings_.forget_agents_after)) gone.push_back(id);
  }
  std::set<JobId> touched;
  for (const AgentId& id : lost) touched.merge(lose_leases(ledger_.change(id), now));
  for (const JobId job : touched) review(job, now);  // agents that are lost together leave whole gangs
  for (const AgentId& id : gone) forget(id, now);
  tick_rejoining(now);
  tick_restarts(now);
  tick_deadlines(now);
  tick_sessions(now);
}

Outcome Control::settle(TimePoint now) {
  close_orphans(now);
  for (const AgentId& id : std::exchange(to_offer_, {})) {
    if (const AgentEntry* agent = ledger_.find(id)) offer(*agent);
  }
  for (auto& [name, pool] : pools_) {
    if (pool.closed) continue;
    if (count_elsewhere(pool)) pool.changed = true;
    const bool time_tells = pool.planner.queued() > 0 && now - pool.planned >= settings_.beat_every;
    if (pool.changed || time_tells) plan(name, pool, now);
  }
  std::set<SessionId> sessions;
  for (const JobId id : ledger_.jobs_changed()) {
    sessions.insert(ledger_.find(id)->row.spec.session);
    const auto waiting = watchers_.find(id);
    if (waiting == watchers_.end()) continue;
    const Job& job = *ledger_.find(id);
    std::erase_if(waiting->second, [&](const auto& watcher) {
      if (watcher.second == job.version) return false;
      answer(watcher.first, whole_view(job));
      --watching_;
      return true;
    });
    if (waiting->second.empty()) watchers_.erase(waiting);
  }
  for (const SessionId& id : sessions) tell_session(id);
  outcome_.writes = ledger_.take();
  return std::exchange(outcome_, {});
}

void Control::forget_peer(Peer peer) {
  const auto known = peers_.find(peer);
  if (known == peers_.end()) return;
  AgentEntry& agent = *ledger_.find(known->second);
  agent.peer.reset();
  agent.session = 0;
  peers_.erase(known);
  end_inputs([&](const InputTarget&, const Input& input) { return input.agent == agent.row.agent.id; },
             {Errc::unavailable, "the agent was disconnected; send the input again"});
  offer(agent);
}

void Control::forget_asker(Asker asker) {
  for (auto at = watchers_.begin(); at != watchers_.end();) {
    watching_ -= static_cast<std::int64_t>(
        std::erase_if(at->second, [&](const auto& watcher) { return watcher.first == asker; }));
    at = at->second.empty() ? watchers_.erase(at) : std::next(at);
  }
  sessions_.forget_asker(asker);
  std::erase_if(inputs_, [&](const auto& one) { return one.second.asker == asker; });
  for (auto at = execs_.begin(); at != execs_.end();) {
    if (at->second.asker != asker) {
      ++at;
      continue;
    }
    if (const AgentEntry* agent = ledger_.find(at->second.agent)) {
      send(*agent, messages::ExecCancel{at->second.lease, {at->first}});
    }
    at = execs_.erase(at);
  }
}

Control::Pool& Control::pool_of(const Job& job) {
  const auto pool = pools_.find(job.row.spec.pool);
  CHECK(pool != pools_.end());
  return pool->second;
}

}  // namespace cadre::cluster::control
