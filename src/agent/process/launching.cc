// How tasks are started: their code, their setup commands, and a supervisor for each.
#include <utility>

#include "agent/process/process_runtime.h"
#include "base/rounded.h"
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

constexpr Duration setup_look_every = 20ms;  // whether somebody else has done a setup

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
  const std::unique_ptr<OutputSource> source = open_spool(output);
  std::string text;
  for (std::int64_t offset = 0;;) {
    const Result<logs::Chunk> chunk = source->read(offset, 65'536);
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

std::string join(const std::vector<std::int32_t>& numbers) {
  std::string text;
  for (const std::int32_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

}  // namespace

loop::Task<void> ProcessRuntime::launch(messages::Start start) {
  const Result<bool> adopted = adopt(start);
  if (!adopted) co_return events_.ended(start.lease, {Reason::failed_to_start, 0, adopted.error().message, {}, 0});
  if (!*adopted) co_await launch_cold(std::move(start));
}

Result<bool> ProcessRuntime::adopt(const messages::Start& start) {
  if (!start.command.warm) return false;
  TRY_ASSIGN(launch, launch_of(start));
  if (!launch.confinement.devices.empty()) return false;  // one that waits sees no devices
  launch.confinement.runtime.clear();                     // it has one of its own
  std::vector<std::string> hidden = walls_.must_hide(launch.confinement);
  const supervision::FromAgent message = supervision::Adopt{std::move(launch)};
  if (describe::write_msgpack(message).size() > supervision::packet_bytes_max) return false;
  std::optional<WarmProcesses::Taken> taken = warm_.take(start, std::move(hidden));
  if (!taken) return false;
  taken->link->listen(handler_for(start.lease));
  taken->link->send(message);
  adoptions_.emplace(start.lease, Adoption{start, std::move(*taken)});
  return true;
}

void ProcessRuntime::adopted(const LeaseId& lease) {
  const auto adoption = adoptions_.extract(lease);
  WarmProcesses::Taken& process = adoption.mapped().process;
  folders_.settle(lease, process.home);
  links_[lease] = std::move(process.link);
  events_.output(lease, 0);
}

void ProcessRuntime::not_adopted(const LeaseId& lease) {
  const auto adoption = adoptions_.extract(lease);
  deps_.loop.spawn(give_back(adoption.mapped().process.home));
  deps_.loop.spawn(launch_cold(std::move(adoption.mapped().start)));
}

loop::Task<void> ProcessRuntime::launch_cold(messages::Start start) {
  if (start.command.warm) cold_[start.lease] = deps_.loop.now();
  const Result<supervision::Launch> admitted = launch_of(start);  // one that is refused runs no setup either
  std::optional<TaskEnding> failed;
  if (!admitted) failed = not_started(admitted.error());
  if (!failed) failed = co_await prepare(start);
  std::string forked_from;
  if (!failed && admitted->confinement.devices.empty() && start.size == 1) {  // a template sees none and shares nothing
    forked_from = co_await warm_.template_for(host::warm_kind_of(start, walls_.must_hide(admitted->confinement)),
                                              [this, lease = start.lease] { return host_->may_start(lease); });
  }
  if (!failed && !host_->may_start(start.lease)) failed = stopped_before();
  if (failed) {
    events_.ended(start.lease, *std::move(failed));
    co_return;
  }
  Result<loop::Descriptor> socket = co_await start_supervisor(start, std::move(forked_from));
  if (!socket) {
    TaskEnding ending = not_started(socket.error());
    if (!start.command.setup.empty()) ending.output_end = all_output;  // of its setup
    events_.ended(start.lease, std::move(ending));
    co_return;
  }
  links_[start.lease] = std::make_unique<SupervisorLink>(deps_.loop, std::move(*socket), handler_for(start.lease));
  events_.output(start.lease, 0);
}

loop::Task<Result<loop::Descriptor>> ProcessRuntime::start_supervisor(messages::Start start, std::string forked_from) {
  CO_TRY_ASSIGN(launch, launch_of(start));
  launch.forked_from = std::move(forked_from);
  if (start.size > 1) {  // one alone shares it with nobody, and has one in memory
    CO_TRY_ASSIGN(runtime, walls_.make_runtime(start.lease.task.job, launch.confinement));
    launch.confinement.runtime = std::move(runtime);
    use_runtime(start.lease);
  }
  co_return co_await start_in_folder(launch);
}

TaskEnding ProcessRuntime::not_started(const Error& error) {
  TaskEnding ending = ending_before_start(error);
  if (is_no_supervisor(error)) starts_.failed(error, deps_.loop.now());
  look_for_full_disk(ending);
  return ending;
}

void ProcessRuntime::look_for_full_disk(const TaskEnding& ending) {
  if (ending.reason != Reason::agent_lost || !loop::is_disk_full({Errc::unavailable, ending.detail})) return;
  disk_.failed(deps_.loop.now());
}

loop::Task<Result<loop::Descriptor>> ProcessRuntime::start_waiting(supervision::Launch launch, std::string owner) {
  if (has_code(launch.command)) {
    CO_TRY_ASSIGN(folder, co_await deps_.pool.run([&] { return folders_.make(launch.lease); }));
    CodeRequest request = code_request(launch.command, owner);
    CO_TRY(co_await code_->place(std::move(request), folder.work()));
  }
  co_return co_await start_in_folder(launch);
}

loop::Task<std::optional<TaskEnding>> ProcessRuntime::prepare(messages::Start start) {
  const LeaseId lease = start.lease;
  if (!has_code(start.command)) co_return std::nullopt;
  const Result<TaskFolder> folder = co_await deps_.pool.run([&] { return folders_.make(lease); });
  if (!folder) co_return not_started(folder.error());
  CodeRequest request = code_request(start.command, start.owner);
  const std::string key = CodeCache::key_of(request);
  while (preparing_.contains(key) && host_->may_start(lease)) co_await loop::sleep(deps_.loop, setup_look_every);
  if (!host_->may_start(lease)) co_return stopped_before();
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
  if (!host_->may_start(lease)) co_return stopped_before();
  std::optional<TaskEnding> failed = co_await run_setup(start);
  if (failed) co_return failed;
  const Result<void> published = co_await code_->publish(std::move(request), folder->work());
  if (!published) {
    deps_.log.warning("what the setup of " + to_string(lease) + " made is not kept: " + published.error().message);
  }
  folder->remove_ending();
  co_return std::nullopt;
}

loop::Task<std::optional<TaskEnding>> ProcessRuntime::run_setup(messages::Start start) {
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
  setups_[lease] = std::make_unique<SetupRun>(deps_.loop);
  SetupRun& run = *setups_[lease];
  links_[lease] = std::make_unique<SupervisorLink>(
      deps_.loop, std::move(*socket),
      SupervisorLink::Handler{
          [this, lease](const supervision::FromSupervisor& message) { setup_heard(lease, message); },
          [&run] { run.gone.open(); }});
  events_.output(lease, 0);
  const Duration time_max = options_.setup_timeout * static_cast<std::int64_t>(start.command.setup.size());
  loop::Timer deadline = deps_.loop.after(time_max, [this, lease, &run] {
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
    co_await deps_.pool.run([&]() -> Result<void> {
      options_.end_leftovers(folder.path(), home);
      return {};
    });
    ending = TaskEnding{Reason::signalled, 9, "the supervisor of its setup was killed", {}, all_output};
  }
  co_return judge_setup(lease, *std::move(ending), late);
}

void ProcessRuntime::setup_heard(const LeaseId& lease, const supervision::FromSupervisor& message) {
  const auto* status = std::get_if<supervision::Status>(&message);
  const auto run = setups_.find(lease);
  if (status == nullptr || run == setups_.end()) return;
  events_.output(lease, status->output_end);
  if (status->ending) {
    run->second->ending = status->ending;
  } else if (!host_->may_start(lease)) {  // it may have been told while nobody listened
    links_.at(lease)->send(kill_now);
  }
}

std::optional<TaskEnding> ProcessRuntime::judge_setup(const LeaseId& lease, TaskEnding ending, bool late) {
  if (ending.reason == Reason::exited && ending.code == 0) return std::nullopt;
  look_for_full_disk(ending);
  if (!host_->may_start(lease)) return ending;
  std::string how = "ended with exit code " + std::to_string(ending.code);
  if (ending.reason == Reason::signalled) how = "was ended by signal " + std::to_string(ending.code);
  if (late) {
    how = "did not end in time: its agent allows " + rounded(options_.setup_timeout) +
          " per setup command (--setup-timeout)";
  }
  const std::string lines = last_lines(folders_.at(lease).output(), ending.output_end);
  if (late || ending.reason == Reason::exited || ending.reason == Reason::signalled) {
    ending.reason = Reason::failed_to_start;
    ending.code = 0;
    ending.detail = "its setup " + how + (lines.empty() ? " and wrote nothing" : "; its last output:\n" + lines);
  } else {
    ending.detail = "its setup: " + ending.detail;
  }
  return ending;
}

loop::Task<Result<loop::Descriptor>> ProcessRuntime::start_in_folder(const supervision::Launch& launch) {
  co_return co_await deps_.pool.run([&]() -> Result<loop::Descriptor> {
    if (!has_code(launch.command)) TRY(folders_.make(launch.lease));
    const TaskFolder folder = folders_.at(launch.lease);
    TRY(folder.write_launch(launch));
    Result<loop::Descriptor> started = options_.start_supervisor(folder.path());
    if (!started) return Failure(no_supervisor(started.error()));
    return started;
  });
}

Result<supervision::Launch> ProcessRuntime::launch_of(const messages::Start& start) {
  supervision::Launch launch;
  launch.protocols = protocol::own();
  TRY_ASSIGN(confinement,
             walls_.confine({start.owner, start.rights, start.policy.isolation, start.policy.run_as_root,
                             start.command.python, program_of(start.command), start.command.mounts, start.slots}));
  launch.confinement = std::move(confinement);
  launch.lease = start.lease;
  launch.command = start.command;
  launch.limits = start.limits;
  launch.policy = start.policy;
  launch.variables = variables_for(start);
  launch.cgroup = options_.cgroup;
  launch.abandon_after = host_->abandon_after();
  launch.boot = options_.boot;
  if (start.policy.fence == cluster::Fence::strict) launch.permit_until = host_->permitted_until().time_since_epoch();
  return launch;
}

std::map<std::string, std::string> ProcessRuntime::variables_for(const messages::Start& start) const {
  std::map<std::string, std::string> variables{
      {"CADRE_MASTER", start.pass.master},
      {"CADRE_TOKEN", start.pass.token},
      {"CADRE_AGENT", options_.agent.value},
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
  variables.merge(python_variables());
  if (options_.slot_kind == plan::SlotKind::cuda) {
    std::string devices;
    for (const std::int32_t slot : start.slots) {
      const auto at = static_cast<std::size_t>(slot);
      if (at >= options_.slots.size()) continue;
      devices += (devices.empty() ? "" : ",") + options_.slots[at].device;
    }
    variables["CUDA_VISIBLE_DEVICES"] = devices;
  }
  return variables;
}

std::map<std::string, std::string> ProcessRuntime::python_variables() const {
  if (options_.python_path.empty()) return {};
  return {{"PYTHONPATH", options_.python_path}};
}

std::string ProcessRuntime::program_of(const cluster::Command& command) {
  return command.argv.empty() ? "" : command.argv.front();
}

}  // namespace cadre::agent
