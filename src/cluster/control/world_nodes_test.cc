#include <algorithm>

#include "base/overloaded.h"
#include "cluster/control/words_for_tests.h"
#include "cluster/control/world_for_tests.h"

namespace cadre::cluster::control {
namespace {

using namespace std::chrono_literals;

}  // namespace

// Agents and links.

void World::break_link(Node& node) {
  trace(node.introduction.agent.id.value, "has a new connection");
  node.troubled = now_;
  node.peer = ++last_peer_;
  node.to_agent.under_way.clear();
  if (dice_.percent(70)) node.to_master.under_way.clear();
}

void World::start_agent(Node& node) {
  trace(node.introduction.agent.id.value, "starts");
  node.returns.reset();
  node.leaves = false;
  std::vector<host::Found> found;
  for (auto& [lease, process] : node.disk) {
    found.push_back({lease, process.start.policy.fence, process.ending});
    process.alone_since.reset();
    process.says_status = now_;
  }
  node.host = std::make_unique<host::HostControl>(node.introduction, found, now_);
  node.ticks = now_;
  break_link(node);
  node.to_master.under_way.clear();
}

void World::kill_agent(Node& node) {
  trace(node.introduction.agent.id.value, "dies");
  node.host.reset();
  node.launches.clear();
  node.returns = now_ + (dice_.percent(60) ? seconds(0, 2) : seconds(2, 40));
  for (auto& [lease, process] : node.disk) process.alone_since = now_;
}

template <class Message>
std::optional<Message> World::arrived(Wire<Message>& wire) {
  if (wire.heals && now_ >= *wire.heals) wire.heals.reset();
  if (wire.heals || wire.under_way.empty() || wire.under_way.front().first > now_) return std::nullopt;
  Message message = std::move(wire.under_way.front().second);
  wire.under_way.pop_front();
  return message;
}

void World::carry(Node& node) {
  const std::string& name = node.introduction.agent.id.value;
  const bool was_cut = node.to_master.heals || node.to_agent.heals;
  const auto is_cut = [&](const auto& wire) { return wire.heals && now_ < *wire.heals; };
  if (was_cut && node.heals_broken && !is_cut(node.to_master) && !is_cut(node.to_agent)) break_link(node);
  while (!master_wakes_) {
    const auto message = arrived(node.to_master);
    if (!message) break;
    trace("master hears of " + name, in_words(*message));
    if (control_) control_->hear(node.peer, *message, std::nullopt, now_);
  }
  while (const auto message = arrived(node.to_agent)) {
    trace(name + " hears", in_words(*message));
    if (node.host) node.host->hear(*message, now_);
    perform(node);
  }
}

void World::step_node(Node& node) {
  if (node.returns && now_ >= *node.returns) start_agent(node);
  const auto is_cut = [&](const auto& wire) { return wire.heals && now_ < *wire.heals; };
  if (!node.host || is_cut(node.to_master) || is_cut(node.to_agent)) node.troubled = now_;
  carry(node);
  for (std::size_t at = 0; at < node.launches.size();) {
    if (now_ < node.launches[at].first) {
      ++at;
      continue;
    }
    const messages::Start start = node.launches[at].second;
    node.launches.erase(node.launches.begin() + static_cast<std::ptrdiff_t>(at));
    launch(node, start);
  }
  std::vector<LeaseId> leases;
  for (const auto& [lease, process] : node.disk) leases.push_back(lease);
  for (const LeaseId& lease : leases) {
    if (const auto found = node.disk.find(lease); found != node.disk.end()) step_process(node, found->second);
  }
  if (!node.host || now_ - node.ticks < 100ms) return;
  node.ticks = now_;
  if (node.leaves) node.host->end_all(1s);
  if (node.leaves && !node.host->runs_something() && node.launches.empty()) return kill_agent(node);
  node.host->tick({}, now_);
  perform(node);
}

void World::perform(Node& node) {
  if (!node.host) return;
  for (std::vector<host::Effect> effects = node.host->take(); !effects.empty(); effects = node.host->take()) {
    for (const host::Effect& effect : effects) perform(node, effect);
  }
}

void World::perform(Node& node, const host::Effect& effect) {
  std::visit(overloaded{
                 [&](const host::ToMaster& one) {
                   Wire<messages::FromAgent>& wire = node.to_master;
                   wire.last = std::max(wire.last, now_ + std::chrono::milliseconds(dice_.between(0, 100)));
                   wire.under_way.emplace_back(wire.last, one.message);
                 },
                 [&](const host::Launch& one) {
                   node.launches.emplace_back(now_ + (dice_.percent(90) ? Duration(50ms) : seconds(0, 15)), one.start);
                 },
                 [&](const host::ToSupervisor& one) {
                   const auto found = node.disk.find(one.lease);
                   if (found == node.disk.end() || !found->second.is_alive()) return;
                   Process& process = found->second;
                   if (const auto* permit = std::get_if<supervision::Permit>(&one.message)) {
                     process.permitted_until = TimePoint(permit->until);
                   }
                   const auto* stop = std::get_if<supervision::Stop>(&one.message);
                   if (stop == nullptr) return;
                   const TimePoint until = now_ + stop->grace;
                   if (process.stop && until >= process.stop_until) return;
                   if (!process.stop && process.obeys) process.obeys_at = now_ + seconds(0, 3);
                   process.stop = *stop;
                   process.stop_until = until;
                 },
                 [&](const host::Forget& one) { forget(node, one.lease); },
                 [&](const host::GiveUp& one) { complain("an agent is refused: " + one.why); },
                 [](const host::Belong&) {},
             },
             effect);
}

void World::launch(Node& node, const messages::Start& start) {
  if (!node.host) return;
  if (!node.host->may_start(start.lease)) {
    node.host->ended(start.lease, {lease::Reason::signalled, 0, "stopped before it began", {}, 0}, now_);
    return perform(node);
  }
  if (dice_.percent(2)) {
    failed_.insert(start.lease.task.job);
    node.host->ended(start.lease, {lease::Reason::failed_to_start, 0, "no such program", {}, 0}, now_);
    return perform(node);
  }
  if (!launched_.insert(start.lease).second) complain("lease " + to_string(start.lease) + " is launched twice");
  for (const auto& other : nodes_) {
    for (const auto& [lease, process] : other->disk) {
      if (lease.task != start.lease.task || !process.is_alive()) continue;
      if (start.policy.fence == Fence::strict) {
        complain("two processes of " + to_string(lease.task) +
                 " at once, though it is strictly fenced: " + to_string(lease) + " and " + to_string(start.lease));
      }
      if (other.get() == &node) complain("two processes of " + to_string(lease.task) + " on one agent");
    }
  }
  trace(node.introduction.agent.id.value, "launches " + to_string(start.lease));
  Process& process = node.disk[start.lease];
  process.start = start;
  process.ends = now_ + (dice_.percent(80) ? seconds(0, 20) : seconds(20, 60));
  process.code = dice_.percent(75) ? 0 : dice_.percent(80) ? 1 : static_cast<std::int32_t>(dice_.between(64, 65));
  process.obeys = dice_.percent(70);
  process.abandon_after = node.host->abandon_after();
  if (start.policy.fence == Fence::strict) process.permitted_until = node.host->permitted_until();
  process.says_status = now_ + step_delay();
}

void World::end(Process& process, lease::Reason reason, std::int32_t code) {
  trace("process", to_string(process.start.lease) + " ends: " + name_of(reason) + " " + std::to_string(code));
  process.ending = TaskEnding{reason, code, "", {}, 0};
}

void World::step_process(Node& node, Process& process) {
  if (process.is_alive()) {
    // What an agent stopped of its own accord says so itself: the agent may be gone before it can.
    const bool by_agent = process.stop && process.stop->why == lease::Reason::agent_lost;
    if (process.stop && now_ >= process.stop_until) {
      end(process, by_agent ? lease::Reason::agent_lost : lease::Reason::signalled, 9);
    } else if ((process.alone_since && now_ - *process.alone_since >= process.abandon_after) ||
               (process.permitted_until && now_ >= *process.permitted_until)) {
      end(process, lease::Reason::agent_lost, 9);
    } else if (process.obeys_at && now_ >= *process.obeys_at) {
      const auto reason = dice_.percent(50) ? lease::Reason::exited : lease::Reason::signalled;
      end(process, by_agent ? lease::Reason::agent_lost : reason, 0);
    } else if (now_ >= process.ends) {
      if (process.code != 0) failed_.insert(process.start.lease.task.job);
      end(process, lease::Reason::exited, process.code);
    }
    if (!process.is_alive()) process.says_status = now_ + step_delay();
  }
  if (!node.host || now_ < process.says_status) return;
  const LeaseId lease = process.start.lease;
  process.says_status = process.is_alive() ? now_ + 1s : TimePoint::max();
  if (process.is_alive() && dice_.percent(30)) {
    node.host->hear(lease, supervision::Report{++process.reports, "at work"}, now_);
  }
  tell_status(node, process);
  perform(node);
}

void World::tell_status(Node& node, const Process& process) {
  supervision::Status status;
  status.pid = 1000;
  status.stopping = process.stop.has_value();
  status.ending = process.ending;
  node.host->hear(process.start.lease, status, now_);
}

/// What a process left may go only when the master has heard of it, or has given its lease up.
void World::forget(Node& node, const LeaseId& lease) {
  const auto found = node.disk.find(lease);
  if (found == node.disk.end()) return;
  if (found->second.is_alive()) complain("lease " + to_string(lease) + " is forgotten while it runs");
  const auto row = database_.tasks.find(lease.task);
  if (row != database_.tasks.end() && row->second.lease.epoch == lease.epoch) {
    const TaskRow& task = row->second;
    if (lease::current(task.lease)) complain("the end of lease " + to_string(lease) + " is lost");
    const auto* ended = std::get_if<lease::Ended>(&task.lease.stage);
    const bool plain = ended != nullptr && ended->ending.reason == lease::Reason::exited;
    if (plain && ended->ending.code != found->second.ending->code) complain("another exit code stands in the records");
  }
  node.disk.erase(found);
}

}  // namespace cadre::cluster::control
