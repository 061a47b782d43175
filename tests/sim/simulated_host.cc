#include "tests/sim/simulated_host.h"

#include <csignal>
#include <utility>

#include "base/overloaded.h"
#include "logs/record.h"
#include "supervisor/judge.h"

namespace cadre::sim {
namespace {

using namespace std::chrono_literals;
using cluster::LeaseId;
namespace supervision = cluster::supervision;

constexpr Duration status_every = 2s;
constexpr Duration runs_max = 25s;
constexpr Duration long_runs_max = 60s;  // longer than it takes to lose an agent and place its tasks elsewhere

int exit_status(std::int32_t code) { return code << 8; }

}  // namespace

SimulatedHost::SimulatedHost(loop::SimulatedLoop& world, std::string name, Dice dice, Observer observer)
    : world_(world), name_(std::move(name)), dice_(dice), observer_(std::move(observer)) {
  reboot();
}

void SimulatedHost::connect(Agent& agent) {
  agent_ = &agent;
  for (auto& [lease, process] : processes_) {
    if (!process.is_alive) continue;
    process.life->agent_came();
    look_again(process);
    tell_status(process);
  }
}

void SimulatedHost::disconnect() {
  agent_ = nullptr;
  for (auto& [lease, process] : processes_) {
    if (!process.is_alive) continue;
    process.life->agent_left(now());
    look_again(process);
  }
}

void SimulatedHost::reboot() {
  agent_ = nullptr;
  started_ = world_.now() - Duration(dice_.between(1, 1'000'000'000));
  boot_ = name_ + "-boot-" + std::to_string(++boots_);
  for (auto at = processes_.begin(); at != processes_.end();) {
    Process& process = at->second;
    process.next.cancel();
    if (std::exchange(process.is_alive, false)) observer_.ends(process);
    process.rebooted = true;
    if (process.ending && !process.is_durable && dice_.percent(50)) process.ending.reset();
    const bool is_lost = !process.is_durable && dice_.percent(15);
    at = is_lost ? processes_.erase(at) : std::next(at);
  }
}

void SimulatedHost::write_launch(Launch launch) {
  const LeaseId lease = launch.start.lease;
  Process& process = processes_[lease];
  if (process.was_begun) observer_.complain("lease " + to_string(lease) + " is launched again on " + name_);
  process.launch = std::move(launch);
}

void SimulatedHost::begin(const LeaseId& lease) {
  Process& process = processes_.at(lease);
  process.is_alive = process.was_begun = true;
  const bool is_long = dice_.percent(25);
  process.ends = now() + Duration(is_long ? dice_.between(runs_max.count(), long_runs_max.count())
                                          : dice_.magnitude(Duration(100ms).count(), runs_max.count()));
  if (dice_.percent(20)) process.code = dice_.percent(70) ? 1 : static_cast<std::int32_t>(dice_.between(64, 65));
  process.obeys_after = dice_.percent(70) ? Duration(dice_.between(0, Duration(3s).count())) : Duration(24h);
  process.life.emplace(supervisor::Life::Rules{process.launch.abandon_after, 60s}, now());
  if (process.launch.permitted_until) process.life->permit(*process.launch.permitted_until);
  if (agent_ != nullptr) process.life->agent_came();
  if (process.life->verdict(now())) return end(process, SIGKILL, process.life->verdict(now()));  // it came too late
  observer_.begins(process);
  write_output(process);
  tell_status(process);
  look_again(process);
}

void SimulatedHost::send(const LeaseId& lease, const supervision::FromAgent& message) {
  const auto found = processes_.find(lease);
  if (found == processes_.end() || !found->second.is_alive) return;
  Process& process = found->second;
  std::visit(overloaded{
                 [&](const supervision::Stop& stop) {
                   if (!process.life->stop(stop.why, stop.grace, now())) return;
                   if (!process.obeys_at) process.obeys_at = now() + process.obeys_after;
                 },
                 [&](const supervision::Permit& permit) { process.life->permit(TimePoint(permit.until)); },
                 [&](const supervision::ReportAnswer& answer) { take_answer(process, answer); },
                 [](const auto&) {},
             },
             message);
  look_again(process);
}

void SimulatedHost::remove(const LeaseId& lease) {
  const auto found = processes_.find(lease);
  if (found == processes_.end()) return;
  if (found->second.is_alive) return observer_.complain("lease " + to_string(lease) + " is removed while it runs");
  observer_.is_removed(found->second);
  processes_.erase(found);
}

void SimulatedHost::look_again(Process& process) {
  TimePoint next = std::min({process.ends, process.life->next(), now() + status_every});
  if (process.obeys_at) next = std::min(next, *process.obeys_at);
  process.next =
      world_.at(started_ + next.time_since_epoch(), [this, lease = process.launch.start.lease] { look(lease); });
}

void SimulatedHost::look(const LeaseId& lease) {
  Process& process = processes_.at(lease);
  if (const auto verdict = process.life->verdict(now())) return end(process, SIGKILL, verdict);
  if (process.obeys_at && now() >= *process.obeys_at) {
    return end(process, dice_.percent(50) ? exit_status(0) : SIGTERM, std::nullopt);
  }
  if (now() >= process.ends) return end(process, exit_status(process.code), std::nullopt);
  if (dice_.percent(20)) write_output(process);
  report(process);
  tell_status(process);
  look_again(process);
}

void SimulatedHost::end(Process& process, int wait_status, std::optional<supervisor::Verdict> verdict) {
  process.next.cancel();
  write_output(process);
  process.is_alive = false;
  supervisor::Evidence seen;
  seen.wait_status = wait_status;
  seen.verdict = verdict;
  if (process.life->stopping()) {
    seen.grace = process.life->grace();
    seen.given_up = process.life->stop_reason() == cluster::lease::Reason::agent_lost;
  }
  seen.abandon_after = process.launch.abandon_after;
  process.ending = supervisor::judge(seen);
  process.ending->output_end = static_cast<std::int64_t>(process.output->size());
  observer_.ends(process);
  tell_status(process);
}

void SimulatedHost::write_output(Process& process) {
  for (std::int64_t lines = dice_.between(0, 3); lines > 0; --lines) {
    logs::encode({logs::Stream::out, false, now(), "a line of output"}, *process.output);
  }
}

void SimulatedHost::report(Process& process) {
  if (!process.may_report || (!process.report && dice_.percent(50))) return;
  const LeaseId& lease = process.launch.start.lease;
  if (!process.report) {
    const std::uint64_t number = ++process.reports;
    if (number == 1) process.announces = dice_.percent(50);
    process.report = {number, std::to_string(lease.epoch.value) + " " + std::to_string(number),
                      number == 1 && process.announces};
  }
  if (agent_ != nullptr) agent_->hear(lease, *process.report);
}

void SimulatedHost::take_answer(Process& process, const supervision::ReportAnswer& answer) {
  if (!process.report || process.report->number != answer.number) return;
  process.report.reset();
  process.may_report = answer.accepted;
}

void SimulatedHost::tell_status(const Process& process) {
  if (agent_ == nullptr) return;
  supervision::Status status;
  status.pid = 1000;
  status.stopping = process.life->stopping();
  status.output_end = static_cast<std::int64_t>(process.output->size());
  status.ending = process.ending;
  agent_->hear(process.launch.start.lease, status);
}

}  // namespace cadre::sim
