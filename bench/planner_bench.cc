#include "base/check.h"
#include "bench/bench.h"
#include "plan/planner.h"

namespace cadre::bench {
namespace {

/// Fills an empty cluster with one plan: gangs of 1, 2, 4 and 8 slots in turn, as many as fit.
void fill(std::int32_t agents, std::int32_t gangs) {
  plan::Planner planner{plan::Policy{}};
  for (std::int32_t i = 0; i < agents; ++i) {
    plan::Agent agent;
    agent.id = plan::AgentId("a" + std::to_string(i));
    agent.slots = 8;
    planner.put_agent(agent);
  }
  for (std::int32_t i = 0; i < gangs; ++i) {
    plan::Gang gang;
    gang.id = plan::GangId("g" + std::to_string(i));
    gang.wants = plan::Divisible{{1 << i % 4, {}, {}, {}}, false, false};
    planner.submit(gang, TimePoint{});
  }
  CHECK(static_cast<std::int32_t>(planner.plan(TimePoint{}).start.size()) == gangs);
}

}  // namespace

Result<Figures> bench_planner() {
  Figures figures{"planner", {}};
  for (const std::int32_t agents : {100, 1'000, 10'000}) {
    const std::int32_t gangs = agents * 2;  // 7.5 slots of 8
    const double placed = rate([&] { fill(agents, gangs); }, gangs);
    TRY_ASSIGN(row, row_beside_raw("placements on " + std::to_string(agents) + " agents, from submission to plan",
                                   placed, "1/s", "best_fit " + std::to_string(agents)));
    figures.rows.push_back(std::move(row));
  }
  return figures;
}

}  // namespace cadre::bench
