#include "agent/agent.h"

#include <cstdio>
#include <limits>
#include <utility>

#include "agent/host_facts.h"
#include "base/overloaded.h"
#include "describe/describe.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
using cluster::TaskEnding;
namespace host = cluster::host;
namespace messages = cluster::messages;
namespace supervision = cluster::supervision;
using cluster::lease::Reason;

constexpr std::int64_t all_output = std::numeric_limits<std::int64_t>::max();  // that is on disk, wherever it ends
constexpr Duration tick_every = 100ms;
constexpr Duration refused_max = 10s;  // a master that has just started may need a moment to know its agents
constexpr Duration unreachable_after = 5s;
constexpr Duration look_every = 20ms;   // whether somebody else has done a setup
constexpr Duration dying_max = 5s;      // a supervisor that was killed needs so long at most to be gone
constexpr Duration durable_after = 1s;  // an ending that the master has not confirmed by then
constexpr Duration up_after_max = 10s;  // then a task is taken to be up, whether it has attached or not

std::vector<host::Found> leases_of(const std::vector<FoundTask>& found) {
  std::vector<host::Found> leases;
  for (const FoundTask& one : found) leases.push_back({one.lease, one.launch.manners.fence, one.ending});
  return leases;
}

/// So that programs of tasks find the package of cadre beside the agent.
std::map<std::string, std::string> variables_of(const std::string& python_path) {
  if (python_path.empty()) return {};
  return {{"PYTHONPATH", python_path}};
}

bool has_code(const cluster::Command& command) { return !command.code.empty() || !command.setup.empty(); }

/// What a setup sees decides what it makes: of another user, or with other mounts, it would be another tree.
CodeRequest code_request(const cluster::Command& command, const std::string& owner) {
  CodeRequest request{command.code, command.setup, command.variables, ""};
  if (command.setup.empty()) return request;
  request.scope = owner + "\n" + command.python + "\n";
  for (const cluster::Mount& mount : command.mounts) request.scope += describe::write_json(mount) + "\n";
  return request;
}

/// Runs each command in a shell of its own, and says which one failed.
std::vector<std::string> setup_program(const std::vector<std::string>& commands) {
  std::vector<std::string> argv{"/bin/sh", "-c",
                                "for command; do /bin/sh -c \"$command\" || { code=$?; "
                                "echo \"setup command '$command' ended with exit code $code\" >&2; exit $code; }; done",
                                "setup"};
  argv.insert(argv.end(), commands.begin(), commands.end());
  return argv;
}

/// The end of what was written, for people.
std::string last_lines(const std::string& output, std::int64_t end) {
  constexpr std::int64_t looked_at_max = std::int64_t{4} << 20;
  constexpr std::size_t shown_max = 2'000;
  if (end > looked_at_max) return "";
  logs::SpoolReader reader(output);
  std::string text;
  for (std::int64_t offset = 0;;) {
    const Result<logs::Chunk> chunk = reader.read(offset, 65'536);
    if (!chunk || chunk->bytes.empty()) break;
    logs::Decoder decoder(chunk->bytes);
    while (const auto line = decoder.next()) text.append(line->text).append("\n");
    if (text.size() > 2 * shown_max) text.erase(0, text.size() - shown_max);
    offset = chunk->next();
  }
  if (text.size() > shown_max) text.erase(0, text.find('\n', text.size() - shown_max) + 1);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

TaskEnding stopped_before() { return {Reason::signalled, 0, "it was stopped before it began", {}, 0}; }

const supervision::Stop kill_now{Reason::killed_by_user, Duration{0}};

/// Holds a key in a set as long as it lives.
class Claim {
 public:
  Claim(std::set<std::string>& all, std::string key) : all_(all), key_(std::move(key)) { all_.insert(key_); }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() { all_.erase(key_); }

 private:
  std::set<std::string>& all_;
  std::string key_;
};

std::string first_word(const cluster::Command& command) { return command.argv.empty() ? "" : command.argv.front(); }

std::string join(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
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
                                      first_word(kind.command),
                                      kind.command.mounts,
                                      {}});
             },
             [this] { return cold_.size(); }, variables_of(options_.python_path)},
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
                 [&](const host::Launch& one) { ground_.loop.spawn(launch(one.start)); },
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

loop::Task<void> Agent::launch(messages::Start start) {
  const Result<bool> adopted = adopt(start);
  if (!adopted) co_return ended(start.lease, {Reason::failed_to_start, 0, adopted.error().message, {}, 0});
  if (!*adopted) co_await launch_cold(std::move(start));
}

