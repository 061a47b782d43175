// What is promised when time passes for one and not for another: a master that is stopped, jobs that may run for a
// limited time, and jobs that ended long ago.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <vector>

#include "logs/store.h"
#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using cluster::JobStage;
using testing::HasSubstr;
using testing::Not;

/// Keeps all processors busy.
class Load {
 public:
  Load() {
    for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([this] {
        while (!is_over_) continue;
      });
    }
  }
  ~Load() { is_over_ = true; }

 private:
  std::atomic<bool> is_over_ = false;
  std::vector<std::jthread> threads_;
};

bool all_run(const cluster::requests::JobView& job, std::size_t tasks) {
  return job.stage == JobStage::running && job.tasks.size() == tasks &&
         std::all_of(job.tasks.begin(), job.tasks.end(),
                     [](const auto& task) { return task.stage == cluster::lease::Stage::running; });
}

TEST(Absence, OfTheMasterUnderLoadCostsNoGangItsPlace) {
  TestCluster cluster;
  cluster.start_agent("a1");
  cluster.start_agent("a2");
  const std::uint64_t id = cluster.submit({"--slots", "4", "--count", "2", "--", "sleep", "600"});
  ASSERT_TRUE(TestCluster::until([&] { return all_run(cluster.job(id), 2); }));
  const Load load;
  for (int round = 0; round < 3; ++round) {
    ::kill(cluster.master(), SIGSTOP);
    std::this_thread::sleep_for(7s);  // more than twice agent_timeout
    ::kill(cluster.master(), SIGCONT);
    ASSERT_TRUE(TestCluster::until([&] { return cluster.is_up("a1") && cluster.is_up("a2"); }));
    std::this_thread::sleep_for(1s);
    const auto job = cluster.job(id);
    ASSERT_TRUE(all_run(job, 2));
    EXPECT_EQ(job.runs, 1);
    for (const auto& task : job.tasks) EXPECT_EQ(task.epoch, 1U);
  }
  EXPECT_EQ(cluster.cadre({"job", "kill", std::to_string(id)}).code, 0);
}

TEST(Absence, OfBothAgentsOfAGangIsForgivenWhenTheyComeBack) {
  TestCluster cluster;
  cluster.start_agent("a1");
  cluster.start_agent("a2");
  const std::uint64_t id = cluster.submit({"--slots", "4", "--count", "2", "--", "sleep", "600"});
  ASSERT_TRUE(TestCluster::until([&] { return all_run(cluster.job(id), 2); }));
  for (const char* name : {"a1", "a2"}) ::kill(cluster.agent(name), SIGSTOP);
  ASSERT_TRUE(TestCluster::until([&] { return cluster.job(id).stage == JobStage::queued; })) << "both are lost";
  for (const char* name : {"a1", "a2"}) ::kill(cluster.agent(name), SIGCONT);
  ASSERT_TRUE(TestCluster::until([&] { return all_run(cluster.job(id), 2); }));
  const auto job = cluster.job(id);
  EXPECT_EQ(job.runs, 1);
  for (const auto& task : job.tasks) EXPECT_EQ(task.epoch, 1U);
  EXPECT_EQ(cluster.cadre({"job", "kill", std::to_string(id)}).code, 0);
}

TEST(MaxTime, StopsAJobGracefullyThroughRestartsOfMasterAndAgent) {
  TestCluster cluster{{"30s", {}}};  // however long an agent needs to start
  cluster.start_agent("a1");
  const std::uint64_t id = cluster.submit(
      {"--max-time", "8s", "--", "sh", "-c", "trap 'echo told; exit 0' TERM; echo up; sleep 600 & wait"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.output(id) == "up\n"; }));
  cluster.kill_agent("a1");
  cluster.start_agent("a1");
  cluster.kill_master();
  cluster.start_master();
  const auto job = cluster.wait_for_end(id);
  EXPECT_THAT(job.detail, HasSubstr("it ran longer than its max_time of 8 s"));
  EXPECT_EQ(job.runs, 1) << cluster.cadre({"job", "describe", std::to_string(id)}).out;
  EXPECT_EQ(cluster.output(id), "up\ntold\n");
  EXPECT_THAT(cluster.cadre({"why", std::to_string(id)}).out, HasSubstr("it ran longer than its max_time of 8 s"));
}

TEST(EndedJobs, AreReadFromTheDatabaseAndGoWithTheirOutput) {
  const servers::TempDir folder;
  const std::string config = folder.path() + "/master.yaml";
  std::ofstream(config) << "cluster: {ended_jobs_kept: 2}\n";
  TestCluster::Setup setup;
  setup.master = {"--config", config};
  TestCluster cluster(setup);
  cluster.start_agent("a1");
  for (std::uint64_t i = 1; i <= 5; ++i) {
    const std::uint64_t id = cluster.submit({"--", "echo", "this is job " + std::to_string(i)});
    ASSERT_EQ(id, i);
    cluster.wait_for_end(id);
  }
  const auto all_are_there = [&] {
    for (std::uint64_t i = 1; i <= 5; ++i) {
      const std::string number = std::to_string(i);
      EXPECT_EQ(cluster.job(i).stage, JobStage::ended);
      EXPECT_EQ(cluster.output(i), "this is job " + number + "\n");
      EXPECT_THAT(cluster.cadre({"why", number}).out, HasSubstr("ended successfully"));
      EXPECT_THAT(cluster.cadre({"job", "set", number, "--priority", "3"}).err, HasSubstr("has ended"));
    }
    EXPECT_EQ(cluster.jobs().size(), 5U);
  };
  all_are_there();
  EXPECT_THAT(cluster.cadre({"why", "6"}).err, HasSubstr("there is no job 6"));
  cluster.kill_master();
  cluster.start_master();
  all_are_there();

  cluster.kill_master();
  std::ofstream(config) << "cluster: {ended_jobs_kept: 1}\nkeeping: {jobs: 3, tidy_every: 100ms}\n";
  cluster.start_master();
  EXPECT_TRUE(TestCluster::until([&] { return cluster.jobs().size() == 3; }));
  EXPECT_THAT(cluster.cadre({"why", "1"}).err, HasSubstr("there is no job 1"));
  EXPECT_THAT(cluster.cadre({"task", "logs", "2.0"}).err, HasSubstr("there is no job 2"));
  EXPECT_EQ(cluster.output(3), "this is job 3\n");
  EXPECT_THAT(cluster.cadre({"status"}).out, Not(HasSubstr("5 ended")));

  cluster.kill_master();
  {
    const auto logs = logs::LogStore::open(cluster.data() + "/output", {});
    ASSERT_TRUE(logs);
    EXPECT_THAT((*logs)->names(), testing::UnorderedElementsAre("3.0/1", "4.0/1", "5.0/1"))
        << "they take no place either";
  }
  std::ofstream(config)
      << "cluster: {ended_jobs_kept: 1, ended_bytes_kept: 1KiB}\nkeeping: {job_bytes: 1KiB, tidy_every: 100ms}\n";
  cluster.start_master();
  EXPECT_TRUE(TestCluster::until([&] { return cluster.jobs().size() < 3; })) << "they take too much";
}

}  // namespace
}  // namespace cadre::e2e
