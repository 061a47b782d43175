// Names in tasks: no URL, no login, only what every task is given.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using testing::HasSubstr;

TEST(NamesInTasks, AreFoundByOthersOfTheirWorkspaceAndGoWithTheTask) {
  TestCluster cluster;
  cluster.start_agent("a1");
  ASSERT_EQ(cluster.cadre({"workspace", "create", "vision"}).code, 0);
  const auto names = [&](const std::string& workspace, const std::string& command) {
    return cluster.submit({"--workspace", workspace, "--", "sh", "-c", command});
  };
  const std::string program = CADRE_NAMES;
  const std::uint64_t puts = names("vision", "sleep 1000 | " + program + " '' put demo/server here");
  EXPECT_EQ(cluster.output(cluster.wait_for_end(names("vision", program + " '' wait demo/server")).id.value), "here\n");
  const std::uint64_t stranger = names("default", program + " master:///vision wait demo/server 2>&1");
  EXPECT_NE(cluster.wait_for_end(stranger).code, 0);
  EXPECT_THAT(cluster.output(stranger), HasSubstr("there is no workspace 'vision'"));
  const std::uint64_t watcher = names("vision", "exec " + program + " '' watch demo");
  ASSERT_TRUE(TestCluster::until([&] { return cluster.output(watcher) == "demo/server is here\n"; }));
  ASSERT_EQ(cluster.cadre({"task", "kill", std::to_string(puts)}).code, 0);
  EXPECT_TRUE(
      TestCluster::until([&] { return cluster.output(watcher) == "demo/server is here\ndemo/server is gone\n"; }));
}

}  // namespace
}  // namespace cadre::e2e
