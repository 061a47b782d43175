// Distributed trials on two hosts with an agent of two slots each: the same losses as one process, and what happens
// when a process or a host is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "experiment/requests/experiments.h"
#include "experiment/requests/metrics.h"
#include "tests/e2e/cluster/test_cluster.h"
#include "tests/servers/hosts.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using servers::Hosts;
using testing::HasSubstr;
using testing::Not;

const std::string example = std::string(CADRE_SOURCE_DIR) + "/examples/experiments/data_parallel";

/// The example, but in the first run of the trial the process of rank 3 ends in the middle of its 16th step.
constexpr std::string_view failing_program = R"(
import os, train
from cadre import core
init, gradient, calls, run = core.init, train.loss_and_gradient, 0, 0
def watched(**options):
    global run
    context = init(**options)
    run = context.info.run
    return context
def failing(*arguments):
    global calls
    calls += 1
    if run == 1 and calls == 17 and os.environ["RANK"] == "3":
        os._exit(9)
    return gradient(*arguments)
core.init, train.loss_and_gradient = watched, failing
train.main()
)";

/// The example, whose steps take long enough to do something to it.
constexpr std::string_view slow_program = R"(
import time, train
gradient = train.loss_and_gradient
def slow(*arguments):
    time.sleep(0.3)
    return gradient(*arguments)
train.loss_and_gradient = slow
train.main()
)";

struct DistributedTrials : testing::Test {
  DistributedTrials()
      : cluster({"3s",
                 {"--listen", Hosts::address(1) + ":7300", "--http", Hosts::address(1) + ":7310", "--insecure-http"},
                 std::nullopt,
                 &hosts}) {
    for (const int host : {2, 3}) cluster.start_agent_on(host, {"--artificial-slots", "2"});
    open_to_tasks(code.path());
    std::filesystem::copy(example, code.path());
  }

  /// Submits the example, perhaps with another program; the number of the experiment.
  std::string submit(int slots, std::string_view program = "",
                     const std::string& launcher = "cadre launch --per-slot --") {
    std::vector<std::string> words{"experiment", "create", example + "/data_parallel.yaml", code.path()};
    words.insert(words.end(), {"--set", "resources.slots_per_trial=" + std::to_string(slots)});
    if (!program.empty()) std::ofstream(code.path() + "/program.py") << program;
    const std::string file = program.empty() ? "train.py" : "program.py";
    words.insert(words.end(), {"--set", "entrypoint=" + launcher + " /usr/bin/python3 " + file});
    const Said said = cluster.cadre(words);
    EXPECT_EQ(said.code, 0) << said.err;
    return said.out.substr(0, said.out.find_first_not_of("0123456789"));
  }
  std::string submit_and_wait(int slots, std::string_view program = "") {
    const std::string number = submit(slots, program);
    wait_for(number);
    return number;
  }
  void wait_for(const std::string& number) {
    const Said said = cluster.cadre({"experiment", "wait", number});
    EXPECT_EQ(said.code, 0) << said.out << said.err << output_of(number);
  }
  std::string output_of(const std::string& number) {
    const Said said = cluster.cadre({"trial", "logs", number + ".0"});
    return said.out + said.err;
  }
  /// Losses of the training, by step.
  std::vector<double> losses_of(const std::string& number) {
    const Said said = cluster.cadre({"api", "call", "read_reports", "trial=" + number + ".0", "group=training"});
    const auto reports = describe::read_json<experiment::requests::Reports>(said.out);
    EXPECT_TRUE(reports) << said.out << said.err;
    std::vector<double> losses;
    for (const auto& report : reports->reports) {
      losses.push_back(*report.metrics.find("loss")->as<double>());
      EXPECT_EQ(report.steps, static_cast<std::int64_t>(losses.size()));
    }
    return losses;
  }
  std::int64_t restarts_of(const std::string& number) {
    const Said said = cluster.cadre({"trial", "describe", number + ".0", "--json"});
    const auto trial = describe::read_json<describe::Value>(said.out);
    const describe::Value* restarts = trial ? trial->find("restarts") : nullptr;
    return restarts == nullptr || restarts->is_null() ? 0 : *restarts->as<std::int64_t>();
  }
  void expect_same(const std::vector<double>& losses, const std::vector<double>& expected) {
    ASSERT_EQ(losses.size(), 40);
    ASSERT_EQ(expected.size(), 40);
    for (std::size_t step = 0; step < losses.size(); ++step) EXPECT_NEAR(losses[step], expected[step], 1e-5) << step;
    EXPECT_LT(losses.back(), losses.front() / 4) << "it has learned nothing";
  }

