#include "cluster/host/host_control.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/overloaded.h"

namespace cadre::cluster::host {

HostControl::HostControl(messages::Hello introduction, const std::vector<Found>& found, TimePoint now)
    : introduction_(std::move(introduction)),
      acknowledged_(now),
      hello_number_(static_cast<std::uint64_t>(now.time_since_epoch().count())) {  // above those of agents before
  for (const Found& one : found) {
    Task& task = tasks_[one.lease];
    task.fence = one.fence;
    task.stage = one.ending ? Stage::ended : Stage::running;
    if (one.ending) task.ending = *one.ending;
  }
}

template <class Body>
void HostControl::tell_master(Body body) {
  if (session_ != 0) effects_.emplace_back(std::in_place_type<ToMaster>, ToMaster{{session_, std::move(body)}});
}

void HostControl::tell(const LeaseId& lease, supervision::FromAgent message) {
  effects_.emplace_back(std::in_place_type<ToSupervisor>, ToSupervisor{lease, std::move(message)});
}

void HostControl::say_hello(TimePoint now) {
  session_ = 0;  // what is said to the old one from now on may contradict what is said here
  unanswered_.clear();
  said_hello_ = now;
  messages::Hello hello = introduction_;
  hello.number = ++hello_number_;
  hello.obstacle = obstacle_;
  for (const auto& [lease, task] : tasks_) hello.leases.push_back(lease);
  effects_.emplace_back(std::in_place_type<ToMaster>, ToMaster{{0, std::move(hello)}});
}

void HostControl::hear(const messages::FromMaster& message, TimePoint now) {
  if (const auto* news = std::get_if<messages::Welcome>(&message.body)) {
    if (session_ != 0 || news->number != hello_number_) return;  // it knows too little: the last hello said more
    const std::string& mine = introduction_.cluster;
    if (!mine.empty() && !news->cluster.empty() && mine != news->cluster) {
      effects_.push_back(GiveUp{"its data belongs to cluster " + mine + ", and the master runs cluster " +
                                news->cluster + "; start it with another --data folder, or with --adopt"});
      return;
    }
    if (mine.empty() && !news->cluster.empty()) {
      introduction_.cluster = news->cluster;
      effects_.push_back(Belong{news->cluster});
    }
    session_ = message.session;
    return welcome(*news, now);
  }
  if (const auto* news = std::get_if<messages::Refused>(&message.body)) {
    leaves_ = leaves_ || news->removed;
    effects_.push_back(GiveUp{news->why, news->removed});
    return;
  }
  if (message.session != session_) return;  // said before the last welcome
  std::visit(overloaded{
                 [&](const messages::HelloAgain&) { say_hello(now); },
                 [&](const messages::MasterBeat&) {
                   if (unanswered_.empty()) return;
                   acknowledged_ = std::max(acknowledged_, unanswered_.front());
                   unanswered_.pop_front();
                   permit();
                 },
                 [&](const messages::Start& one) {
                   if (!leaves_) start(one, now);
                 },
                 [&](const messages::Stop& one) { stop(one, now); },
                 [&](const messages::EndStored& one) {
                   const auto task = tasks_.find(one.lease);
                   if (task == tasks_.end() || task->second.stage != Stage::ended) return;
                   tasks_.erase(task);
                   effects_.emplace_back(Forget{one.lease});
                 },
                 [&](const messages::ReportAnswer& one) { tell(one.lease, one.answer); },
                 [&](const messages::Exec& one) { exec(one); },
                 [&](const messages::ExecInput& one) { input(one); },
                 [&](const messages::ExecCancel& one) {
                   if (tasks_.contains(one.lease)) tell(one.lease, one.cancel);
                 },
                 [](const auto&) {},
             },
             message.body);
}

void HostControl::welcome(const messages::Welcome& welcome, TimePoint now) {
  acknowledged_ = *said_hello_;
  unanswered_.clear();
  // Whatever it says, within what can be reckoned with.
  agent_timeout_ =
      std::clamp<Duration>(welcome.agent_timeout, std::chrono::milliseconds(1), std::chrono::hours(24 * 365));
  beat_every_ = std::clamp<Duration>(welcome.beat_every, std::chrono::milliseconds(1), agent_timeout_);
  beaten_.reset();
  waiting_.clear();
  const std::set<LeaseId> keep(welcome.keep.begin(), welcome.keep.end());
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    auto& [lease, task] = *at;
    if (task.condemned || !keep.contains(lease)) {
      if (task.stage == Stage::ended) {
        effects_.emplace_back(Forget{lease});
        at = tasks_.erase(at);
        hello_when_clean_ = true;
        continue;
      }
      condemn(lease, task);
    } else if (task.stage == Stage::running) {
      tell_master(messages::Started{lease});
    } else if (task.stage == Stage::ended) {
      tell_master(messages::Exited{lease, task.ending});
    }
    ++at;
  }
  permit();
  look_if_clean(now);
}

