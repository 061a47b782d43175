// Slots as tasks see them, and as they come and go while jobs run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "bench/cluster_for_bench.h"
#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using cluster::JobStage;

TEST(Slots, OnlyThoseOfATaskAreVisibleToItWhateverItAsksFor) {
  TestCluster cluster;
  ::setenv("CADRE_NVML", CADRE_FAKE_NVML, 1);
  ::setenv("FAKE_NVML_GPUS", "4", 1);
  cluster.start_agent("a1", {});
  ::unsetenv("CADRE_NVML");
  ::unsetenv("FAKE_NVML_GPUS");
  const std::string show = "echo $CUDA_VISIBLE_DEVICES $CADRE_SLOTS $CADRE_RANK; sleep 1000";
  std::set<std::string> devices;
  std::vector<std::uint64_t> ids;
  for (int i = 0; i < 2; ++i) {
    ids.push_back(cluster.submit({"--slots", "2", "--env", "CUDA_VISIBLE_DEVICES=GPU-0,GPU-1,GPU-2,GPU-3", "--env",
                                  "CADRE_SLOTS=0,1,2,3", "--env", "CADRE_RANK=9", "--", "sh", "-c", show}));
    ASSERT_TRUE(TestCluster::until([&] { return !cluster.output(ids.back()).empty(); }));
    devices.insert(cluster.output(ids.back()));
  }
  EXPECT_EQ(devices, (std::set<std::string>{"GPU-0,GPU-1 0,1 0\n", "GPU-2,GPU-3 2,3 0\n"}));
  const std::uint64_t none =
      cluster.submit({"--env", "CUDA_VISIBLE_DEVICES=GPU-0", "--", "sh", "-c", "echo \"[$CUDA_VISIBLE_DEVICES]\""});
  cluster.wait_for_end(none);
  EXPECT_TRUE(TestCluster::until([&] { return cluster.output(none) == "[]\n"; })) << cluster.output(none);
  for (const std::uint64_t id : ids) EXPECT_EQ(cluster.cadre({"task", "kill", std::to_string(id)}).code, 0);
}

std::size_t running(const TestCluster& cluster, std::uint64_t id) {
  std::size_t count = 0;
  for (const auto& task : cluster.job(id).tasks) count += task.stage == cluster::lease::Stage::running ? 1 : 0;
  return count;
}

TEST(Slots, ThatComeLaterLetAnElasticGangGrow) {
  TestCluster cluster;
  cluster.start_agent("a1", {"--artificial-slots", "1"});
  cluster.start_agent("big", {"--artificial-slots", "3"});  // so that all of it could run
  EXPECT_EQ(cluster.cadre({"agent", "drain", "big"}).code, 0);
  cluster::requests::Submit submit = bench::job_of({"sh", "-c", "echo rank $CADRE_RANK; exec sleep 1000"});
  submit.job.members[0].slots = 1;
  submit.job.members[0].count = 3;
  submit.job.members[0].elastic_min = 1;
  const auto client = bench::Client::connect(cluster.data()).value();
  const std::uint64_t id = client->ask(std::vector{submit}).value().at(0).id.value;
  ASSERT_TRUE(TestCluster::until([&] { return running(cluster, id) == 1; }));
  cluster.start_agent("a2", {"--artificial-slots", "1"});
  ASSERT_TRUE(TestCluster::until([&] { return running(cluster, id) == 2; }));
  EXPECT_EQ(cluster.cadre({"agent", "enable", "big"}).code, 0);
  ASSERT_TRUE(TestCluster::until([&] { return running(cluster, id) == 3; }));
  const auto job = cluster.job(id);
  EXPECT_EQ(job.runs, 1);
  for (const auto& task : job.tasks) EXPECT_EQ(task.epoch, 1U) << "none was started again for the others";
  EXPECT_EQ(cluster.cadre({"task", "kill", std::to_string(id)}).code, 0);
  cluster.wait_for_end(id);
}

TEST(Slots, OneThatIsDrainedLetsItsTaskEndAndTakesNoOther) {
  TestCluster cluster;
  cluster.start_agent("a1", {"--artificial-slots", "2"});
  const std::uint64_t long_one = cluster.submit({"--slots", "1", "--", "sleep", "1000"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(long_one, "a1"); }));
  const std::string slot = std::to_string(cluster.job(long_one).tasks.at(0).slots.at(0));
  const int other = 1 - std::stoi(slot);
  EXPECT_EQ(cluster.cadre({"agent", "drain", "a1", "--slot", slot}).code, 0);
  for (int i = 0; i < 3; ++i) {
    const auto job = cluster.wait_for_end(cluster.submit({"--slots", "1", "--", "true"}));
    EXPECT_EQ(job.tasks.at(0).slots, std::vector<std::int32_t>{other});
  }
  EXPECT_EQ(cluster.job(long_one).stage, JobStage::running) << "it is not stopped";
  EXPECT_EQ(cluster.cadre({"task", "kill", std::to_string(long_one)}).code, 0);
  cluster.wait_for_end(long_one);
  for (int i = 0; i < 3; ++i) {
    const auto job = cluster.wait_for_end(cluster.submit({"--slots", "1", "--", "true"}));
    EXPECT_EQ(job.tasks.at(0).slots, std::vector<std::int32_t>{other}) << "free, but drained";
  }
  EXPECT_EQ(cluster.cadre({"agent", "enable", "a1", "--slot", slot}).code, 0);
  const auto both = cluster.wait_for_end(cluster.submit({"--slots", "2", "--", "true"}));
  EXPECT_EQ(both.code, 0);
}

}  // namespace
}  // namespace cadre::e2e
