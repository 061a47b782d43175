#include "simulate/simulation.h"

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/overloaded.h"
#include "loop/cpu_time.h"

namespace cadre::simulate {
namespace {

using namespace std::chrono_literals;
using cluster::Epoch;
using plan::GangId;
namespace lease = cluster::lease;

constexpr Duration patience = 30 * 24h;  // after the last arrival

loop::SimulatedLoop::Options loop_options(std::uint64_t seed) {
  return {seed, loop::SimulatedLoop::Order::fifo, std::uint64_t{1} << 62, TimePoint{}};
}

}  // namespace

Simulation::Simulation(const Options& options, Watch watch)
    : options_(options),
      watch_(std::move(watch)),
      dice_(Dice(options.seed).split()),
      loop_(loop_options(options.seed)),
      planner_(options.policy, make_groups(options)) {
  for (std::int32_t i = 0; i < options.agents; ++i) {
    add_host({plan::AgentId("a" + std::to_string(i + 1)),
              options.slots,
              plan::SlotKind::cuda,
              {options.cpus * std::int64_t{1000}},
              options.memory,
              {},
              true,
              false});
  }
  for (Job& job : make_workload(options)) {
    row_of_.emplace(job.gang.id, static_cast<std::uint32_t>(rows_.size()));
    rows_.emplace_back().job = std::move(job);
  }
  report_.gangs = static_cast<std::int64_t>(rows_.size());
  report_.slots = slots_;
}

Result<Outcome> Simulation::run() {
  if (!rows_.empty()) {
    arrive(0);
    schedule_faults();
    provide();
    const TimePoint limit = TimePoint(rows_.back().job.arrives + patience);
    while (!finished() && now() < limit && loop_.waiting() > 0) {
      TRY(loop_.run_until(std::min(limit, now() + 1h)));
    }
  }
  report_.waiting_at_end = report_.gangs - report_.completed;
  meter_.finish(report_, finished() ? last_completion_ : clock());
  return Outcome{report_, meter_.timings(report_.placements)};
}

void Simulation::arrive(std::size_t next) {
  const TimePoint due = TimePoint(rows_[next].job.arrives);
  loop_
      .at(due,
          [this, next] {
            std::size_t at = next;
            for (; at < rows_.size() && TimePoint(rows_[at].job.arrives) <= now(); ++at) {
              tell({News::Kind::submitted, static_cast<std::uint32_t>(at)});
            }
            if (at < rows_.size()) arrive(at);
          })
      .detach();
}

void Simulation::tell(News news) {
  news_.push_back(news);
  plan_soon();
}

void Simulation::plan_soon() {
  if (plan_is_due_) return;
  plan_is_due_ = true;
  const Duration into = clock() % options_.plan_every;
  loop_.after(options_.plan_every - into, [this] { plan(); }).detach();
}

void Simulation::plan() {
  plan_is_due_ = false;
  const std::vector<News> news = std::exchange(news_, {});
  const Duration before = loop::thread_cpu_time();
  for (const News& one : news) apply(one);
  meter_.queue_is(clock(), static_cast<std::int64_t>(planner_.queued()));
  std::optional<plan::Snapshot> snapshot;
  if (options_.verify) snapshot = planner_.snapshot(now());
  const plan::Plan plan = planner_.plan(now());
  meter_.planned(loop::thread_cpu_time() - before);
  CHECK(!snapshot || plan::plan(*snapshot) == plan);  // what the planner remembers must not change what it decides

  ++report_.plans;
  report_.placements += static_cast<std::int64_t>(plan.start.size());
  report_.preemptions += static_cast<std::int64_t>(plan.preempt.size());
  for (const GangId& id : plan.preempt) stop(row_of_.at(id));
  for (const plan::Start& one : plan.start) start(one);
  for (const plan::Start& one : plan.grow) {
    Row& row = rows_[row_of_.at(one.id)];
    vacate(row_of_.at(one.id));
    row.on.insert(row.on.end(), one.on.begin(), one.on.end());
    occupy(row_of_.at(one.id));
  }
  meter_.queue_is(clock(), static_cast<std::int64_t>(planner_.queued()));
  report_progress();
}

void Simulation::apply(const News& news) {
  switch (news.kind) {
    case News::Kind::submitted: return planner_.submit(rows_[news.index].job.gang, now());
    case News::Kind::completed: return planner_.remove(rows_[news.index].job.gang.id);
    case News::Kind::requeued: return planner_.requeue(rows_[news.index].job.gang.id, now());
    case News::Kind::resumed: {
      const Row& row = rows_[news.index];
      return planner_.resume(row.job.gang.id, {row.on, row.began, row.began, false});
    }
    case News::Kind::agent_here: return planner_.put_agent(hosts_[news.index].agent);
    case News::Kind::agent_gone: return planner_.remove_agent(hosts_[news.index].agent.id);
  }
}

void Simulation::step(Row& row, const lease::Event& event) {
  lease::Step result = lease::step(row.lease, event);
  row.lease = std::move(result.next);
  for (const lease::Effect& effect : result.effects) {
    report_.stale_processes_killed += std::holds_alternative<lease::SendKill>(effect);
  }
}

void Simulation::start(const plan::Start& start) {
  const std::uint32_t gang = row_of_.at(start.id);
  Row& row = rows_[gang];
  row.on = start.on;
  step(row, lease::Place{start.on.front().agent});
  occupy(gang);
  if (!row.started_before) meter_.first_start(row.job.gang, clock() - row.job.arrives);
  row.started_before = true;
  ++running_;
  if (reachable(row)) begin(gang);
}

void Simulation::begin(std::uint32_t gang) {
  Row& row = rows_[gang];
  const lease::Held held = *lease::current(row.lease);
  step(row, lease::Started{held});
  row.runs = true;
  row.began = now();
  loop_.after(row.job.work - row.saved, [this, gang, epoch = held.epoch] { end(gang, epoch); }).detach();
}

void Simulation::end(std::uint32_t gang, Epoch epoch) {
  Row& row = rows_[gang];
  if (row.lease.epoch != epoch || row.completed) return;  // it was started anew since
  row.exit_unreported = true;
  if (lease::current(row.lease) && reachable(row)) complete(gang);
}

void Simulation::complete(std::uint32_t gang) {
  Row& row = rows_[gang];
  step(row, lease::Exited{*lease::current(row.lease), {}});
  row.completed = true;
  vacate(gang);
  --running_;
  ++report_.completed;
  last_completion_ = clock();
  tell({News::Kind::completed, gang});
}

void Simulation::stop(std::uint32_t gang) {
  Row& row = rows_[gang];
  step(row, lease::Stop{lease::Reason::preempted});
  const Duration grace = std::chrono::seconds(dice_.magnitude(2, 120));
  loop_.after(grace, [this, gang, epoch = row.lease.epoch] { stopped(gang, epoch); }).detach();
}

void Simulation::stopped(std::uint32_t gang, Epoch epoch) {
  Row& row = rows_[gang];
  const auto* stopping = std::get_if<lease::Stopping>(&row.lease.stage);
  if (row.lease.epoch != epoch || stopping == nullptr) return;
  row.stop_overdue = true;
  if (!reachable(row)) return;
  if (row.runs) row.saved += now() - row.began;  // it wrote a checkpoint in its grace
  step(row, lease::Exited{stopping->held, {}});
  step(row, lease::Again{});
  requeue(gang);
}

void Simulation::requeue(std::uint32_t gang) {
  Row& row = rows_[gang];
  vacate(gang);
  row.runs = row.exit_unreported = row.stop_overdue = false;
  --running_;
  tell({News::Kind::requeued, gang});
}

void Simulation::occupy(std::uint32_t gang) {
  Row& row = rows_[gang];
  row.hosts.clear();
  for (const plan::Place& place : row.on) {
    const std::uint32_t index = host_of_.at(place.agent);
    Host& host = hosts_[index];
    host.gangs.insert(gang);
    host.slots_used += place.slots;
    CHECK(host.slots_used <= host.agent.slots);  // an account of its own: the planner must never over-commit
    slots_used_ += place.slots;
    meter_.slots_changed(clock(), place.slots, 0);
    if (std::find(row.hosts.begin(), row.hosts.end(), index) == row.hosts.end()) row.hosts.push_back(index);
  }
}

void Simulation::vacate(std::uint32_t gang) {
  Row& row = rows_[gang];
  for (const plan::Place& place : row.on) {
    Host& host = hosts_[host_of_.at(place.agent)];
    host.slots_used -= place.slots;
    slots_used_ -= place.slots;
    meter_.slots_changed(clock(), -place.slots, 0);
  }
  for (const std::uint32_t index : row.hosts) {
    hosts_[index].gangs.erase(gang);
    hosts_[index].idle_since = now();
  }
  row.hosts.clear();
}

bool Simulation::reachable(const Row& row) const {
  return std::all_of(row.hosts.begin(), row.hosts.end(),
                     [this](std::uint32_t host) { return hosts_[host].link == Link::up; });
}

void Simulation::report_progress() {
  if (!watch_ || clock() < watched_until_) return;
  watched_until_ = clock() + 1min;
  watch_({clock(), report_.gangs, report_.completed, running_, static_cast<std::int64_t>(planner_.queued()), slots_,
          slots_used_});
}

}  // namespace cadre::simulate
