#include "agent/process/start_watch.h"

#include <gtest/gtest.h>

#include "loop/descriptor.h"

namespace cadre::agent {
namespace {

using namespace std::chrono_literals;
using cluster::lease::Reason;

TEST(StartWatch, AFaultOfTheAgentLetsTheTaskRunAgain) {
  const Error killed{Errc::unavailable, "cadre-supervisor fails whenever it starts a supervisor"};
  const auto ending = ending_before_start(no_supervisor(killed));
  EXPECT_EQ(ending.reason, Reason::agent_lost);
  EXPECT_EQ(ending.detail,
            "it could not start: the agent cannot start a supervisor: cadre-supervisor fails whenever it starts a "
            "supervisor");
  EXPECT_EQ(ending_before_start(loop::system_error("/data", ENOSPC)).reason, Reason::agent_lost);
}

TEST(StartWatch, AFaultOfTheTaskEndsIt) {
  const auto ending = ending_before_start({Errc::denied, "refused by the agent: it has no account 'ann'"});
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail, "refused by the agent: it has no account 'ann'");
}

TEST(StartWatch, AFailureIsAnObstacleForAWhile) {
  StartWatch watch;
  const TimePoint start(1h);
  EXPECT_EQ(watch.obstacle(start), "");
  watch.failed(no_supervisor({Errc::unavailable, "fork: Resource temporarily unavailable"}), start);
  EXPECT_EQ(watch.obstacle(start + 9s), "the agent cannot start a supervisor: fork: Resource temporarily unavailable");
  EXPECT_EQ(watch.obstacle(start + 10s), "");
}

}  // namespace
}  // namespace cadre::agent
