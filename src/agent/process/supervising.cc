// What supervisors say of their tasks, and what is left when both are gone.
#include <cstdio>
#include <utility>

#include "agent/process/process_runtime.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
using cluster::TaskEnding;
namespace supervision = cluster::supervision;
using cluster::lease::Reason;

constexpr Duration dying_max = 5s;           // a supervisor that was killed needs so long at most to be gone
constexpr Duration dying_look_every = 20ms;  // whether it is

}  // namespace

void ProcessRuntime::take_over(const LeaseId& lease) {
  links_[lease] = std::make_unique<SupervisorLink>(deps_.loop, folders_.at(lease).path(), handler_for(lease));
  events_.output(lease, 0);
}

SupervisorLink::Handler ProcessRuntime::handler_for(const LeaseId& lease) {
  return {
      [this, lease](const supervision::FromSupervisor& message) { heard(lease, message); },
      [this, lease] { supervisor_gone(lease); },
  };
}

void ProcessRuntime::heard(const LeaseId& lease, const supervision::FromSupervisor& message) {
  if (adoptions_.contains(lease)) {  // what it said before was not about this lease
    if (std::holds_alternative<supervision::Adopted>(message)) adopted(lease);
    return;
  }
  if (const auto* status = std::get_if<supervision::Status>(&message)) {
    status->ending ? look_for_full_disk(*status->ending) : events_.output(lease, status->output_end);
    if (status->attached || status->ending) cold_.erase(lease);
  }
  if (const auto* said = std::get_if<supervision::NotForked>(&message)) warm_.not_forked(*said);
  events_.heard(lease, message);
}

void ProcessRuntime::supervisor_gone(const LeaseId& lease) {
  if (adoptions_.contains(lease)) {
    return deps_.loop.post([this, lease] { not_adopted(lease); });  // never while it calls
  }
  cold_.erase(lease);
  const auto link = links_.find(lease);
  const bool was_watched = link != links_.end() && link->second->was_connected();
  deps_.loop.post([this, lease] {  // never while it calls
    links_.erase(lease);
    let_go(lease);
  });
  if (host_->has_ended(lease)) return;
  const TaskFolder folder = folders_.at(lease);
  if (const std::optional<TaskEnding> ending = folder.ending()) {
    supervision::Status last_words;
    last_words.ending = *ending;
    return heard(lease, last_words);
  }
  // All of its output that is on disk counts, wherever that ends.
  TaskEnding ending{Reason::signalled, 9, "its supervisor was killed", {}, all_output};
  if (!was_watched) {  // it went while there was no agent either: the host was, not the task
    ending = {Reason::agent_lost, 0, "its supervisor had ended when its agent came back", {}, all_output};
  }
  if (!folder.was_begun()) ending = {Reason::agent_lost, 0, "its agent was killed before it began", {}, 0};
  deps_.loop.spawn(end_without_supervisor(lease, std::move(ending)));
}

loop::Task<void> ProcessRuntime::end_without_supervisor(LeaseId lease, TaskEnding ending) {
  const TaskFolder folder = folders_.at(lease);
  const LeaseId home = folders_.home_of(lease);
  // A process that dies closes its connection before it lets go of its lock.
  const TimePoint patience = deps_.loop.now() + dying_max;
  bool is_supervised = agent::is_supervised(folder.path());
  while (is_supervised && deps_.loop.now() < patience) {
    co_await loop::sleep(deps_.loop, dying_look_every);
    is_supervised = agent::is_supervised(folder.path());
  }
  if (is_supervised) {  // by one that was born when a nursery died
    take_over(lease);
    co_return;
  }
  co_await deps_.pool.run([&]() -> Result<void> {
    options_.end_leftovers(folder.path(), home);
    return {};
  });
  events_.ended(lease, ending);
}

void ProcessRuntime::let_go(const LeaseId& lease) {
  if (links_.contains(lease) || removable_.erase(lease) == 0) return;
  deps_.loop.spawn(give_back(lease));
}

loop::Task<void> ProcessRuntime::give_back(LeaseId lease) {
  const auto sharing = sharing_.find(lease.task.job);
  if (sharing != sharing_.end() && sharing->second.erase(lease) > 0 && sharing->second.empty()) {
    sharing_.erase(sharing);
    // Out of the way at once: another task of the job may be about to start, and makes one anew.
    const std::string used = walls_.runtime_of(lease.task.job);
    const std::string runtime =
        used + ".of-" + std::to_string(lease.task.member) + "-" + std::to_string(lease.epoch.value);
    if (std::rename(used.c_str(), runtime.c_str()) != 0) deps_.log.warning("cannot remove a runtime folder: " + used);
    const auto removed = co_await deps_.pool.run([&] { return loop::remove_all(runtime); });
    if (!removed) deps_.log.warning("cannot remove a runtime folder: " + removed.error().message);
  }
  const auto done = co_await deps_.pool.run([&]() -> Result<void> { return folders_.give_back(folders_.at(lease)); });
  if (!done) deps_.log.warning("cannot remove the folder of a task: " + done.error().message);
}

}  // namespace cadre::agent
