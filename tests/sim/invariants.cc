// What must hold in a simulated cluster, and is checked with every event that could break it.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "tests/sim/place.h"

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
namespace messages = cluster::messages;

constexpr Duration look_every = 100ms;
// What nothing may exceed that is bounded at all: a process is stopped for less than a minute, and each agent sends a
// few messages a second.
constexpr std::size_t queue_max = 1'000;
constexpr std::size_t calls_max = 5'000;
constexpr std::uint64_t messages_per_second_max = 100;
constexpr int database_percent = 5;  // of acknowledgements, with which the database is compared at once

bool share_slot(const std::vector<std::int32_t>& a, const std::vector<std::int32_t>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](std::int32_t slot) { return std::find(b.begin(), b.end(), slot) != b.end(); });
}

}  // namespace

void SimulatedCluster::begins(const Place& place, const Process& process) {
  const cluster::messages::Start& start = process.launch.start;
  trace(place.host.name(), "lease " + to_string(start.lease) + " begins");
  if (!begun_.insert(start.lease).second) complain("lease " + to_string(start.lease) + " begins a second time");
  clients_.begins(place.introduction.agent.id, start.lease);
  if (start.policy.fence == cluster::Fence::strict) {
    cluster::Epoch& newest = strict_[start.lease.task];
    if (start.lease.epoch < newest) complain("lease " + to_string(start.lease) + " begins after a newer one");
    newest = std::max(newest, start.lease.epoch);
  }
  check_agents();
  for (const auto& other : places_) {
    for (const auto& [lease, another] : std::as_const(other->host).processes()) {
      if (!another.is_alive || &another == &process) continue;
      const bool is_strict = start.policy.fence == cluster::Fence::strict;
      if (lease.task == start.lease.task && is_strict) {
        complain("task " + to_string(lease.task) + " has `fence: strict` and runs twice, as lease " + to_string(lease) +
                 " on " + other->host.name() + " and as lease " + to_string(start.lease) + " on " + place.host.name());
      }
      if (other.get() == &place && share_slot(another.launch.start.slots, start.slots)) {
        complain("leases " + to_string(lease) + " and " + to_string(start.lease) + " share a slot of " +
                 place.host.name());
      }
    }
  }
}

void SimulatedCluster::ends(const Process& process) {
  trace("process", "lease " + to_string(process.launch.start.lease) + " ends" +
                       (process.ending ? ", " + std::string(describe::name_of(process.ending->reason)) + " " +
                                             std::to_string(process.ending->code)
                                       : " with its host"));
  check_agents();
}

/// What a task has written must be stored before its agent removes it.
void SimulatedCluster::is_removed(const Process& process) {
  const LeaseId lease = process.launch.start.lease;
  if (output_[lease] < static_cast<std::int64_t>(process.output->size())) {
    complain("output of lease " + to_string(lease) + " is removed and not stored");
  }
}

void SimulatedCluster::look() {
  looking_ = loop_.after(look_every, [this] { look(); });
  check_agents();
  check_queues();
}

/// What an agent counts as ended, its master gives the slots of to others.
void SimulatedCluster::check_agents() {
  for (const auto& place : places_) {
    if (!place->agent) continue;
    if (const std::string fault = place->agent->runtime().fault(); !fault.empty()) complain(fault);
  }
}

void SimulatedCluster::check_queues() {
  const auto check = [&](std::size_t size, std::size_t most, const std::string& what) {
    if (size > most) complain(what + ": " + std::to_string(size));
  };
  check(traffic_.longest_queue, queue_max, "too many messages wait on one connection");
  if (master_) check(master_->loop().waiting(), calls_max, "too many calls wait in the master");
  for (const auto& place : places_) {
    if (!place->agent) continue;
    check(place->agent->loop().waiting(), calls_max, "too many calls wait in the agent of " + place->host.name());
    check(place->agent->runtime().unread(), queue_max,
          "too many messages of supervisors wait on " + place->host.name());
  }
  const auto seconds = static_cast<std::uint64_t>((loop_.now() - begin_) / 1s);
  check(traffic_.messages, (seconds + 1) * messages_per_second_max, "too many messages were sent");
}

const Process* SimulatedCluster::find(const LeaseId& lease) const {
  for (const auto& place : places_) {
    const auto& processes = std::as_const(place->host).processes();
    if (const auto found = processes.find(lease); found != processes.end()) return &found->second;
  }
  return nullptr;
}

/// A crash right after an acknowledgement finds what was acknowledged too early.
void SimulatedCluster::hear_sent(const messages::FromMaster& message) {
  if (const auto* start = std::get_if<messages::Start>(&message.body)) clients_.note_start(start->lease);
  const auto* end = std::get_if<messages::EndStored>(&message.body);
  const auto* answer = std::get_if<messages::ReportAnswer>(&message.body);
  if (end == nullptr && (answer == nullptr || !answer->answer.accepted)) return;
  const Process* process = find(end != nullptr ? end->lease : answer->lease);
  if (end != nullptr) {
    acknowledged_.note_end(end->lease, process == nullptr ? std::nullopt : process->ending);
  } else if (process != nullptr) {
    const std::uint64_t number = answer->answer.number;
    acknowledged_.note_report(answer->lease, number, number == 1 && process->announces);
  }
  if (dice_.percent(database_percent)) check_records();
  if (std::exchange(dies_after_acknowledgement_, false)) kill_master_later();
}

void SimulatedCluster::check_rows(const cluster::control::Rows& rows) {
  clients_.check(rows);
  acknowledged_.check(rows);
}

void SimulatedCluster::check_records() {
  const auto rows = records_->load({1'000'000, std::int64_t{1} << 40});
  CHECK(rows.has_value());
  acknowledged_.check(*rows);
}

bool SimulatedCluster::is_quiet() const {
  const bool hosts_are_empty = std::all_of(places_.begin(), places_.end(), [](const auto& place) {
    return place->host.processes().empty() && place->agent && !place->agent->runtime().runs_something();
  });
  return hosts_are_empty && clients_.is_done() && clients_.slots_are_free() && clients_.agents_are_ready();
}

void SimulatedCluster::await_quiet(Duration time) {
  for (const TimePoint end = loop_.now() + time; loop_.now() < end && complaint_.empty();) {
    pass(5s);
    if (is_quiet()) break;
  }
  if (complaint_.empty()) check_quiet();
}

void SimulatedCluster::check_quiet() {
  if (!clients_.is_done()) return complain("not ended though nothing fails any more: " + clients_.unfinished());
  if (!clients_.slots_are_free()) return complain("all jobs have ended and slots are still used");
  if (!clients_.agents_are_ready()) return complain("an agent takes no work though nothing fails any more");
  for (const auto& place : places_) {
    for (const auto& [lease, process] : place->host.processes()) {
      complain("lease " + to_string(lease) + " is still on the disk of " + place->host.name());
    }
    if (!place->agent || place->agent->runtime().runs_something()) {
      complain("the agent of " + place->host.name() + " is gone, or counts something as running that is not there");
    }
  }
  const auto rows = records_->load({1'000'000, std::int64_t{1} << 40});
  CHECK(rows.has_value());
  check_rows(*rows);
}

}  // namespace cadre::sim
