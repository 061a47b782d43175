#include "agent/agent.h"

#include <limits>
#include <utility>

#include "agent/host_facts.h"
#include "base/overloaded.h"
#include "describe/describe.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
using cluster::TaskEnding;
namespace host = cluster::host;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;
using cluster::lease::Reason;

constexpr Duration tick_every = 100ms;
constexpr Duration refused_max = 10s;   // a master that has just started may need a moment to know its agents
constexpr Duration up_after_max = 10s;  // then a task is taken to be up, whether it has attached or not

std::vector<host::Found> leases_of(const std::vector<FoundTask>& found) {
  std::vector<host::Found> leases;
  for (const FoundTask& one : found) leases.push_back({one.lease, one.launch.manners.fence, one.ending});
  return leases;
}

bool has_code(const cluster::Command& command) { return !command.code.empty() || !command.setup.empty(); }

std::string join(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::make(const Ground& ground, Options options) {
  const std::vector<FoundTask> found = find_tasks(options.tasks, ground.log);
  std::unique_ptr<Agent> agent(new Agent(ground, std::move(options), found));
  TRY(agent->connect());
  for (const FoundTask& one : found) {
    if (one.launch.waited_as) agent->folders_.settle(one.lease, *one.launch.waited_as);
    one.ending ? agent->ship_rest(one.lease, *one.ending) : agent->take_over(one.lease);
  }
  agent->tick();
  return agent;
}

Agent::Agent(const Ground& ground, Options options, const std::vector<FoundTask>& found)
    : ground_(ground),
      options_(std::move(options)),
      host_(options_.introduction, leases_of(found), ground.loop.now()),
      folders_(options_.tasks),
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
             [this](supervision::Launch launch) { return start_waiting(std::move(launch)); },
             [this] { return cold_.size(); }},
            options_.warm, options_.cgroup) {}

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
  host_.tick(load_of_host(), ground_.loop.now());
  perform();
  std::erase_if(cold_, [&](const auto& one) { return ground_.loop.now() - one.second >= up_after_max; });
  warm_.tick();
  look_if_admitted();
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
                     ground_.log.warning("the master takes no messages: " + sent.error().message);
                   }
                 },
                 [&](const host::Launch& one) { ground_.loop.spawn(launch(one.start)); },
                 [&](const host::ToSupervisor& one) {
                   if (const auto link = links_.find(one.lease); link != links_.end()) link->second->send(one.message);
                 },
                 [&](const host::Forget& one) {
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

loop::Task<void> Agent::launch(messages::Start start) {
  if (!adopt(start)) co_await launch_cold(std::move(start));
}

bool Agent::adopt(const messages::Start& start) {
  if (!start.command.warm) return false;
  const supervision::FromAgent message = supervision::Adopt{launch_of(start)};
  if (describe::write_msgpack(message).size() > supervision::packet_bytes_max) return false;
  std::optional<WarmProcesses::Taken> taken = warm_.take(start);
  if (!taken) return false;
  taken->link->listen(handler_for(start.lease));
  taken->link->send(message);
  adoptions_.emplace(start.lease, Adoption{start, std::move(*taken)});
  return true;
}

void Agent::adopted(const LeaseId& lease) {
  const auto adoption = adoptions_.extract(lease);
  WarmProcesses::Taken& process = adoption.mapped().process;
  folders_.settle(lease, process.home);
  shipper_.add(lease, folders_.at(lease).output());
  links_[lease] = std::move(process.link);
}

void Agent::not_adopted(const LeaseId& lease) {
  const auto adoption = adoptions_.extract(lease);
  ground_.loop.spawn(give_back(adoption.mapped().process.home));
  ground_.loop.spawn(launch_cold(std::move(adoption.mapped().start)));
}

loop::Task<void> Agent::launch_cold(messages::Start start) {
  if (start.command.warm) cold_[start.lease] = ground_.loop.now();
  Result<loop::Descriptor> socket = co_await start_supervisor(start);
  if (!socket && !options_.can_start()) {
    // An agent that fails every task is worse than none. What was begun is found by the next one, and run again.
    if (end_) end_("cadre-supervisor has died, and no task can be started without it; start this agent again");
    co_return;
  }
  if (!socket) {
    ended(start.lease, {Reason::failed_to_start, 0, socket.error().message, {}, 0});
    co_return;
  }
  shipper_.add(start.lease, folders_.at(start.lease).output());
  links_[start.lease] = std::make_unique<SupervisorLink>(ground_.loop, std::move(*socket), handler_for(start.lease));
}

loop::Task<Result<loop::Descriptor>> Agent::start_supervisor(const messages::Start& start) {
  CO_TRY(co_await place_code(start.lease, start.command));
  if (!host_.may_start(start.lease)) co_return fail(Errc::conflict, "it was stopped before it began");
  const supervision::Launch launch = launch_of(start);
  co_return co_await start_in_folder(launch);
}

loop::Task<Result<loop::Descriptor>> Agent::start_waiting(supervision::Launch launch) {
  CO_TRY(co_await place_code(launch.lease, launch.command));
  co_return co_await start_in_folder(launch);
}

loop::Task<Result<void>> Agent::place_code(const LeaseId& lease, const cluster::Command& command) {
  if (!has_code(command)) co_return Result<void>();
  CO_TRY_ASSIGN(folder, co_await ground_.pool.run([&] { return folders_.make(lease); }));
  CodeRequest request{command.code, command.setup, command.variables};
  co_return co_await code_->place(std::move(request), folder.work());
}

loop::Task<Result<loop::Descriptor>> Agent::start_in_folder(const supervision::Launch& launch) {
  co_return co_await ground_.pool.run([&]() -> Result<loop::Descriptor> {
    if (!has_code(launch.command)) TRY(folders_.make(launch.lease));
    const TaskFolder folder = folders_.at(launch.lease);
    TRY(folder.write_launch(launch));
    return options_.start_supervisor(folder.path());
  });
}

supervision::Launch Agent::launch_of(const messages::Start& start) const {
  supervision::Launch launch;
  launch.lease = start.lease;
  launch.command = start.command;
  launch.limits = start.limits;
  launch.manners = start.manners;
  launch.variables = variables_for(start);
  launch.cgroup = options_.cgroup;
  launch.abandon_after = host_.abandon_after();
  if (start.manners.fence == cluster::Fence::strict) launch.permit_until = host_.permitted_until().time_since_epoch();
  return launch;
}

std::map<std::string, std::string> Agent::variables_for(const messages::Start& start) const {
  std::map<std::string, std::string> variables{
      {"CADRE_MASTER", start.pass.master},
      {"CADRE_TOKEN", start.pass.token},
      {"CADRE_AGENT", options_.introduction.agent.id.value},
      {"CADRE_TASK", cluster::to_string(start.lease.task)},
      {"CADRE_LEASE", cluster::to_string(start.lease)},
      {"CADRE_EPOCH", std::to_string(start.lease.epoch.value)},
      {"CADRE_ROLE", start.role},
      {"CADRE_RANK", std::to_string(start.rank)},
      {"CADRE_ROLE_RANK", std::to_string(start.role_rank)},
      {"CADRE_SIZE", std::to_string(start.size)},
      {"CADRE_SLOTS", join(start.slots)},
  };
  if (!options_.python_path.empty()) variables["PYTHONPATH"] = options_.python_path;
  if (options_.introduction.agent.slot_kind == cluster::SlotKind::cuda) {
    std::string devices;
    for (const std::int32_t slot : start.slots) {
      const auto at = static_cast<std::size_t>(slot);
      if (at >= options_.introduction.slots.size()) continue;
      devices += (devices.empty() ? "" : ",") + options_.introduction.slots[at].device;
    }
    variables["CUDA_VISIBLE_DEVICES"] = devices;
  }
  return variables;
}

void Agent::ship_rest(const LeaseId& lease, const TaskEnding& ending) {
  if (shipped_.contains(lease)) return;
  shipper_.add(lease, folders_.at(lease).output());
  shipper_.ended(lease, ending.output_end);
}

void Agent::take_over(const LeaseId& lease) {
  const TaskFolder folder = folders_.at(lease);
  shipper_.add(lease, folder.output());
  links_[lease] = std::make_unique<SupervisorLink>(ground_.loop, folder.path(), handler_for(lease));
}

SupervisorLink::Handler Agent::handler_for(const LeaseId& lease) {
  return {
      [this, lease](const supervision::FromSupervisor& message) { heard(lease, message); },
      [this, lease] { supervisor_gone(lease); },
  };
}

void Agent::heard(const LeaseId& lease, const supervision::FromSupervisor& message) {
  if (adoptions_.contains(lease)) {  // what it said before was not about this lease
    if (std::holds_alternative<supervision::Adopted>(message)) adopted(lease);
    return;
  }
  if (const auto* status = std::get_if<supervision::Status>(&message)) {
    status->ending ? ship_rest(lease, *status->ending) : shipper_.grown(lease, status->output_end);
    if (status->attached || status->ending) cold_.erase(lease);
  }
  host_.hear(lease, message, ground_.loop.now());
  perform();
}

void Agent::supervisor_gone(const LeaseId& lease) {
  if (adoptions_.contains(lease)) {
    return ground_.loop.post([this, lease] { not_adopted(lease); });  // never while it calls
  }
  cold_.erase(lease);
  ground_.loop.post([this, lease] {  // never while it calls
    links_.erase(lease);
    let_go(lease);
  });
  if (host_.has_ended(lease)) return;
  const TaskFolder folder = folders_.at(lease);
  if (const std::optional<TaskEnding> ending = folder.ending()) {
    supervision::Status last_words;
    last_words.ending = *ending;
    return heard(lease, last_words);
  }
  // All of its output that is on disk counts, wherever that ends.
  TaskEnding ending{Reason::signalled, 9, "its supervisor was killed", {}, std::numeric_limits<std::int64_t>::max()};
  if (!folder.was_begun()) ending = {Reason::agent_lost, 0, "its agent was killed before it began", {}, 0};
  ended(lease, ending);
}

void Agent::ended(const LeaseId& lease, TaskEnding ending) {
  ship_rest(lease, ending);
  if (ending.output_end == std::numeric_limits<std::int64_t>::max()) ending.output_end = 0;  // nobody knows
  host_.ended(lease, ending, ground_.loop.now());
  perform();
}

void Agent::let_go(const LeaseId& lease) {
  if (!forgettable_.contains(lease) || !shipped_.contains(lease) || links_.contains(lease)) return;
  forgettable_.erase(lease);
  shipped_.erase(lease);
  ground_.loop.spawn(give_back(lease));
}

loop::Task<void> Agent::give_back(LeaseId lease) {
  const auto done = co_await ground_.pool.run([&]() -> Result<void> { return folders_.give_back(folders_.at(lease)); });
  if (!done) ground_.log.warning("a folder of a task stays: " + done.error().message);
}

}  // namespace cadre::agent