void HostControl::condemn(const LeaseId& lease, Task& task) {
  hello_when_clean_ = true;
  task.condemned = true;
  tell(lease, supervision::Stop{lease::Reason::agent_lost, Duration{0}});
}

bool HostControl::clean() const {
  return std::none_of(tasks_.begin(), tasks_.end(), [](const auto& one) { return one.second.condemned; });
}

void HostControl::look_if_clean(TimePoint now) {
  if (!clean()) return;
  const bool cut_off = is_cut_off(now);
  for (const messages::Start& start : std::exchange(waiting_, {})) {
    if (start.policy.fence == Fence::strict && cut_off) {  // by now it may be somebody else's
      hello_when_clean_ = true;
    } else {
      launch(start);
    }
  }
  if (std::exchange(hello_when_clean_, false)) say_hello(now);
}

void HostControl::start(const messages::Start& start, TimePoint now) {
  if (tasks_.contains(start.lease)) return;  // it was told before
  for (auto& [lease, task] : tasks_) {
    if (lease.task == start.lease.task && task.stage != Stage::ended && !task.condemned) condemn(lease, task);
  }
  std::erase_if(waiting_, [&](const messages::Start& one) { return one.lease.task == start.lease.task; });
  waiting_.push_back(start);
  look_if_clean(now);
}

bool HostControl::has_ended(const LeaseId& lease) const {
  const auto found = tasks_.find(lease);
  return found == tasks_.end() || found->second.stage == Stage::ended;
}

bool HostControl::may_start(const LeaseId& lease) const {
  const auto found = tasks_.find(lease);
  return found != tasks_.end() && !found->second.stop && !found->second.condemned;
}

void HostControl::launch(const messages::Start& start) {
  tasks_[start.lease].fence = start.policy.fence;
  effects_.emplace_back(Launch{start});
}

void HostControl::stop(const messages::Stop& stop, TimePoint now) {
  if (const auto found = tasks_.find(stop.lease); found != tasks_.end()) {
    Task& task = found->second;
    if (task.stage == Stage::ended || task.condemned) return;
    const Duration grace = task.stop ? std::min(task.stop->grace, stop.grace) : stop.grace;
    task.stop = supervision::Stop{stop.why, grace};
    return tell(stop.lease, *task.stop);
  }
  // It never came to run here, or all of it is gone.
  std::erase_if(waiting_, [&](const messages::Start& one) { return one.lease == stop.lease; });
  tell_master(messages::Exited{stop.lease, {lease::Reason::signalled, 0, "it was stopped before it began", {}, 0}});
  look_if_clean(now);
}

void HostControl::exec(const messages::Exec& exec) {
  const auto task = tasks_.find(exec.lease);
  if (task != tasks_.end() && task->second.stage == Stage::running) return tell(exec.lease, exec.exec);
  const std::uint64_t number = exec.exec.number;
  tell_master(messages::ExecNews{number, supervision::ExecEnded{number, 0, "the task no longer runs"}});
}

void HostControl::input(const messages::ExecInput& input) {
  const auto task = tasks_.find(input.lease);
  if (task != tasks_.end() && task->second.stage == Stage::running) return tell(input.lease, input.input);
  tell_master(messages::InputTaken{
      input.lease,
      {input.input.number, input.input.offset, "the task does not run on its agent (yet); send it again"}});
}

