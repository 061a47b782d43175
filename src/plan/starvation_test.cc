#include <gtest/gtest.h>

#include <map>

#include "base/seeds.h"
#include "plan/planner.h"
#include "tests/oracle/random_snapshot.h"

namespace cadre::plan {
namespace {

using std::chrono::minutes;

constexpr auto passing_limit = minutes(10);
constexpr auto run_time_max = minutes(30);
constexpr auto step = minutes(1);  // and as long as a gang takes to stop

/// A pool that more small gangs want to use than it can hold, for ever; each ends after its run time.
class BusyPool {
 public:
  BusyPool(Dice& dice, bool preemption) : dice_(dice), planner_(policy(preemption)) {
    const auto count = dice.between(1, 5);
    for (std::int64_t a = 0; a < count; ++a) {
      Agent agent;
      agent.id = AgentId("a" + std::to_string(a));
      agent.slots = 8;
      planner_.put_agent(agent);
    }
    agents_ = static_cast<std::int32_t>(count);
  }

  /// One minute: some gangs end, some come, the planner plans.
  void pass() {
    now_ += step;
    for (const GangStatus& gang : planner_.snapshot(now_).gangs) {
      if (!gang.running) continue;
      const bool over = now_ - gang.running->since >= run_times_.at(gang.gang.id);
      if (over) planner_.remove(gang.gang.id);
      if (!over && gang.running->stopping) planner_.requeue(gang.gang.id, now_);
    }
    while (planner_.queued() < 12) submit_small();
    for (const Start& start : planner_.plan(now_).start) large_runs_ |= start.id.value == "large";
  }

  /// Nobody is ahead of it in the queue; whatever comes later is behind.
  void submit_large() {
    for (const GangStatus& gang : planner_.snapshot(now_).gangs) {
      if (!gang.running) planner_.remove(gang.gang.id);
    }
    Gang gang;
    gang.id = GangId("large");
    gang.wants = slots(8 * dice_.between(1, agents_));
    gang.preemptible = dice_.percent(50);
    run_times_[gang.id] = run_time_max;
    planner_.submit(gang, now_);
  }

  bool large_runs() const { return large_runs_; }
  TimePoint now() const { return now_; }
  Snapshot snapshot() const { return planner_.snapshot(now_); }

 private:
  static Policy policy(bool preemption) {
    PriorityPolicy policy;
    policy.preemption = preemption;
    policy.passing_limit = passing_limit;
    return policy;
  }

  static Divisible slots(std::int64_t count) {
    Divisible wants;
    wants.request.slots = static_cast<std::int32_t>(count);
    return wants;
  }

  void submit_small() {
    Gang gang;
    gang.id = GangId("s" + std::to_string(++names_));
    gang.wants = slots(dice_.between(1, 5));
    gang.priority = dice_.percent(50) ? 42 : 50;
    gang.preemptible = dice_.percent(50);
    run_times_[gang.id] = dice_.percent(30) ? run_time_max : minutes(dice_.between(1, 30));
    planner_.submit(gang, now_);
  }

  Dice& dice_;
  Planner planner_;
  std::map<GangId, Duration> run_times_;
  TimePoint now_{minutes(1000)};
  std::int32_t agents_ = 0;
  bool large_runs_ = false;
  int names_ = 0;
};

void expect_the_large_one_to_start_in_time(Dice& dice, bool preemption) {
  BusyPool pool(dice, preemption);
  for (int i = 0; i < 40; ++i) pool.pass();
  pool.submit_large();
  const TimePoint submitted = pool.now();
  while (!pool.large_runs()) {
    pool.pass();
    ASSERT_LE(pool.now() - submitted, passing_limit + run_time_max + 2 * step) << oracle::to_string(pool.snapshot());
  }
}

TEST(Starvation, SmallGangsDoNotKeepALargeOneWaitingWithPreemption) {
  FOR_SEEDS(300, [](Dice& dice) { expect_the_large_one_to_start_in_time(dice, true); });
}

TEST(Starvation, SmallGangsDoNotKeepALargeOneWaitingWithoutPreemption) {
  FOR_SEEDS(300, [](Dice& dice) { expect_the_large_one_to_start_in_time(dice, false); });
}

}  // namespace
}  // namespace cadre::plan
