// Every decision of a live master is one that `cadre plan` would make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "describe/describe.h"
#include "plan/plan_file.h"
#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

TEST(Replay, ARecordedRunMakesTheSameDecisions) {
  servers::TempDir record;
  TestCluster cluster({"3s", {"--record", record.path()}});
  for (const char* name : {"a1", "a2", "a3"}) cluster.start_agent(name);
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 30; ++i) {
    std::vector<std::string> job{"--slots", std::to_string(1 + i % 4), "--priority", std::to_string(10 + i % 3)};
    if (i % 2 == 0) job.emplace_back("--preemptible");
    job.insert(job.end(),
               {"--grace", "1s", "--preemption-grace", "1s", "--", "sh", "-c", "sleep 0." + std::to_string(i % 10)});
    ids.push_back(cluster.submit(job));
    if (i == 15) {
      cluster.kill_host("a2");
    }
    if (i == 20) {
      EXPECT_EQ(cluster.cadre({"agent", "drain", "a3"}).code, 0);
    }
    if (i == 25) {
      EXPECT_EQ(cluster.cadre({"agent", "enable", "a3"}).code, 0);
    }
  }
  for (const std::uint64_t id : ids) cluster.wait_for_end(id);
  int plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(record.path())) {
    const std::string path = entry.path();
    if (!path.ends_with(".plan.json")) continue;
    ++plans;
    const Said said = run_cadre({"plan", path, "--json"});
    ASSERT_EQ(said.code, 0) << path << ": " << said.err;
    auto replayed = describe::read_json<plan::PlanAnswer>(said.out);
    auto decided = describe::read_json<plan::PlanAnswer>(
        read_text(path.substr(0, path.size() - std::string(".plan.json").size()) + ".decided.json"));
    ASSERT_TRUE(replayed && decided) << path;
    replayed->why.clear();
    decided->why.clear();
    EXPECT_EQ(describe::write_json(*replayed), describe::write_json(*decided)) << path;
  }
  EXPECT_GT(plans, 10);
}

}  // namespace
}  // namespace cadre::e2e
