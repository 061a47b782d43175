#include <algorithm>
#include <utility>

#include "base/check.h"
#include "cluster/agent_id.h"
#include "cluster/control/control.h"
#include "describe/utf8.h"

namespace cadre::cluster::control {
namespace {

/// Slots that the planner may count on: those that take work, and those that do not but are still in use.
std::int32_t slots_offered(const AgentEntry& agent) {
  std::int32_t slots = 0;
  for (std::size_t i = 0; i < agent.users.size(); ++i) {
    slots += agent.takes_work(i) || agent.users[i] ? 1 : 0;
  }
  return slots;
}

/// Maximum length of a text in a hello.
constexpr std::size_t hello_text_most = 1'024;
/// Maximum number of labels, and of isolation features.
constexpr std::size_t hello_list_most = 1'000;

/// Which of its texts is too long or not printable, if any.
std::optional<std::string> text_fault(const messages::Hello& hello) {
  const auto is_bad = [](const std::string& text) {
    return text.size() > hello_text_most || !describe::is_printable(text);
  };
  const auto fault = [](const std::string& what) {
    return what + " is longer than " + std::to_string(hello_text_most) + " bytes or has control characters";
  };
  if (is_bad(hello.protocols.version)) return fault("its version");
  if (is_bad(hello.host)) return fault("the name of its host");
  if (is_bad(hello.identity)) return fault("its identity");
  for (const messages::Slot& slot : hello.slots) {
    if (is_bad(slot.device) || is_bad(slot.name)) return fault("the name of a slot");
  }
  for (const std::string& line : hello.isolation) {
    if (is_bad(line)) return fault("an isolation feature");
  }
  for (const auto& [name, value] : hello.agent.labels) {
    if (is_bad(name) || is_bad(value)) return fault("a label");
  }
  if (hello.agent.labels.size() > hello_list_most || hello.isolation.size() > hello_list_most) {
    return "it has more than " + std::to_string(hello_list_most) + " labels or isolation features";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Control::missing_pool(const std::string& name) const {
  if (const auto pool = pools_.find(name); pool != pools_.end() && !pool->second.closed) return std::nullopt;
  std::string names;
  for (const auto& [other, one] : pools_) {
    if (!one.closed) names += (names.empty() ? "'" : ", '") + other + "'";
  }
  return "there is no pool '" + name + "'; the pools are " + names;
}

std::optional<std::string> Control::refusal(const messages::Hello& hello, const std::optional<AgentId>& proven) {
  const AgentId& id = hello.agent.id;
  if (ledger_.find(id) == nullptr) {  // one that is known from earlier may keep its id
    if (const Result<void> fits = check_agent_id(id.value); !fits) return fits.error().message;
  }
  if (auto fault = text_fault(hello)) return fault;
  if (auto why = protocol::mismatch("agent '" + id.value + "'", hello.protocols, "the master")) return why;
  if (proven && *proven != id) {
    return "its key belongs to agent '" + proven->value + "'; start it with that --id, or join again as '" + id.value +
           "'";
  }
  if (!hello.cluster.empty() && !settings_.cluster.empty() && hello.cluster != settings_.cluster) {
    return "its data belongs to cluster " + hello.cluster + ", and this master runs cluster " + settings_.cluster +
           "; start it with another --data folder, or with --adopt to set aside its tasks of the other cluster";
  }
  if (auto missing = missing_pool(hello.pool)) return missing;
  if (hello.slots.size() != static_cast<std::size_t>(hello.agent.slots)) {
    return "the number of slots it lists differs from the number it offers";
  }
  const AgentEntry* known = ledger_.find(id);
  if (known == nullptr) {
    if (static_cast<std::int64_t>(ledger_.agents().size()) < settings_.agents_max) return std::nullopt;
    return "there are already " + std::to_string(settings_.agents_max) + " agents; raise agents_max";
  }
  if (is_alive(id) && known->row.identity != hello.identity) {
    return "agent '" + id.value + "' already runs on host '" + known->row.host + "'; start this one with another --id";
  }
  if (auto why = copied(*known, hello)) return why;
  const bool changes = known->row.pool != hello.pool || known->row.agent.slot_kind != hello.agent.slot_kind;
  if (changes && is_occupied(id)) {
    return "it has tasks of pool '" + known->row.pool + "'; drain it before you change its pool or kind of slots";
  }
  return std::nullopt;
}

std::optional<std::string> Control::copied(const AgentEntry& known, const messages::Hello& hello) const {
  if (!is_alive(hello.agent.id)) return std::nullopt;
  const auto differ = [](const std::string& a, const std::string& b) { return !a.empty() && !b.empty() && a != b; };
  // A disk may be copied with all that says where it is. Then the host's start tells the two apart, as long as the
  // first one is heard: a host that has just restarted was silent for longer than a few beats.
  const bool is_heard = !is_silent(known);
  if (!differ(known.row.place, hello.place) && !(is_heard && differ(known.row.boot, hello.boot))) return std::nullopt;
  return "agent '" + hello.agent.id.value + "' already runs on host '" + known.row.host +
         "', and this one was started with a copy of its data folder; stop one of them. To run both, remove the copy "
         "and start this one with another --id";
}

bool Control::was_rebooted_since(const messages::Hello& hello) const {
  const auto known = ledger_.agents().find(hello.agent.id);
  if (known == ledger_.agents().end() || hello.boot.empty() || known->second.row.boot.empty()) return false;
  return known->second.row.boot != hello.boot;
}

bool Control::is_outdated(const messages::Hello& hello) const {
  const auto known = ledger_.agents().find(hello.agent.id);
  if (!is_alive(hello.agent.id) || hello.number == 0 || hello.boot.empty()) return false;
  const AgentEntry& agent = known->second;
  return agent.row.identity == hello.identity && agent.row.boot == hello.boot && hello.number <= agent.hello;
}

bool Control::is_alive(const AgentId& id) const {
  const auto found = ledger_.agents().find(id);
  if (found == ledger_.agents().end()) return false;
  return !found->second.row.lost && awake_.now() - found->second.heard <= settings_.agent_timeout;
}

void Control::refuse(Peer peer, std::string why) {
  outcome_.to_agents.push_back({peer, {0, messages::Refused{std::move(why)}}});
}

AgentEntry& Control::welcome(Peer peer, const messages::Hello& hello, TimePoint now) {
  const AgentId& id = hello.agent.id;
  AgentEntry* known = ledger_.find(id);
  AgentRow row{hello.agent, hello.pool, hello.host,      hello.identity, hello.protocols.version,
               hello.slots, {},         hello.isolation, false,          hello.place,
               false,       hello.boot};
  row.slot_states.assign(hello.slots.size(), SlotState::enabled);
  if (known != nullptr) {
    row.agent.enabled = known->row.agent.enabled;
    row.agent.draining = known->row.agent.draining;
    const std::size_t same = std::min(row.slot_states.size(), known->row.slot_states.size());
    std::copy_n(known->row.slot_states.begin(), same, row.slot_states.begin());
    if (known->peer) forget_peer(*known->peer);
    if (known->row.pool != hello.pool) pools_.at(known->row.pool).planner.remove_agent(id);
    if (known->row.pool != hello.pool) pools_.at(known->row.pool).ideal.remove_agent(id);
  }
  if (peers_.contains(peer)) forget_peer(peer);
  AgentEntry& agent = ledger_.add_agent(std::move(row));
  agent.users.assign(agent.row.slots.size(), std::nullopt);  // it may have other slots than it had
  for (const TaskId task : agent.tasks) take_slots(*ledger_.find(task));
  agent.peer = peer;
  agent.kept_all = false;
  agent.obstacle = hello.obstacle;
  agent.session = boot_ << 32 | ++greetings_;
  agent.heard = awake_.now();
  agent.rejoining.clear();
  agent.hello = hello.number;
  agent.removed = false;
  peers_[peer] = id;
  const bool is_closed_anew = agent.owner_only != hello.owner_only || (hello.owner_only && agent.owner != hello.owner);
  agent.owner = hello.owner;
  agent.owner_only = hello.owner_only;
  if (is_closed_anew) admit_again(hello.pool, now);
  return agent;
}

const std::string& Control::owner_of(const AgentEntry& agent) const {
  return agent.owner.empty() ? settings_.owner : agent.owner;
}

std::vector<AgentId> Control::closed_to(const std::string& user, const std::string& pool) const {
  std::vector<AgentId> closed;
  for (const auto& [id, agent] : ledger_.agents()) {
    if (agent.owner_only && agent.row.pool == pool && owner_of(agent) != user) closed.push_back(id);
  }
  return closed;
}

std::string Control::closed_words(const std::vector<AgentId>& agents) const {
  std::string words;
  for (const AgentId& id : agents) {
    words += "; agent '" + id.value + "' cannot isolate tasks of different users and accepts only jobs of '" +
             owner_of(ledger_.agents().at(id)) + "'";
    if (words.size() > 1'000) return words + "; and others as well";
  }
  return words;
}

plan::Gang Control::admitted_gang(const JobRow& row) const {
  plan::Gang gang = gang_of(row);
  const std::vector<AgentId> closed = closed_to(row.owner, row.spec.pool);
  gang.exclude.insert(gang.exclude.end(), closed.begin(), closed.end());
  return gang;
}

void Control::hello(Peer peer, const messages::Hello& hello, const std::optional<AgentId>& proven, TimePoint now) {
  if (auto why = refusal(hello, proven)) return refuse(peer, *std::move(why));
  if (is_outdated(hello)) return;
  const bool was_rebooted = was_rebooted_since(hello);
  AgentEntry& agent = welcome(peer, hello, now);
  const AgentId& id = agent.row.agent.id;
  offer(agent);
  ledger_.note(now, id, "up");
  const std::size_t first = outcome_.to_agents.size();
  end_execs([&](const Exec& exec) { return exec.agent == id; }, "the agent was disconnected for a while");
  end_inputs([&](const InputTarget&, const Input& input) { return input.agent == id; },
             {Errc::unavailable, "the agent was disconnected; send the input again"});

  const std::set<LeaseId> reported(hello.leases.begin(), hello.leases.end());
  take_back(agent, reported, now);
  std::set<JobId> touched;
  const std::set<TaskId> expected = agent.tasks;
  for (const TaskId task : expected) {
    const lease::Held held = *lease::current(ledger_.find(task)->lease);
    const bool runs = reported.contains({task, held.epoch});
    const bool is_placed = std::holds_alternative<lease::Placed>(ledger_.find(task)->lease.stage);
    if (!runs && is_placed && was_rebooted) {
      step(task, lease::Exited{held, {lease::Reason::agent_lost, 0}}, now);
    } else {
      step(task, runs ? lease::Event(lease::Reported{held}) : lease::Event(lease::NotReported{held}), now);
    }
    touched.insert(task.job);
  }
  for (const JobId job : touched) review(job, now);

  messages::Welcome welcome{settings_.agent_timeout, settings_.beat_every, {}, hello.number, settings_.cluster};
  for (const LeaseId& lease : reported) {
    const TaskRow* task = ledger_.find(lease.task);
    const bool is_current = task != nullptr && lease::current(task->lease) == lease::Held{id, lease.epoch};
    if (is_current || (agent.rejoining.contains(lease.task) && lost_of(*task)->epoch == lease.epoch)) {
      welcome.keep.push_back(lease);
    }
  }
  // Else it kills the others, and says hello again.
  agent.kept_all = welcome.keep.size() == reported.size();
  offer(agent);
  outcome_.to_agents.insert(outcome_.to_agents.begin() + static_cast<std::ptrdiff_t>(first),
                            {peer, {agent.session, std::move(welcome)}});
}

bool Control::is_occupied(const AgentId& id) const {
  return std::any_of(ledger_.jobs().begin(), ledger_.jobs().end(), [&](const auto& one) {
    const Job& job = one.second;
    if (job.row.stage != JobStage::running && job.row.stage != JobStage::stopping) return false;
    return std::any_of(job.tasks.begin(), job.tasks.end(),
                       [&](const auto& task) { return job.in_run(task.second) && task.second.agent == id; });
  });
}

void Control::forget(const AgentId& id, TimePoint now) {
  AgentEntry& agent = *ledger_.find(id);
  if (is_occupied(id)) return;
  take_back(agent, {}, now);
  Pool& pool = pools_.at(agent.row.pool);
  pool.planner.remove_agent(id);
  pool.ideal.remove_agent(id);
  ledger_.remove_agent(id);
  ledger_.note(now, id, "forgotten");
}

void Control::lose(AgentEntry& agent, TimePoint now) {
  for (const JobId job : lose_leases(agent, now)) review(job, now);
}

std::set<JobId> Control::lose_leases(AgentEntry& agent, TimePoint now) {
  const AgentId id = agent.row.agent.id;
  if (agent.peer) peers_.erase(*agent.peer);
  agent.peer.reset();
  agent.session = 0;
  agent.row.lost = true;
  agent.rejoining.clear();
  offer(agent);
  ledger_.note(now, id, "lost");
  const std::set<TaskId> tasks = agent.tasks;
  std::set<JobId> touched;
  for (const TaskId task : tasks) {
    step(task, lease::AgentLost{id}, now);
    touched.insert(task.job);
  }
  return touched;
}

void Control::goodbye(const AgentId& id, const messages::Goodbye& news, TimePoint now) {
  AgentEntry& agent = ledger_.change(id);
  if (!std::exchange(agent.row.stopped, true)) ledger_.note(now, id, "stopped");
  offer(agent);
  if (news.last && agent.tasks.empty()) lose(agent, now);  // nothing of it can come back
}

void Control::remove_agent(const Caller& caller, const requests::RemoveAgent& request, TimePoint now) {
  const AgentId& id = request.agent;
  if (own_agent(caller, id) == nullptr) return;
  AgentEntry& agent = ledger_.change(id);
  ledger_.revoke_key(id);
  ledger_.note(now, id, "removed");
  send(agent,
       messages::Refused{
           "agent '" + id.value + "' was removed; to use it again, join it with a new token: cadre agent token", true});
  if (agent.peer) forget_peer(*agent.peer);
  agent.removed = true;
  // It may not have heard that. What is strictly fenced goes elsewhere only when its permits have certainly ended, as
  // with every agent that is silent.
  const bool is_strict = std::any_of(agent.tasks.begin(), agent.tasks.end(),
                                     [&](const TaskId task) { return member_of(task).policy.fence == Fence::strict; });
  if (!is_strict) {
    if (!agent.row.lost) lose(agent, now);
    forget(id, now);
  }
  answer(caller.asker, requests::Done{});
}

void Control::revoke_key(Asker asker, const AgentId& id) {
  ledger_.revoke_key(id);
  answer(asker, requests::Done{});
}

void Control::note_obstacle(AgentEntry& agent, const std::string& obstacle, TimePoint now) {
  if (agent.obstacle == obstacle) return;
  agent.obstacle = obstacle;
  ledger_.note(now, agent.row.agent.id, obstacle.empty() ? "accepts work again" : "accepts no work: " + obstacle);
  offer(agent);
}

void Control::offer(const AgentEntry& agent) {
  Pool& pool = pools_.at(agent.row.pool);
  plan::Agent offered = agent.row.agent;
  offered.slots = slots_offered(agent);
  offered.enabled = agent.row.agent.enabled && agent.peer && agent.is_clean() && !agent.row.lost &&
                    !agent.row.stopped && agent.obstacle.empty();
  pool.planner.put_agent(offered);
  pool.changed = true;
  offered = agent.row.agent;
  offered.enabled = true;
  offered.draining = false;
  pool.ideal.put_agent(offered);
}

void Control::send(const AgentEntry& agent, messages::MasterMessage message) {
  if (agent.peer) outcome_.to_agents.push_back({*agent.peer, {agent.session, std::move(message)}});
}

AgentEntry* Control::own_agent(const Caller& caller, const AgentId& id) {
  AgentEntry* agent = ledger_.find(id);
  if (!caller.who.is_admin) {
    fail(caller.asker, Errc::denied, "only admins of the cluster may change agents");
    return nullptr;
  }
  if (agent == nullptr) {
    fail(caller.asker, Errc::not_found, "there is no agent '" + id.value + "'; see cadre agent list");
  }
  return agent;
}

void Control::set_agent(const Caller& caller, const requests::SetAgent& request, TimePoint now) {
  if (own_agent(caller, request.agent) == nullptr) return;
  AgentEntry& agent = ledger_.change(request.agent);
  agent.row.agent.enabled = request.state != SlotState::disabled;
  agent.row.agent.draining = request.state == SlotState::draining;
  offer(agent);
  ledger_.note(now, request.agent, std::string(describe::name_of(request.state)));
  if (request.state == SlotState::disabled) {
    stop_tasks_on(
        agent, [](const TaskRow&) { return true; },
        "agent " + request.agent.value + " was disabled by " + caller.who.user, now);
  }
  answer(caller.asker, requests::Done{});
}

void Control::set_slot(const Caller& caller, const requests::SetSlot& request, TimePoint now) {
  const AgentEntry* known = own_agent(caller, request.agent);
  if (known == nullptr) return;
  const std::size_t count = known->row.slots.size();
  if (static_cast<std::size_t>(request.slot) >= count) {
    return fail(caller.asker, Errc::not_found,
                "agent '" + request.agent.value + "' has " + std::to_string(count) +
                    " slots, numbered from 0; there is no slot " + std::to_string(request.slot));
  }
  AgentEntry& agent = ledger_.change(request.agent);
  agent.row.slot_states[static_cast<std::size_t>(request.slot)] = request.state;
  offer(agent);
  ledger_.note(now, request.agent,
               "slot " + std::to_string(request.slot) + " " + std::string(describe::name_of(request.state)));
  if (request.state == SlotState::disabled) {
    const auto holds_it = [&](const TaskRow& task) {
      return std::find(task.slots.begin(), task.slots.end(), request.slot) != task.slots.end();
    };
    stop_tasks_on(agent, holds_it,
                  "slot " + std::to_string(request.slot) + " of agent " + request.agent.value + " was disabled by " +
                      caller.who.user,
                  now);
  }
  answer(caller.asker, requests::Done{});
}

void Control::stop_tasks_on(const AgentEntry& agent, const std::function<bool(const TaskRow&)>& chosen,
                            const std::string& why, TimePoint now) {
  std::set<JobId> stopped;
  const std::set<TaskId> tasks = agent.tasks;
  for (const TaskId id : tasks) {
    if (!chosen(*ledger_.find(id))) continue;
    if (!stopped.insert(id.job).second) continue;
    if (std::string& stop = ledger_.change(id.job).row.history.stop; stop.empty()) stop = why;
    stop_tasks(id.job, lease::Reason::preempted, now);
  }
}

}  // namespace cadre::cluster::control
