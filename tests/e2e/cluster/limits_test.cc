// What keeps a task within its limits, and what is said when it goes beyond.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using cluster::lease::Reason;
using testing::HasSubstr;

class Limits : public testing::Test {
 protected:
  Limits() { cluster_.start_agent("a1"); }
  TestCluster cluster_;
};

TEST_F(Limits, OutOfMemoryIsNamedWithLimitAndUse) {
  for (const char* isolation : {"on", "off"}) {
    const std::uint64_t id = cluster_.submit(
        {"--memory", "64MiB", "--isolation", isolation, "--", "/usr/bin/python3", "-c",
         "import time\nhoard = []\nwhile True:\n  hoard.append(bytearray(4 << 20))\n  time.sleep(0.01)"});
    const auto job = cluster_.wait_for_end(id);
    EXPECT_EQ(job.reason, Reason::out_of_memory) << isolation << ": " << job.detail;
    EXPECT_THAT(job.detail, HasSubstr("64MiB")) << isolation;
    EXPECT_THAT(cluster_.cadre({"why", std::to_string(id)}).out, HasSubstr("memory"));
  }
}

TEST_F(Limits, AForkBombIsContainedByItsLimits) {
  const std::uint64_t bomb = cluster_.submit(
      {"--processes", "50", "--grace", "1s", "--", "sh", "-c", "bomb() { bomb | bomb & }; bomb; sleep 1000"});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(cluster_.cadre({"run", "--", "echo", "well"}).out, "well\n");
  EXPECT_LE(cluster_.processes("a1").size(), 60U);
  EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(bomb)}).code, 0);
  cluster_.wait_for_end(bomb);
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.processes("a1").empty(); }));
}

TEST_F(Limits, TheAgentSaysWhichIsolationIsInForce) {
  const auto agents = cluster_.agents();
  ASSERT_EQ(agents.size(), 1U);
  EXPECT_FALSE(agents[0].isolation.empty());
  // Its /tmp is its own: of what lies in ours it sees nothing but its own folder.
  EXPECT_NE(cluster_.cadre({"run", "--", "test", "-e", cluster_.data()}).code, 0);
  EXPECT_EQ(cluster_.cadre(TestCluster::on_the_host({"run"}, {"test", "-e", cluster_.data()})).code, 0);
}

}  // namespace
}  // namespace cadre::e2e
