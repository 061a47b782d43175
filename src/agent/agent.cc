#include "agent/agent.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/overloaded.h"
#include "cluster/message_text.h"
#include "describe/describe.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
namespace host = cluster::host;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;
using cluster::TaskEnding;

constexpr Duration tick_every = 100ms;
constexpr Duration refused_max = 10s;  // a master that has just started may need a moment to know its agents
constexpr Duration unreachable_after = 5s;
constexpr Duration reconnect_after = 15s;
constexpr Duration durable_after = 1s;  // an ending that the master has not confirmed by then
void log_end(Log& log, const LeaseId& lease, const TaskEnding& ending) {
  log.debug([&] {
    return "lease " + to_string(lease) + ": ended, " + std::string(describe::name_of(ending.reason)) + " " +
           std::to_string(ending.code) + (ending.detail.empty() ? "" : ": " + ending.detail);
  });
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::make(const Dependencies& deps, Options options) {
  std::unique_ptr<Agent> agent(new Agent(deps, std::move(options)));
  TRY(agent->connect());
  agent->begin();
  return agent;
}

Agent::Agent(const Dependencies& deps, Options options)
    : deps_(deps),
      options_(std::move(options)),
      host_(options_.introduction, deps.runtime.found(), deps.loop.now()),
      unsent_(deps.loop, deps.log, "messages to the master"),
      shipper_(deps.loop, deps.bulk, deps.log,
               {[this](LeaseId lease, std::int64_t end) { deps_.runtime.send(lease, supervision::OutputStored{end}); },
                [this](LeaseId lease) {
                  shipped_.insert(lease);
                  let_go(lease);
                }}) {}

Agent::~Agent() = default;

Result<void> Agent::connect() {
  TRY(connect_control());
  return deps_.bulk.connect(options_.bulk);
}

Result<void> Agent::connect_control() {
  TRY_ASSIGN(control, deps_.network.connect(options_.control, [this](BytesView bytes) { hear_master(bytes); }));
  control_ = std::move(control);
  refusals_ = 0;
  return {};
}

void Agent::begin() {
  const std::vector<host::Found> found = deps_.runtime.found();
  deps_.runtime.begin(
      host_, {[this](const LeaseId& lease, std::int64_t end) { has_output(lease, end); },
              [this](const LeaseId& lease, const supervision::FromSupervisor& message) { heard(lease, message); },
              [this](const LeaseId& lease, const TaskEnding& ending) { ended(lease, ending); }});
  for (const host::Found& one : found) {
    if (one.ending) ship_rest(one.lease, *one.ending);
  }
  tick();
}

void Agent::tick() {
  ticking_ = deps_.loop.after(tick_every, [this] { tick(); });
  look_for_obstacles();
  host_.tick(options_.load ? options_.load() : messages::Load{}, deps_.loop.now());
  perform();
  keep_endings();
  look_if_admitted();
  look_if_connected();
  look_if_heard();
}

void Agent::look_for_obstacles() {
  const std::string obstacle = deps_.runtime.obstacle();
  if (obstacle == host_.obstacle()) return;
  obstacle.empty() ? deps_.log.info("the agent accepts work again")
                   : deps_.log.warning("the agent accepts no work: " + obstacle);
  host_.set_obstacle(obstacle, deps_.loop.now());
}

void Agent::keep_endings() {
  std::vector<LeaseId> late;
  std::erase_if(unconfirmed_, [&](const auto& one) {
    const bool is_late = deps_.loop.now() - one.second >= durable_after;
    if (is_late) late.push_back(one.first);
    return is_late;
  });
  if (!late.empty()) deps_.runtime.keep_endings(late);
}

void Agent::has_output(const LeaseId& lease, std::int64_t end) {
  if (host_.has_ended(lease)) return;
  ship(lease);
  shipper_.grown(lease, end);
}

void Agent::ship(const LeaseId& lease) {
  if (shipped_.contains(lease) || shipper_.knows(lease)) return;
  shipper_.add(lease, deps_.runtime.output(lease));
}

void Agent::ship_rest(const LeaseId& lease, const TaskEnding& ending) {
  if (shipped_.contains(lease)) return;
  ship(lease);
  shipper_.ended(lease, ending.output_end, ending.output_lost);
}

void Agent::heard(const LeaseId& lease, const supervision::FromSupervisor& message) {
  const auto* status = std::get_if<supervision::Status>(&message);
  if (status != nullptr && status->ending && !host_.has_ended(lease)) {
    log_end(deps_.log, lease, *status->ending);
    unconfirmed_.try_emplace(lease, deps_.loop.now());
    ship_rest(lease, *status->ending);
    look_for_obstacles();  // the master must know before it hears of the end: else it would place the task here again
  }
  host_.hear(lease, message, deps_.loop.now());
  perform();
}

void Agent::ended(const LeaseId& lease, TaskEnding ending) {
  log_end(deps_.log, lease, ending);
  ship_rest(lease, ending);
  if (ending.output_end == all_output) ending.output_end = 0;  // nobody knows
  look_for_obstacles();                                        // as above
  host_.ended(lease, ending, deps_.loop.now());
  perform();
}

void Agent::let_go(const LeaseId& lease) {
  if (!forgettable_.contains(lease) || !shipped_.contains(lease)) return;
  forgettable_.erase(lease);
  shipped_.erase(lease);
  deps_.runtime.remove(lease);
}

void Agent::end_tasks(Duration grace, std::function<void()> done) {
  if (!std::exchange(leaving_, true)) host_.say_goodbye({.last = false});
  end_remaining(grace, std::move(done));
}

void Agent::end_remaining(Duration grace, std::function<void()> done) {
  host_.end_all(grace);
  perform();
  deps_.runtime.end_spare();
  if (!host_.runs_something() && !deps_.runtime.has_spare()) {
    say_goodbye();
    return done();
  }
  ending_ = deps_.loop.after(
      tick_every, [this, grace, done = std::move(done)]() mutable { end_remaining(grace, std::move(done)); });
}

void Agent::say_goodbye() {
  host_.say_goodbye({.last = true});
  perform();
}

void Agent::look_if_heard() {
  const TimePoint acknowledged = host_.permitted_until() - host_.abandon_after();
  const Duration silence_max = std::max<Duration>(unreachable_after, host_.abandon_after() / 2);
  const bool is_silent = deps_.loop.now() - acknowledged > silence_max;
  if (refused_since_ || leaving_ || is_silent == std::exchange(said_unreachable_, is_silent)) return;
  is_silent ? deps_.log.warning("cannot reach the master at " + options_.control.address + "; trying again")
            : deps_.log.info("the master answers again");
}

void Agent::look_if_admitted() {
  const std::uint64_t refusals = control_->counters().refused_key;
  const bool is_refused = std::exchange(refusals_, refusals) != refusals;
  if (host_.welcomed()) return refused_since_.reset();
  if (!is_refused) return;
  const TimePoint now = deps_.loop.now();
  if (!refused_since_) {
    refused_since_ = now;
    deps_.log.warning("the master does not admit the key of this agent");
  }
  if (now - *refused_since_ < refused_max || !end_) return;
  end_(
      "the master does not admit the key of this agent: it was removed, or the master's database is another; let it "
      "join again with a token from cadre agent token");
}

/// A master that has revoked the key of this agent is silent on the connections that there are. It refuses new ones.
/// The agents of a master that is away do not all come at once.
void Agent::look_if_connected() {
  const TimePoint now = deps_.loop.now();
  if (host_.welcomed() || refused_since_) {
    connected_ = now;
    reconnections_ = 0;
  }
  constexpr int doublings_max = 4;
  const Duration wait = reconnect_after * (1 << std::min(reconnections_, doublings_max));
  const auto part =
      static_cast<std::int64_t>(fnv1a(options_.introduction.identity + std::to_string(reconnections_)) % 1'000);
  if (now - connected_ < wait + wait * part / 1'000) return;
  connected_ = now;
  ++reconnections_;
  if (const Result<void> done = connect_control(); !done) {
    deps_.log.warning("cannot connect to the master again: " + done.error().message);
  }
}

void Agent::hear_master(BytesView bytes) {
  const auto message = describe::read_msgpack<messages::FromMaster>(bytes);
  if (!message)
    return deps_.log.warning("cannot read a message of the master; check that agent and master have the same version");
  if (!is_heartbeat(*message)) deps_.log.debug([&] { return "received " + in_words(message->body); });
  host_.hear(*message, deps_.loop.now());
  perform();
}

void Agent::perform() {
  if (std::exchange(performing_, true)) return;  // what is going on takes the new ones too
  for (std::vector<host::Effect> effects = host_.take(); !effects.empty(); effects = host_.take()) {
    for (const host::Effect& effect : effects) perform(effect);
  }
  performing_ = false;
}

void Agent::perform(const host::Effect& effect) {
  std::visit(overloaded{
                 [&](const host::ToMaster& one) {
                   if (!is_heartbeat(one.message))
                     deps_.log.debug([&] { return "sends " + in_words(one.message.body); });
                   if (const auto sent = control_->send(describe::write_msgpack(one.message)); !sent) {
                     unsent_.note(sent.error().message);
                   }
                 },
                 [&](const host::Launch& one) { deps_.runtime.start(one.start); },
                 [&](const host::ToSupervisor& one) { deps_.runtime.send(one.lease, one.message); },
                 [&](const host::Forget& one) {
                   unconfirmed_.erase(one.lease);
                   forgettable_.insert(one.lease);
                   let_go(one.lease);
                 },
                 [&](const host::GiveUp& one) {
                   const auto end = [this, why = "the master refuses this agent: " + one.why] {
                     if (end_) end_(why);
                   };
                   one.removed ? deps_.loop.post([this, end] { end_remaining(Duration{0}, end); }) : end();
                 },
                 [&](const host::Belong& one) {
                   if (options_.belong) options_.belong(one.cluster);
                 },
             },
             effect);
}

}  // namespace cadre::agent
