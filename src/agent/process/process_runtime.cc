#include "agent/process/process_runtime.h"

#include <utility>

#include "loop/file.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
namespace host = cluster::host;
namespace supervision = cluster::supervision;
using cluster::lease::Reason;

constexpr Duration runtime_tick_every = 100ms;
constexpr Duration up_after_max = 10s;  // then a task is taken to be up, whether it has attached or not

}  // namespace

Result<std::unique_ptr<ProcessRuntime>> ProcessRuntime::make(const Dependencies& deps, Options options) {
  std::vector<FoundTask> found = find_tasks(options.tasks, options.boot, deps.log);
  TRY_ASSIGN(walls, Walls::open(options.walls));
  std::unique_ptr<ProcessRuntime> runtime(
      new ProcessRuntime(deps, std::move(options), std::move(walls), std::move(found)));
  TRY_ASSIGN(code, CodeCache::open({runtime->options_.code}, deps.loop, deps.pool, deps.bulk, deps.log));
  runtime->code_ = std::move(code);
  return runtime;
}

ProcessRuntime::ProcessRuntime(const Dependencies& deps, Options options, Walls walls, std::vector<FoundTask> found)
    : deps_(deps),
      options_(std::move(options)),
      walls_(std::move(walls)),
      found_(std::move(found)),
      folders_(options_.tasks),
      warm_({deps_.loop, deps_.pool, deps_.log, folders_,
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

ProcessRuntime::~ProcessRuntime() = default;

std::vector<host::Found> ProcessRuntime::found() const {
  std::vector<host::Found> leases;
  for (const FoundTask& one : found_) leases.push_back({one.lease, one.launch.policy.fence, one.ending});
  return leases;
}

void ProcessRuntime::begin(const host::HostControl& host, Events events) {
  host_ = &host;
  events_ = std::move(events);
  for (const FoundTask& one : std::exchange(found_, {})) {
    if (!one.launch.confinement.runtime.empty()) use_runtime(one.lease);
    if (one.launch.waited_as) folders_.settle(one.lease, *one.launch.waited_as);
    if (one.ending) continue;
    if (one.rebooted) {
      events_.ended(one.lease, {Reason::agent_lost, 0, "its host was rebooted", {}, all_output});
    } else {
      take_over(one.lease);
    }
  }
  old_templates_ = supervised(options_.tasks).templates;
  tick();
}

void ProcessRuntime::tick() {
  ticking_ = deps_.loop.after(runtime_tick_every, [this] { tick(); });
  std::erase_if(cold_, [&](const auto& one) { return deps_.loop.now() - one.second >= up_after_max; });
  warm_.tick();
  look_at_old_templates();
}

void ProcessRuntime::look_at_old_templates() {
  std::erase_if(old_templates_, [this](const std::string& folder) {
    if (is_supervised(folder)) return false;
    deps_.loop.spawn(remove_template(folder));
    return true;
  });
}

loop::Task<void> ProcessRuntime::remove_template(std::string folder) {
  const auto removed = co_await deps_.pool.run([&] { return loop::remove_all(folder); });
  if (!removed) deps_.log.warning("cannot remove the folder of a template: " + removed.error().message);
}

void ProcessRuntime::start(const cluster::messages::Start& start) {
  deps_.log.debug([&] { return "lease " + to_string(start.lease) + ": starts"; });
  deps_.loop.spawn(launch(start));
}

void ProcessRuntime::send(const LeaseId& lease, const supervision::FromAgent& message) {
  if (const auto link = links_.find(lease); link != links_.end()) link->second->send(message);
}

std::unique_ptr<OutputSource> ProcessRuntime::output(const LeaseId& lease) const {
  return open_spool(folders_.at(lease).output());
}

void ProcessRuntime::keep_endings(const std::vector<LeaseId>& leases) {
  std::vector<std::string> paths;
  for (const LeaseId& lease : leases) paths.push_back(folders_.at(lease).path() + "/ending");
  deps_.loop.spawn(make_durable(std::move(paths)));
}

loop::Task<void> ProcessRuntime::make_durable(std::vector<std::string> paths) {
  co_await deps_.pool.run([&]() -> Result<void> {
    for (const std::string& path : paths) static_cast<void>(loop::make_durable(path));  // it may be gone by now
    return {};
  });
}

void ProcessRuntime::remove(const LeaseId& lease) {
  removable_.insert(lease);
  let_go(lease);
}

std::string ProcessRuntime::obstacle() {
  const TimePoint now = deps_.loop.now();
  const std::string& of_disk = disk_.obstacle(now);
  return of_disk.empty() ? starts_.obstacle(now) : of_disk;
}

}  // namespace cadre::agent