Result<bool> Agent::adopt(const messages::Start& start) {
  if (!start.command.warm) return false;
  TRY_ASSIGN(launch, launch_of(start));
  if (!launch.confinement.devices.empty()) return false;  // one that waits sees no devices
  launch.confinement.runtime.clear();                     // it has one of its own
  const supervision::FromAgent message = supervision::Adopt{std::move(launch)};
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
  const Result<supervision::Launch> admitted = launch_of(start);  // one that is refused runs no setup either
  std::optional<TaskEnding> failed;
  if (!admitted) failed = not_started(admitted.error());
  if (!failed) failed = co_await prepare(start);
  std::string forked_from;
  if (!failed && admitted->confinement.devices.empty() && start.size == 1) {  // a template sees none and shares nothing
    forked_from = co_await warm_.template_for(host::warm_kind_of(start),
                                              [this, lease = start.lease] { return host_.may_start(lease); });
  }
  if (!failed && !host_.may_start(start.lease)) failed = stopped_before();
  if (failed) {
    ended(start.lease, *std::move(failed));
    co_return;
  }
  Result<loop::Descriptor> socket = co_await start_supervisor(start, std::move(forked_from));
  if (!socket) {
    TaskEnding ending = not_started(socket.error());
    if (!start.command.setup.empty()) ending.output_end = all_output;  // of its setup
    ended(start.lease, std::move(ending));
    co_return;
  }
  shipper_.add(start.lease, folders_.at(start.lease).output());
  links_[start.lease] = std::make_unique<SupervisorLink>(ground_.loop, std::move(*socket), handler_for(start.lease));
}

loop::Task<Result<loop::Descriptor>> Agent::start_supervisor(messages::Start start, std::string forked_from) {
  CO_TRY_ASSIGN(launch, launch_of(start));
  launch.forked_from = std::move(forked_from);
  if (start.size > 1) {  // one alone shares it with nobody, and has one in memory
    CO_TRY_ASSIGN(runtime, walls_.make_runtime(start.lease.task.job, launch.confinement));
    launch.confinement.runtime = std::move(runtime);
    use_runtime(start.lease);
  }
  co_return co_await start_in_folder(launch);
}

TaskEnding Agent::not_started(const Error& error) {
  TaskEnding ending = ending_before_start(error);
  if (is_no_supervisor(error)) {  // the master must know before it hears of the end
    starts_.failed(error, ground_.loop.now());
    look_for_obstacles();
  }
  look_for_full_disk(ending);
  return ending;
}

/// The master must know before it hears of the end: else it would place the task here again.
void Agent::look_for_full_disk(const TaskEnding& ending) {
  if (ending.reason != Reason::agent_lost || !loop::is_disk_full({Errc::unavailable, ending.detail})) return;
  disk_.failed(ground_.loop.now());
  look_for_obstacles();
}

loop::Task<Result<loop::Descriptor>> Agent::start_waiting(supervision::Launch launch, std::string owner) {
  if (has_code(launch.command)) {
    CO_TRY_ASSIGN(folder, co_await ground_.pool.run([&] { return folders_.make(launch.lease); }));
    CodeRequest request = code_request(launch.command, owner);
    CO_TRY(co_await code_->place(std::move(request), folder.work()));
  }
  co_return co_await start_in_folder(launch);
}

loop::Task<std::optional<TaskEnding>> Agent::prepare(messages::Start start) {
  const LeaseId lease = start.lease;
  if (!has_code(start.command)) co_return std::nullopt;
  const Result<TaskFolder> folder = co_await ground_.pool.run([&] { return folders_.make(lease); });
  if (!folder) co_return not_started(folder.error());
  CodeRequest request = code_request(start.command, start.owner);
  const std::string key = CodeCache::key_of(request);
  while (preparing_.contains(key) && host_.may_start(lease)) co_await loop::sleep(ground_.loop, look_every);
  if (!host_.may_start(lease)) co_return stopped_before();
  if (start.command.setup.empty() || code_->has(request)) {
    const Result<void> placed = co_await code_->place(std::move(request), folder->work());
    if (!placed) co_return not_started(placed.error());
    co_return std::nullopt;
  }
  const Claim claim(preparing_, key);
  if (!start.command.code.empty()) {
    CodeRequest bare;
    bare.hash = start.command.code;
    const Result<void> placed = co_await code_->place(std::move(bare), folder->work());
    if (!placed) co_return not_started(placed.error());
  }
  if (!host_.may_start(lease)) co_return stopped_before();
  std::optional<TaskEnding> failed = co_await run_setup(start);
  if (failed) co_return failed;
  const Result<void> published = co_await code_->publish(std::move(request), folder->work());
  if (!published) {
    ground_.log.warning("what the setup of " + to_string(lease) + " made is not kept: " + published.error().message);
  }
  folder->remove_ending();
  co_return std::nullopt;
}