void HostControl::hear(const LeaseId& lease, const supervision::FromSupervisor& message, TimePoint now) {
  const auto found = tasks_.find(lease);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  std::visit(overloaded{
                 [&](const supervision::Status& status) {
                   task.usage = status.usage;
                   if (task.stage == Stage::launching && status.pid != 0) {
                     task.stage = Stage::running;
                     if (!task.condemned) tell_master(messages::Started{lease});
                   }
                   if (status.ending) return end(lease, task, *status.ending, now);
                   // It may have been told while nobody listened; what it knows already changes nothing.
                   if (task.condemned) return condemn(lease, task);
                   if (task.stop) tell(lease, *task.stop);
                 },
                 [&](const supervision::Report& report) {
                   tell_master(messages::Report{lease, report.number, report.body, report.is_announcement});
                 },
                 [&](const supervision::ExecOutput& output) {
                   tell_master(messages::ExecNews{output.number, output});
                 },
                 [&](const supervision::ExecEnded& ended) {
                   tell_master(messages::ExecNews{ended.number, ended});
                 },
                 [&](const supervision::ExecTaken& taken) {
                   tell_master(messages::InputTaken{lease, taken});
                 },
                 [](const supervision::Adopted&) {},  // its status comes next, as of any other
                 [](const supervision::NotForked&) {},
             },
             message);
}

void HostControl::ended(const LeaseId& lease, const TaskEnding& ending, TimePoint now) {
  const auto found = tasks_.find(lease);
  if (found == tasks_.end()) return;
  TaskEnding known = ending;  // a supervisor would have said that we have given it up
  if (found->second.stop && found->second.stop->why == lease::Reason::agent_lost)
    known.reason = lease::Reason::agent_lost;
  end(lease, found->second, known, now);
}

void HostControl::end(const LeaseId& lease, Task& task, const TaskEnding& ending, TimePoint now) {
  if (task.stage == Stage::ended) return;
  task.stage = Stage::ended;
  task.ending = ending;
  if (!task.condemned) {
    tell_master(messages::Exited{lease, task.ending});
    return;
  }
  effects_.emplace_back(Forget{lease});
  tasks_.erase(lease);
  look_if_clean(now);
}

void HostControl::permit() {
  for (const auto& [lease, task] : tasks_) {
    const bool runs = task.stage == Stage::running && !task.condemned && !task.fenced;
    if (runs && task.fence == Fence::strict) tell(lease, supervision::Permit{permitted_until().time_since_epoch()});
  }
}

void HostControl::fence(TimePoint now) {
  if (!is_cut_off(now)) return;
  for (auto& [lease, task] : tasks_) {
    if (task.fence != Fence::strict || task.stage == Stage::ended || task.fenced || task.condemned) continue;
    task.fenced = true;
    task.stop = supervision::Stop{task.stop ? task.stop->why : lease::Reason::agent_lost, Duration{0}};
    tell(lease, *task.stop);
  }
}

void HostControl::set_obstacle(const std::string& obstacle, TimePoint now) {
  if (obstacle == obstacle_) return;
  obstacle_ = obstacle;
  if (session_ != 0) beat(now);
}

void HostControl::tick(const messages::Load& load, TimePoint now) {
  load_ = load;
  fence(now);
  if (!unanswered_.empty() && now - unanswered_.front() > agent_timeout_) say_hello(now);  // it has given us up
  if (session_ == 0) {
    if (!said_hello_ || now - *said_hello_ >= beat_every_) say_hello(now);
    return;
  }
  if (beaten_ && now - *beaten_ < beat_every_) return;
  beat(now);
}

void HostControl::beat(TimePoint now) {
  beaten_ = now;
  messages::Beat beat{load_, {}, obstacle_};
  for (const auto& [lease, task] : tasks_) {
    if (task.stage == Stage::running) beat.tasks.push_back({lease, task.usage});
  }
  tell_master(std::move(beat));
  unanswered_.push_back(now);
}

void HostControl::end_all(Duration grace) {
  leaves_ = true;
  waiting_.clear();
  for (auto& [lease, task] : tasks_) {
    if (task.stage == Stage::ended || (task.stop && task.stop->grace <= grace)) continue;
    task.stop = supervision::Stop{task.stop ? task.stop->why : lease::Reason::agent_lost, grace};
    tell(lease, *task.stop);
  }
}

void HostControl::say_goodbye(const messages::Goodbye& news) {
  effects_.emplace_back(std::in_place_type<ToMaster>, ToMaster{{session_, news}});  // also while no welcome has come
}

bool HostControl::runs_something() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& one) { return one.second.stage != Stage::ended; });
}

std::vector<Effect> HostControl::take() { return std::exchange(effects_, {}); }

}  // namespace cadre::cluster::host
