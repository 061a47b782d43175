/// `CADRE_UPDATE_GOLDEN=1 ctest -R simulate` writes the reports in tests/golden/simulate anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "describe/describe.h"
#include "simulate/report.h"
#include "tests/e2e/process.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using simulate::Outcome;
using simulate::Report;
using testing::HasSubstr;

/// `cadre simulate` with these words.
Said simulate_with(const std::string& words) {
  std::vector<std::string> arguments = {"simulate"};
  std::istringstream in(words);
  for (std::string word; in >> word;) arguments.push_back(word);
  return run_cadre(arguments);
}

Report report_of(const std::string& words) {
  const Said said = simulate_with(words + " --json");
  EXPECT_EQ(said.code, 0) << said.err;
  const auto outcome = describe::read_json<Outcome>(said.out);
  EXPECT_TRUE(outcome) << describe::to_text(outcome.error(), "the answer");
  return outcome ? outcome->report : Report{};
}

struct Golden {
  const char* name;
  const char* words;
};

const Golden goldens[] = {
    {"quiet", "--agents 16 --gangs 400 --over 24h --seed 3"},
    {"busy", "--agents 8 --gangs 400 --seed 3 --over 2h --loss-every 6h --partition-every 2h"},
    {"fair_share", "--agents 8 --gangs 400 --seed 3 --over 2h --policy fair_share"},
    {"instances", "--agents 4 --gangs 400 --seed 3 --over 4h --instances 12"},
};

class SimulateReport : public testing::TestWithParam<Golden> {};

TEST_P(SimulateReport, IsAsItWas) {
  const Said said = simulate_with(GetParam().words);
  EXPECT_EQ(said.code, 0) << said.err;
  const std::string head = std::string("$ cadre simulate ") + GetParam().words + "\n";
  expect_golden(std::string("simulate/") + GetParam().name + ".txt", head + said.out);
}

TEST_P(SimulateReport, IsTheSameByteForByteForOneSeed) {
  EXPECT_EQ(simulate_with(GetParam().words).out, simulate_with(GetParam().words).out);
}

TEST_P(SimulateReport, IsAnotherForAnotherSeed) {
  EXPECT_NE(simulate_with(GetParam().words).out, simulate_with(std::string(GetParam().words) + " --seed 4").out);
}

INSTANTIATE_TEST_SUITE_P(Simulate, SimulateReport, testing::ValuesIn(goldens),
                         [](const auto& golden) { return std::string(golden.param.name); });

TEST(Simulate, SaysTimingsOnStandardErrorOnly) {
  const Said said = simulate_with("--agents 8 --gangs 50");
  EXPECT_THAT(said.err, HasSubstr("planner: "));
  EXPECT_THAT(said.err, HasSubstr(" placements per CPU second"));
  EXPECT_THAT(said.out, testing::Not(HasSubstr("CPU")));
}

TEST(Simulate, AnswersInJsonWithReportAndTimings) {
  const Said said = simulate_with("--agents 8 --gangs 200 --json");
  EXPECT_EQ(said.code, 0);
  const auto outcome = describe::read_json<Outcome>(said.out);
  ASSERT_TRUE(outcome) << describe::to_text(outcome.error(), "the answer");
  EXPECT_EQ(outcome->report.gangs, 200);
  EXPECT_EQ(outcome->report.slots, 64);
  EXPECT_GE(outcome->timings.plan_max_ms, outcome->timings.plan_p99_ms);
  EXPECT_GE(outcome->timings.plan_p99_ms, outcome->timings.plan_p50_ms);
}

TEST(Simulate, HasTheSameReportInJsonForOneSeed) {
  const std::string words = "--agents 8 --gangs 300 --over 2h --loss-every 6h --partition-every 1h";
  EXPECT_EQ(describe::write_json(report_of(words)), describe::write_json(report_of(words)));
}

/// All did their work, and the figures of the report agree with each other.
void expect_complete(const Report& report) {
  EXPECT_EQ(report.completed, report.gangs);
  EXPECT_EQ(report.waiting_at_end, 0);
  EXPECT_GE(report.placements, report.gangs);
  EXPECT_LE(report.leases_taken_back, report.requeued_by_loss);
  EXPECT_LE(report.slots_used_permille, 1000);
  const auto all =
      std::find_if(report.waits.begin(), report.waits.end(), [](const auto& w) { return w.gangs == "all"; });
  ASSERT_NE(all, report.waits.end());
  EXPECT_EQ(all->count, report.gangs) << "every gang has started";
  EXPECT_LE(all->longest, report.lasted);
  for (const auto& sample : report.samples) {
    EXPECT_LE(sample.slots_used_permille, 1000);
    EXPECT_LE(sample.queued, report.deepest_queue);
  }
}

