#include "tests/sim/simulated_cluster.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/parts.h"
#include "base/check.h"
#include "base/protocol.h"
#include "tests/sim/place.h"

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;

constexpr std::int32_t slots_each = 4;
constexpr Duration agent_timeout = 12s;
constexpr Duration normal_disk = 5ms;
constexpr std::uint64_t steps_max = 50'000'000;

enum Kind : int {
  master_dies,
  master_stops,
  agent_dies,
  agent_stops,
  agent_leaves,
  host_reboots,
  link_fails,
  messages_late,
  agent_disk_full,
  agent_disk_slow,
  master_disk_full,
  master_disk_slow,
  clock_is_set,
  kinds
};

}  // namespace

SimulatedCluster::SimulatedCluster(std::uint64_t seed)
    : dice_(seed),
      loop_({.seed = dice_.bits(), .steps_max = steps_max, .begin = TimePoint(1h)}),
      network_(loop_, {dice_.bits()}),
      log_(traced_ ? static_cast<Log&>(loud_) : silent_),
      wall_ahead_(24h * 365 * 50),
      master_keys_(net::draw_keys(dice_)),
      records_(records::Records::open("sqlite::memory:", log_, app::rows_of(app::parts_of({}))).value()),
      clients_(loop_,
               {[this](api::CallId call, const std::string& key, cluster::requests::Request request) {
                  if (master_) master_->ask(call, key, std::move(request));
                },
                [this](const std::string& what) { complain(what); },
                [this](const std::string& who, const std::string& what) { trace(who, what); },
                static_cast<std::int32_t>(2 + seed % 3), slots_each},
               dice_.split()),
      acknowledged_([this](const std::string& what) { complain(what); }) {
  CHECK(records_->name_cluster("simulated").has_value());
  for (std::uint64_t i = 0; i < 2 + seed % 3; ++i) {
    const std::string name = Operations::name_of_agent(i);
    places_.push_back(nullptr);
    std::unique_ptr<Place>& place = places_.back();
    place = std::make_unique<Place>(
        loop_, name, dice_.split(),
        SimulatedHost::Observer{[this, i](const Process& process) { begins(*places_[i], process); },
                                [this](const Process& process) { ends(process); },
                                [this](const Process& process) { is_removed(process); },
                                [this](const std::string& what) { complain(what); }});
    cluster::messages::Hello& hello = place->introduction;
    hello.protocols = protocol::own();
    hello.agent.id = cluster::AgentId(name);
    hello.agent.slots = slots_each;
    hello.agent.cpus = {8'000};
    hello.agent.memory = {std::int64_t{8} << 30};
    hello.identity = "identity of " + name;
    hello.place = "place of " + name;
    hello.slots.resize(slots_each);
  }
  cluster::control::Settings settings;
  settings.agent_timeout = agent_timeout;
  settings.cluster = "simulated";
  for (const auto& place : places_) {
    const cluster::AgentId& id = place->introduction.agent.id;
    CHECK(records_->put_agent_key({id, place->keys.open.text(), "default", loop_.now()}).has_value());
  }
  master_deps_.emplace(MasterDependencies{loop_, network_, *records_, output_, master_disk_, weather_, traffic_, log_,
                                          [this] { return loop_.now() + wall_ahead_; }, settings, master_keys_});
  faults_per_minute_ = static_cast<int>(dice_.between(4, 40));
  for (int kind = 0; kind < kinds; ++kind) {
    if (dice_.percent(60)) kinds_.insert(kind);
  }
  start_master();
  for (auto& place : places_) start_agent(*place);
  next_fault_ = loop_.after(5s, [this] { make_fault(); });
  look();
}

SimulatedCluster::~SimulatedCluster() {
  master_.reset();
  for (auto& place : places_) place->agent.reset();
}

void SimulatedCluster::complain(const std::string& what) {
  trace("check", what);
  if (complaint_.empty()) complaint_ = "at " + to_utc(loop_.now()).substr(11) + ": " + what;
}

void SimulatedCluster::trace(const std::string& who, const std::string& what) {
  if (traced_) std::fprintf(stderr, "%s %s: %s\n", to_utc(loop_.now()).substr(11).c_str(), who.c_str(), what.c_str());
  for (const char c : what) fingerprint_ = (fingerprint_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  fingerprint_ = (fingerprint_ ^ static_cast<std::uint64_t>(loop_.now().time_since_epoch().count())) * 1099511628211ULL;
}

void SimulatedCluster::later(Duration wait, std::function<void()> call) { loop_.after(wait, std::move(call)).detach(); }

void SimulatedCluster::pass(Duration time) {
  const Result<void> passed = loop_.run_until(loop_.now() + time);
  if (!passed) complain(passed.error().message);
}

void SimulatedCluster::live(Duration time) {
  for (const TimePoint end = loop_.now() + time; loop_.now() < end && complaint_.empty();) pass(1s);
}

void SimulatedCluster::calm_down(Duration time) {
  calm_ = true;
  clients_.calm();
  next_fault_.cancel();
  trace("world", "calms down");
  for (auto& place : places_) {
    network_.heal(MasterNode::host, place->host.name());
    place->host.disk = {};
    if (place->agent && place->agent->loop().is_stopped()) place->agent->loop().resume();
  }
  master_disk_ = {};
  weather_ = {};
  if (master_ && master_->loop().is_stopped()) master_->loop().resume();
  await_quiet(time);
  if (!complaint_.empty()) return;
  // All slots are free, and the planner knows it: a job that needs all of them is placed, and another one after it.
  trace("world", "is quiet");
  const std::size_t accepted = clients_.accepted();
  clients_.take_all();
  clients_.take_all();
  await_quiet(time);
  if (complaint_.empty() && clients_.accepted() != accepted + 2) complain("a job that takes all slots is refused");
}

// The master and the agents.

void SimulatedCluster::start_master() {
  if (master_) return;
  if (master_disk_.full) return later(1s, [this] { start_master(); });
  trace("master", "starts");
  ++masters_;
  auto started = MasterNode::start(*master_deps_,
                                   {[this](api::CallId call, const api::Reply& reply) { hear_master(call, reply); },
                                    [this](const cluster::control::Rows& rows) { check_rows(rows); },
                                    [this](const Error& error) { complain("the master: " + error.message); },
                                    [this](const cluster::messages::FromMaster& message) { hear_sent(message); }},
                                   dice_.split());
  if (!started) return complain("the master cannot start: " + started.error().message);
  master_ = *std::move(started);
}

/// A crash right after an answer finds what was answered too early.
void SimulatedCluster::hear_master(api::CallId call, const api::Reply& reply) {
  clients_.hear(call, reply);
  if (std::exchange(dies_after_answer_, false)) kill_master_later();
}

void SimulatedCluster::kill_master_later() {
  if (calm_) return;
  later(Duration{0}, [this, life = masters_] {
    if (masters_ != life) return;
    kill_master();
    later(outage(), [this] { start_master(); });
  });
}

void SimulatedCluster::kill_master() {
  if (!master_) return;
  trace("master", "is killed");
  master_.reset();
  clients_.master_gone();
}

void SimulatedCluster::start_agent(Place& place) {
  if (place.agent) return;
  trace(place.host.name(), "its agent starts");
  ++place.lives;
  place.agent = std::make_unique<AgentNode>(
      AgentGround{loop_, network_, place.host, weather_, traffic_, log_, place.keys, master_keys_.open, place.cluster},
      place.introduction, [this, &place] { agent_ended(place); }, dice_.split());
}

void SimulatedCluster::kill_agent(Place& place) {
  if (!place.agent) return;
  trace(place.host.name(), "its agent is killed");
  place.agent.reset();
}

/// It wants to end: not inside its own call.
void SimulatedCluster::agent_ended(Place& place) {
  const int life = place.lives;
  later(Duration{0}, [this, &place, life] {
    if (place.lives != life) return;
    kill_agent(place);
    later(outage(), [this, &place] { is_known(place) ? start_agent(place) : join(place); });
  });
}

bool SimulatedCluster::is_known(const Place& place) const {
  const auto keys = records_->agent_keys();
  CHECK(keys.has_value());
  return std::any_of(keys->begin(), keys->end(),
                     [&](const records::AgentKey& one) { return one.public_key == place.keys.open.text(); });
}

void SimulatedCluster::join(Place& place) {
  if (place.agent) return;  // the end of another fault has started it with its old key: it will be refused
  const bool may_join = master_ && !master_->loop().is_stopped() && !master_disk_.full;
  if (!may_join) return later(1s, [this, &place] { join(place); });
  trace(place.host.name(), "joins again");
  place.keys = net::draw_keys(dice_);
  const Result<void> joined = master_->join(place.introduction.agent.id, place.keys.open);
  if (!joined) return complain("an agent cannot join: " + joined.error().message);
  clients_.joined(place.introduction.agent.id);
  start_agent(place);
}

// Faults.

Duration SimulatedCluster::outage() {
  return Duration(dice_.percent(65) ? dice_.between(0, Duration(6s).count())
                                    : dice_.between(Duration(6s).count(), Duration(40s).count()));
}

void SimulatedCluster::make_fault() {
  const std::int64_t pause = Duration(2min).count() / faults_per_minute_;
  next_fault_ = loop_.after(Duration(dice_.between(0, pause)), [this] { make_fault(); });
  Place& place = *places_[dice_.below(places_.size())];
  const int kind = static_cast<int>(dice_.below(kinds));
  if (!kinds_.contains(kind)) return;
  ++faults_made_;
  const Duration time = outage();
  switch (kind) {
    case master_dies:
      if (dice_.percent(30)) return void(dies_after_answer_ = true);
      if (dice_.percent(30)) return void(dies_after_acknowledgement_ = true);
      kill_master();
      return later(time, [this] { start_master(); });
    case master_stops: {
      if (!master_ || master_->loop().is_stopped()) return;
      trace("master", "is stopped");
      master_->loop().stop();
      return later(time, [this, life = masters_] {
        if (master_ && masters_ == life && master_->loop().is_stopped()) master_->loop().resume();
      });
    }
    case agent_dies: kill_agent(place); return later(time, [this, &place] { start_agent(place); });
    case agent_stops: {
      if (!place.agent || place.agent->loop().is_stopped()) return;
      trace(place.host.name(), "its agent is stopped");
      place.agent->loop().stop();
      return later(time, [&place, life = place.lives] {
        if (place.agent && place.lives == life && place.agent->loop().is_stopped()) place.agent->loop().resume();
      });
    }
    case agent_leaves:
      if (!place.agent || dice_.percent(70)) return;
      trace(place.host.name(), "its agent leaves");
      return place.agent->leave(Duration(dice_.between(0, Duration(5s).count())));
    case host_reboots:
      kill_agent(place);
      trace(place.host.name(), "is rebooted");
      place.host.reboot();
      return later(1s + time, [this, &place] { start_agent(place); });
    case link_fails:
      trace(place.host.name(), "is cut off");
      network_.cut(MasterNode::host, place.host.name());
      return later(time, [this, &place] {
        trace(place.host.name(), "is connected again");
        network_.heal(MasterNode::host, place.host.name());
      });
    case messages_late:
      trace("world", "messages are late");
      weather_ = {Duration(dice_.between(0, Duration(3s).count())), static_cast<int>(dice_.between(0, 100))};
      return later(time, [this] { weather_ = {}; });
    case agent_disk_full: return fail_disk(place.host.disk, Duration{0}, place.host.name());
    case agent_disk_slow: return fail_disk(place.host.disk, time / 4, place.host.name());
    case master_disk_full: return fail_disk(master_disk_, Duration{0}, "master");
    case master_disk_slow: return fail_disk(master_disk_, time / 8, "master");
    case clock_is_set: return set_clock();
    default: return;
  }
}

/// Full, if `slowest` is 0.
void SimulatedCluster::fail_disk(Disk& disk, Duration slowest, const std::string& whose) {
  trace(whose, slowest == Duration{0} ? "its disk is full" : "its disk is slow");
  slowest == Duration{0} ? void(disk.full = true) : void(disk.slowest = std::max(slowest, normal_disk));
  later(outage() / 2, [&disk] { disk = {}; });
}

void SimulatedCluster::set_clock() {
  const Duration most = dice_.percent(70) ? Duration(1min) : Duration(10min);
  wall_ahead_ += Duration(dice_.between(-most.count(), most.count()));
  trace("world", "the clock is set");
}

}  // namespace cadre::sim
