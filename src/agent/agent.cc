#include "agent/agent.h"

#include <utility>

#include "agent/host_facts.h"
#include "base/overloaded.h"
#include "describe/describe.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
namespace host = cluster::host;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;
using cluster::lease::Reason;

constexpr Duration tick_every = 100ms;
constexpr Duration refused_max = 10s;  // a master that has just started may need a moment to know its agents
constexpr Duration unreachable_after = 5s;
constexpr Duration durable_after = 1s;  // an ending that the master has not confirmed by then
constexpr Duration up_after_max = 10s;  // then a task is taken to be up, whether it has attached or not

std::vector<host::Found> leases_of(const std::vector<FoundTask>& found) {
  std::vector<host::Found> leases;
  for (const FoundTask& one : found) leases.push_back({one.lease, one.launch.manners.fence, one.ending});
  return leases;
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::make(const Ground& ground, Options options) {
  const std::vector<FoundTask> found = find_tasks(options.tasks, options.boot, ground.log);
  TRY_ASSIGN(walls, Walls::open(options.walls));
  std::unique_ptr<Agent> agent(new Agent(ground, std::move(options), std::move(walls), found));
  TRY(agent->connect());
  for (const FoundTask& one : found) {
    if (!one.launch.confinement.runtime.empty()) agent->use_runtime(one.lease);
    if (one.launch.waited_as) agent->folders_.settle(one.lease, *one.launch.waited_as);
    if (one.ending) {
      agent->ship_rest(one.lease, *one.ending);
    } else if (one.rebooted) {
      agent->ended(one.lease, {Reason::agent_lost, 0, "its host was rebooted", {}, all_output});
    } else {
      agent->take_over(one.lease);
    }
  }
  agent->old_templates_ = supervised(agent->options_.tasks).templates;
  agent->tick();
  return agent;
}

Agent::Agent(const Ground& ground, Options options, Walls walls, const std::vector<FoundTask>& found)
    : ground_(ground),
      options_(std::move(options)),
      walls_(std::move(walls)),
      host_(options_.introduction, leases_of(found), ground.loop.now()),
      folders_(options_.tasks),
      unsent_(ground.loop, ground.log, "messages to the master"),
      bulk_(ground.network, ground.log),
      shipper_(ground.loop, bulk_, ground.log,
               {[this](LeaseId lease, std::int64_t end) {
                  const auto link = links_.find(lease);
                  if (link != links_.end()) link->second->send(supervision::OutputStored{end});
                },
                [this](LeaseId lease) {
                  shipped_.insert(lease);
                  let_go(lease);
                }}),
      warm_({ground_.loop, ground_.pool, ground_.log, folders_,
             [this](supervision::Launch launch, std::string owner) {
               return start_waiting(std::move(launch), std::move(owner));
             },
             [this](const host::WarmKind& kind) {
               return walls_.confine({kind.owner,
                                      kind.rights,
                                      kind.isolation,
                                      kind.run_as_root,
                                      kind.command.python,
                                      program_of(kind.command),
                                      kind.command.mounts,
                                      {}});
             },
             [this] { return cold_.size(); }, python_variables()},
            options_.warm, options_.cgroup),
      disk_(options_.tasks, options_.disk) {}

Agent::~Agent() = default;

Result<void> Agent::connect() {
  TRY_ASSIGN(control, ground_.network.connect(options_.control, [this](BytesView bytes) { hear_master(bytes); }));
  control_ = std::move(control);
  TRY(bulk_.connect(options_.bulk));
  TRY_ASSIGN(code, CodeCache::open({options_.code}, ground_.loop, ground_.pool, bulk_, ground_.log));
  code_ = std::move(code);
  return {};
}

void Agent::tick() {
  ticking_ = ground_.loop.after(tick_every, [this] { tick(); });
  look_for_obstacles();
  host_.tick(load_of_host(), ground_.loop.now());
  perform();
  keep_endings();
  std::erase_if(cold_, [&](const auto& one) { return ground_.loop.now() - one.second >= up_after_max; });
  warm_.tick();
  look_at_old_templates();
  look_if_admitted();
  look_if_heard();
}

void Agent::look_at_old_templates() {
  std::erase_if(old_templates_, [this](const std::string& folder) {
    if (is_supervised(folder)) return false;
    ground_.loop.spawn(remove_template(folder));
    return true;
  });
}

loop::Task<void> Agent::remove_template(std::string folder) {
  const auto removed = co_await ground_.pool.run([&] { return loop::remove_all(folder); });
  if (!removed) ground_.log.warning("the folder of a template stays: " + removed.error().message);
}

void Agent::look_for_obstacles() {
  const TimePoint now = ground_.loop.now();
  const std::string& of_disk = disk_.obstacle(now);
  const std::string& obstacle = of_disk.empty() ? starts_.obstacle(now) : of_disk;
  if (obstacle == host_.obstacle()) return;
  obstacle.empty() ? ground_.log.info("it takes work again") : ground_.log.warning("it takes no work: " + obstacle);
  host_.set_obstacle(obstacle, ground_.loop.now());
}

void Agent::keep_endings() {
  std::vector<std::string> paths;
  std::erase_if(unconfirmed_, [&](const auto& one) {
    const bool is_late = ground_.loop.now() - one.second >= durable_after;
    if (is_late) paths.push_back(folders_.at(one.first).path() + "/ending");
    return is_late;
  });
  if (paths.empty()) return;
  ground_.loop.spawn(make_durable(std::move(paths)));
}

loop::Task<void> Agent::make_durable(std::vector<std::string> paths) {
  co_await ground_.pool.run([&]() -> Result<void> {
    for (const std::string& path : paths) static_cast<void>(loop::make_durable(path));  // it may be gone by now
    return {};
  });
}

void Agent::end_tasks(Duration grace, std::function<void()> done) {
  if (!std::exchange(leaving_, true)) host_.say_goodbye({.last = false});
  end_remaining(grace, std::move(done));
}

void Agent::end_remaining(Duration grace, std::function<void()> done) {
  host_.end_all(grace);
  perform();
  warm_.end_all();
  if (!host_.runs_something() && warm_.empty()) {
    say_goodbye();
    return done();
  }
  ending_ = ground_.loop.after(
      tick_every, [this, grace, done = std::move(done)]() mutable { end_remaining(grace, std::move(done)); });
}

void Agent::say_goodbye() {
  host_.say_goodbye({.last = true});
  perform();
}

void Agent::look_if_heard() {
  const TimePoint acknowledged = host_.permitted_until() - host_.abandon_after();
  const Duration silence_max = std::max<Duration>(unreachable_after, host_.abandon_after() / 2);
  const bool is_silent = ground_.loop.now() - acknowledged > silence_max;
  if (refused_since_ || leaving_ || is_silent == std::exchange(said_unreachable_, is_silent)) return;
  is_silent ? ground_.log.warning("cannot reach the master at " + options_.control.address + "; trying again")
            : ground_.log.info("the master answers again");
}

void Agent::look_if_admitted() {
  const std::uint64_t refusals = control_->counters().refused_key;
  const bool is_refused = std::exchange(refusals_, refusals) != refusals;
  if (host_.welcomed()) return refused_since_.reset();
  if (!is_refused) return;
  const TimePoint now = ground_.loop.now();
  if (!refused_since_) {
    refused_since_ = now;
    ground_.log.warning("the master does not admit the key of this agent");
  }
  if (now - *refused_since_ < refused_max || !end_) return;
  end_(
      "the master does not admit the key of this agent: it was removed, or the master's database is another; let it "
      "join anew with a token from cadre agent token");
}

void Agent::hear_master(BytesView bytes) {
  const auto message = describe::read_msgpack<messages::FromMaster>(bytes);
  if (!message) return ground_.log.warning("a message of the master is not understood; are both the same version?");
  host_.hear(*message, ground_.loop.now());
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
                   if (const auto sent = control_->send(describe::write_msgpack(one.message)); !sent) {
                     unsent_.note(sent.error().message);
                   }
                 },
                 [&](const host::Launch& one) {
                   ground_.log.debug([&] { return "lease " + to_string(one.start.lease) + ": starts"; });
                   ground_.loop.spawn(launch(one.start));
                 },
                 [&](const host::ToSupervisor& one) {
                   if (const auto link = links_.find(one.lease); link != links_.end()) link->second->send(one.message);
                 },
                 [&](const host::Forget& one) {
                   unconfirmed_.erase(one.lease);
                   forgettable_.insert(one.lease);
                   let_go(one.lease);
                 },
                 [&](const host::GiveUp& one) {
                   const auto end = [this, why = "the master refuses this agent: " + one.why] {
                     if (end_) end_(why);
                   };
                   one.removed ? ground_.loop.post([this, end] { end_remaining(Duration{0}, end); }) : end();
                 },
                 [&](const host::Belong& one) {
                   if (options_.belong) options_.belong(one.cluster);
                 },
             },
             effect);
}

}  // namespace cadre::agent