TEST(Simulate, CompletesAllGangsThoughHostsDieAndAreCutOff) {
  for (const char* policy : {"priority", "fair_share", "priority --no-preemption"}) {
    for (const char* seed : {"1", "2", "3"}) {
      SCOPED_TRACE(std::string(policy) + " " + seed);
      const Report report =
          report_of(std::string("--agents 16 --gangs 1000 --over 8h --loss-every 6h --partition-every 2h") +
                    " --policy " + policy + " --seed " + seed);
      expect_complete(report);
      EXPECT_GT(report.hosts_lost, 10);
      EXPECT_GT(report.partitions, 50);
      EXPECT_GT(report.requeued_by_loss, 20);
      EXPECT_GT(report.leases_taken_back, 0) << "no agent came back in time";
      EXPECT_GT(report.stale_processes_killed, 0) << "no agent came back too late";
      EXPECT_GT(report.work_lost, 0s);
    }
  }
}

TEST(Simulate, DecidesWithWhatItRemembersAsIfBuiltFromNothing) {
  for (const char* policy : {"priority", "fair_share", "priority --no-preemption", "priority --fitting worst"}) {
    SCOPED_TRACE(policy);
    expect_complete(report_of(std::string("--agents 12 --gangs 400 --over 30m --loss-every 12h --partition-every 3h") +
                              " --verify --policy " + policy));
  }
}

TEST(Simulate, CompletesAllGangsWhateverTheTimeout) {
  for (const char* timeout : {"1s", "2m", "1h"}) {
    SCOPED_TRACE(timeout);
    expect_complete(report_of(std::string("--agents 8 --gangs 400 --over 4h --loss-every 6h --partition-every 1h") +
                              " --agent-timeout " + timeout));
  }
}

TEST(Simulate, CompletesAllGangsWithInstancesThatComeAndGo) {
  const Report report =
      report_of("--agents 4 --gangs 800 --instances 16 --loss-every 6h --partition-every 2h --longest 3h");
  expect_complete(report);
  EXPECT_GT(report.instances_added, 5);
  EXPECT_GT(report.instances_released, 0);
  EXPECT_LE(report.instances_released, report.instances_added);
}

TEST(Simulate, WithoutFaultsLosesNothing) {
  const Report report = report_of("--agents 8 --gangs 500 --over 4h --loss-every 0s --partition-every 0s");
  expect_complete(report);
  EXPECT_EQ(report.hosts_lost + report.partitions + report.requeued_by_loss + report.stale_processes_killed, 0);
  EXPECT_EQ(report.work_lost, 0s);
  EXPECT_GT(report.preemptions, 0) << "the load is too light to show anything";
  EXPECT_LE(report.placements, report.gangs + report.preemptions) << "who is preempted starts once more at most";
}

TEST(Simulate, WithoutPreemptionStopsNoGang) {
  const std::string words = "--agents 8 --gangs 500 --over 2h --loss-every 0s --partition-every 0s";
  EXPECT_GT(report_of(words).preemptions, 0) << "the load is too light to show anything";
  const Report report = report_of(words + " --no-preemption");
  expect_complete(report);
  EXPECT_EQ(report.preemptions, 0);
  EXPECT_EQ(report.placements, report.gangs);
}

Duration longest_wait(const Report& report, const std::string& gangs) {
  for (const auto& waits : report.waits) {
    if (waits.gangs == gangs) return waits.longest;
  }
  ADD_FAILURE() << "nothing is said of " << gangs;
  return {};
}

TEST(Simulate, LetsNothingStarveInAQueueThatIsNeverEmpty) {
  // Twice as much arrives in a day as the agents can do in it. Gangs of 16 slots need two idle agents at a time.
  for (const char* preemption : {"", " --no-preemption"}) {
    SCOPED_TRACE(preemption);
    const Report report = report_of(std::string("--agents 16 --gangs 10000 --over 24h") + preemption);
    expect_complete(report);
    EXPECT_GT(report.slots_used_permille, 700) << "the load is too light to show anything";
    EXPECT_LT(longest_wait(report, "priority 10"), 1h);
    EXPECT_LT(longest_wait(report, "over 8 slots"), longest_wait(report, "1 slot") + 4h) << "large gangs fall behind";
    EXPECT_LT(longest_wait(report, "without slots"), longest_wait(report, "1 slot") + 4h);
  }
}

TEST(Simulate, WithoutGangsIsOverAtOnce) {
  const Report report = report_of("--gangs 0");
  EXPECT_EQ(report.lasted, 0s);
  EXPECT_EQ(report.plans, 0);
}

TEST(Simulate, RefusesBadUsage) {
  for (const char* words : {"--agents 0",
                            "--agents x",
                            "--agents 1.5",
                            "--agents -3",
                            "--agents 99999999999",
                            "--slots 0",
                            "--slots",
                            "--gangs -1",
                            "--over soon",
                            "--over -1h",
                            "--over 5",
                            "--loss-every -1s",
                            "--partition-every x",
                            "--policy lottery",
                            "--fitting medium",
                            "--instances -1",
                            "--frobnicate",
                            "extra",
                            "--seed many",
                            "--plan-every 0s"}) {
    SCOPED_TRACE(words);
    const Said said = simulate_with(words);
    EXPECT_EQ(said.code, 2);
    EXPECT_EQ(said.out, "");
    EXPECT_NE(said.err, "");
  }
}

}  // namespace
}  // namespace cadre::e2e