loop::Task<std::optional<TaskEnding>> Agent::run_setup(messages::Start start) {
  const LeaseId lease = start.lease;
  Result<supervision::Launch> made = launch_of(start);
  if (!made) co_return not_started(made.error());
  supervision::Launch launch = *std::move(made);
  launch.prepares = true;
  launch.command.argv = setup_program(start.command.setup);
  launch.command.folder.clear();
  launch.abandon_after = Duration{0};
  launch.permit_until.reset();  // it is stopped when the agent is cut off, and ends when the agent does
  Result<loop::Descriptor> socket = co_await start_in_folder(launch);
  if (!socket) co_return not_started(socket.error());
  shipper_.add(lease, folders_.at(lease).output());
  setups_[lease] = std::make_unique<SetupRun>(ground_.loop);
  SetupRun& run = *setups_[lease];
  links_[lease] = std::make_unique<SupervisorLink>(
      ground_.loop, std::move(*socket),
      SupervisorLink::Handler{
          [this, lease](const supervision::FromSupervisor& message) { setup_heard(lease, message); },
          [&run] { run.gone.open(); }});
  const Duration time_max = options_.setup_max * static_cast<std::int64_t>(start.command.setup.size());
  loop::Timer deadline = ground_.loop.after(time_max, [this, lease, &run] {
    run.late = true;
    if (const auto link = links_.find(lease); link != links_.end()) link->second->send(kill_now);
  });
  co_await run.gone.passed();
  deadline.cancel();
  links_.erase(lease);
  const TaskFolder folder = folders_.at(lease);
  const LeaseId home = folders_.home_of(lease);
  std::optional<TaskEnding> ending = run.ending ? run.ending : folder.ending();
  const bool late = run.late;
  setups_.erase(lease);
  if (!ending) {
    co_await ground_.pool.run([&]() -> Result<void> {
      options_.end_leftovers(folder.path(), home);
      return {};
    });
    ending = TaskEnding{Reason::signalled, 9, "the supervisor of its setup was killed", {}, all_output};
  }
  co_return judge_setup(lease, *std::move(ending), late);
}

void Agent::setup_heard(const LeaseId& lease, const supervision::FromSupervisor& message) {
  const auto* status = std::get_if<supervision::Status>(&message);
  const auto run = setups_.find(lease);
  if (status == nullptr || run == setups_.end()) return;
  shipper_.grown(lease, status->output_end);
  if (status->ending) {
    run->second->ending = status->ending;
  } else if (!host_.may_start(lease)) {  // it may have been told while nobody listened
    links_.at(lease)->send(kill_now);
  }
}

std::optional<TaskEnding> Agent::judge_setup(const LeaseId& lease, TaskEnding ending, bool late) {
  if (ending.reason == Reason::exited && ending.code == 0) return std::nullopt;
  look_for_full_disk(ending);
  if (!host_.may_start(lease)) return ending;
  std::string how = "ended with exit code " + std::to_string(ending.code);
  if (ending.reason == Reason::signalled) how = "was ended by signal " + std::to_string(ending.code);
  if (late) how = "did not end in time";
  const std::string lines = last_lines(folders_.at(lease).output(), ending.output_end);
  if (ending.reason == Reason::exited || ending.reason == Reason::signalled) {
    ending.reason = Reason::failed_to_start;
    ending.code = 0;
    ending.detail = "its setup " + how + (lines.empty() ? " and wrote nothing" : "; its last output:\n" + lines);
  } else {
    ending.detail = "its setup: " + ending.detail;
  }
  return ending;
}

loop::Task<Result<loop::Descriptor>> Agent::start_in_folder(const supervision::Launch& launch) {
  co_return co_await ground_.pool.run([&]() -> Result<loop::Descriptor> {
    if (!has_code(launch.command)) TRY(folders_.make(launch.lease));
    const TaskFolder folder = folders_.at(launch.lease);
    TRY(folder.write_launch(launch));
    Result<loop::Descriptor> started = options_.start_supervisor(folder.path());
    if (!started) return Failure(no_supervisor(started.error()));
    return started;
  });
}