  Hosts hosts{3};
  TestCluster cluster;
  servers::TempDir code;
};

TEST_F(DistributedTrials, FourProcessesOnTwoHostsHaveTheLossesOfOne) {
  const std::string alone = submit_and_wait(1);
  const std::string together = submit_and_wait(4);
  expect_same(losses_of(together), losses_of(alone));
  const std::string output = output_of(together);
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = "rank " + std::to_string(rank);
    EXPECT_THAT(output, HasSubstr("[" + name + "] " + name + " of 4 ends after step 40")) << output;
  }
  EXPECT_EQ(restarts_of(together), 0);
}

TEST_F(DistributedTrials, ADeadRankIsNamedEndsAllAndTheTrialGoesOn) {
  const std::string alone = submit_and_wait(1);
  const std::string number = submit_and_wait(4, failing_program);
  EXPECT_EQ(restarts_of(number), 1) << output_of(number);
  expect_same(losses_of(number), losses_of(alone));
  const std::string output = output_of(number);
  EXPECT_THAT(output, HasSubstr("rank 3 on agent host-")) << output;
  EXPECT_THAT(output, HasSubstr(" failed with exit code 9; ending all processes")) << output;
  std::size_t said = 0;  // on both hosts
  for (std::size_t at = output.find("; ending all"); at != std::string::npos;
       at = output.find("; ending all", at + 1)) {
    ++said;
  }
  EXPECT_EQ(said, 2) << output;
}

TEST_F(DistributedTrials, WithoutALauncherTheTasksAreTheRanks) {
  const std::string number = submit(4, "", "exec");
  wait_for(number);
  const std::string output = output_of(number);
  EXPECT_THAT(output, HasSubstr("rank 1 of 2 ends after step 40")) << output;
  EXPECT_EQ(losses_of(number).size(), 40);
}

TEST_F(DistributedTrials, AProcessOfAnEarlierRunDoesNotJoin) {
  const std::string script =
      "[ $CADRE_RANK = 1 ] && export CADRE_EPOCH=7; exec cadre launch --join-timeout 30s -- echo joined";
  const Said said = cluster.cadre({"run", "--count", "2", "--slots", "1", "--", "sh", "-c", script});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.out + said.err, HasSubstr("this process belongs to an earlier run of its task"));
  EXPECT_THAT(said.out, Not(HasSubstr("[1] joined")));
}

TEST_F(DistributedTrials, APausedTrialSavesACheckpointAndGoesOn) {
  const std::string number = submit(4, slow_program);
  ASSERT_TRUE(TestCluster::until([&] { return losses_of(number).size() >= 3; }));
  EXPECT_EQ(cluster.cadre({"experiment", "pause", number}).code, 0);
  const auto is_paused = [&] {
    const Said said = cluster.cadre({"trial", "describe", number + ".0", "--json"});
    return said.out.find("\"state\":\"paused\"") != std::string::npos;
  };
  ASSERT_TRUE(TestCluster::until(is_paused)) << output_of(number);
  const std::size_t steps = losses_of(number).size();
  for (int rank = 0; rank < 4; ++rank) {
    const std::string end = "rank " + std::to_string(rank) + " of 4 ends after step " + std::to_string(steps) + " with";
    EXPECT_THAT(output_of(number), HasSubstr(end));
  }
  EXPECT_EQ(cluster.cadre({"experiment", "activate", number}).code, 0);
  wait_for(number);
  EXPECT_EQ(losses_of(number).size(), 40);
  EXPECT_EQ(restarts_of(number), 0);
}

TEST_F(DistributedTrials, ALostHostIsNamedAndTheTrialWaitsForSlots) {
  const std::string number = submit(4, slow_program);
  ASSERT_TRUE(TestCluster::until([&] { return losses_of(number).size() >= 12; }));
  cluster.kill_host(Hosts::name(3));
  ASSERT_TRUE(TestCluster::until([&] { return output_of(number).find("was lost") != std::string::npos; }));
  const std::string output = output_of(number);
  EXPECT_THAT(output, HasSubstr("on agent host-3 was lost: ")) << output;
  hosts.boot(3);
  cluster.start_agent_on(3, {"--artificial-slots", "2"});
  wait_for(number);
  EXPECT_EQ(losses_of(number).size(), 40);
}

}  // namespace
}  // namespace cadre::e2e