Result<supervision::Launch> Agent::launch_of(const messages::Start& start) {
  supervision::Launch launch;
  TRY_ASSIGN(confinement,
             walls_.confine({start.owner, start.rights, start.manners.isolation, start.manners.run_as_root,
                             start.command.python, first_word(start.command), start.command.mounts, start.slots}));
  launch.confinement = std::move(confinement);
  launch.lease = start.lease;
  launch.command = start.command;
  launch.limits = start.limits;
  launch.manners = start.manners;
  launch.variables = variables_for(start);
  launch.cgroup = options_.cgroup;
  launch.abandon_after = host_.abandon_after();
  launch.boot = options_.boot;
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
  // Of a group file: two runs of it must not meet.
  if (const auto group = start.command.variables.find("CADRE_GROUP_NAME"); group != start.command.variables.end()) {
    variables["CADRE_GROUP"] = group->second + "-" + std::to_string(start.lease.task.job.value);
  }
  variables.merge(variables_of(options_.python_path));
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
  shipper_.ended(lease, ending.output_end, ending.output_lost);
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
    if (status->ending && !host_.has_ended(lease)) unconfirmed_.try_emplace(lease, ground_.loop.now());
    if (status->ending) look_for_full_disk(*status->ending);
    if (status->attached || status->ending) cold_.erase(lease);
  }
  if (const auto* said = std::get_if<supervision::NotForked>(&message)) warm_.not_forked(*said);
  host_.hear(lease, message, ground_.loop.now());
  perform();
}

void Agent::supervisor_gone(const LeaseId& lease) {
  if (adoptions_.contains(lease)) {
    return ground_.loop.post([this, lease] { not_adopted(lease); });  // never while it calls
  }
  cold_.erase(lease);
  const auto link = links_.find(lease);
  const bool was_watched = link != links_.end() && link->second->was_connected();
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
  TaskEnding ending{Reason::signalled, 9, "its supervisor was killed", {}, all_output};
  if (!was_watched) {  // it went while there was no agent either: the host was, not the task
    ending = {Reason::agent_lost, 0, "its supervisor was gone when its agent came back", {}, all_output};
  }
  if (!folder.was_begun()) ending = {Reason::agent_lost, 0, "its agent was killed before it began", {}, 0};
  ground_.loop.spawn(end_without_supervisor(lease, std::move(ending)));
}

loop::Task<void> Agent::end_without_supervisor(LeaseId lease, TaskEnding ending) {
  const TaskFolder folder = folders_.at(lease);
  const LeaseId home = folders_.home_of(lease);
  // A process that dies closes its connection before it lets go of its lock.
  const TimePoint patience = ground_.loop.now() + dying_max;
  bool is_supervised = agent::is_supervised(folder.path());
  while (is_supervised && ground_.loop.now() < patience) {
    co_await loop::sleep(ground_.loop, look_every);
    is_supervised = agent::is_supervised(folder.path());
  }
  if (is_supervised) {  // by one that was born when a nursery died
    take_over(lease);
    co_return;
  }
  co_await ground_.pool.run([&]() -> Result<void> {
    options_.end_leftovers(folder.path(), home);
    return {};
  });
  ended(lease, std::move(ending));
}

void Agent::ended(const LeaseId& lease, TaskEnding ending) {
  ship_rest(lease, ending);
  if (ending.output_end == all_output) ending.output_end = 0;  // nobody knows
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
  const auto sharing = sharing_.find(lease.task.job);
  if (sharing != sharing_.end() && sharing->second.erase(lease) > 0 && sharing->second.empty()) {
    sharing_.erase(sharing);
    // Out of the way at once: another task of the job may be about to start, and makes one anew.
    const std::string used = walls_.runtime_of(lease.task.job);
    const std::string runtime =
        used + ".of-" + std::to_string(lease.task.member) + "-" + std::to_string(lease.epoch.value);
    if (std::rename(used.c_str(), runtime.c_str()) != 0) ground_.log.warning("a runtime folder stays: " + used);
    const auto removed = co_await ground_.pool.run([&] { return loop::remove_all(runtime); });
    if (!removed) ground_.log.warning("a runtime folder stays: " + removed.error().message);
  }
  const auto done = co_await ground_.pool.run([&]() -> Result<void> { return folders_.give_back(folders_.at(lease)); });
  if (!done) ground_.log.warning("a folder of a task stays: " + done.error().message);
}

}  // namespace cadre::agent
