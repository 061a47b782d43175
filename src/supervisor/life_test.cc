// The rules of stopping, abandonment, liveness and of telling an end, without processes.
#include "supervisor/life.h"

#include <gtest/gtest.h>

#include <csignal>

#include "supervisor/judge.h"
#include "supervisor/processes.h"

namespace cadre::supervisor {
namespace {

using cluster::lease::Reason;
using std::chrono::hours;
using std::chrono::seconds;

constexpr TimePoint zero{};

Life new_life() { return {{seconds(25), seconds(60)}, zero}; }

TEST(Life, CountsNoTimeInSuspendAgainstTheTask) {
  const TimePoint start(std::chrono::hours(1));
  Life life({std::chrono::seconds(25), std::chrono::seconds(60)}, start);
  life.agent_came();
  life.promised(start);
  life.was_suspended(std::chrono::hours(8));
  EXPECT_EQ(life.verdict(start + std::chrono::hours(8) + std::chrono::seconds(59)), std::nullopt);
  EXPECT_EQ(life.verdict(start + std::chrono::hours(8) + std::chrono::seconds(60)), Verdict::silent);
  life.heard(start + std::chrono::hours(9));
  EXPECT_TRUE(life.stop(cluster::lease::Reason::preempted, std::chrono::seconds(10), start + std::chrono::hours(9)));
  life.was_suspended(std::chrono::hours(1));
  EXPECT_EQ(life.grace_left(start + std::chrono::hours(10)), std::chrono::seconds(10)) << "it could not use it";
}

TEST(Life, HoldsAStrictFenceInSuspend) {
  const TimePoint start(std::chrono::hours(1));
  Life life({std::chrono::seconds(25), std::chrono::seconds(60)}, start);
  life.agent_came();
  life.permit(start + std::chrono::seconds(25));
  life.was_suspended(std::chrono::hours(8));
  EXPECT_EQ(life.verdict(start + std::chrono::hours(8)), Verdict::abandoned) << "by now others may run it";
}

TEST(Life, WithoutAnAgentItIsAbandoned) {
  Life life = new_life();
  EXPECT_EQ(life.next(), zero + seconds(25));
  EXPECT_FALSE(life.verdict(zero + seconds(24)));
  EXPECT_EQ(life.verdict(zero + seconds(25)), Verdict::abandoned);
  life.agent_came();
  EXPECT_FALSE(life.verdict(zero + hours(24)));
  EXPECT_EQ(life.next(), TimePoint::max());
  life.agent_left(zero + hours(24));
  EXPECT_EQ(life.next(), zero + hours(24) + seconds(25));
}

TEST(Life, OnlyAPromiseMakesSilenceAFault) {
  Life life = new_life();
  life.agent_came();
  life.heard(zero + seconds(1));
  EXPECT_EQ(life.next(), TimePoint::max());
  life.promised(zero + seconds(2));
  life.heard(zero + seconds(10));
  EXPECT_FALSE(life.verdict(zero + seconds(69)));
  EXPECT_EQ(life.verdict(zero + seconds(70)), Verdict::silent);
}

TEST(Life, AGraceOnlyShrinks) {
  Life life = new_life();
  life.agent_came();
  EXPECT_TRUE(life.stop(Reason::preempted, hours(1), zero));
  EXPECT_FALSE(life.stop(Reason::killed_by_user, hours(2), zero + seconds(1)));
  EXPECT_EQ(life.stop_reason(), Reason::preempted);
  EXPECT_TRUE(life.stop(Reason::killed_by_user, seconds(60), zero + seconds(10)));
  EXPECT_EQ(life.stop_reason(), Reason::killed_by_user);
  EXPECT_EQ(life.grace_left(zero + seconds(20)), seconds(50));
  EXPECT_EQ(life.grace(), seconds(70));
  EXPECT_FALSE(life.verdict(zero + seconds(69)));
  EXPECT_EQ(life.verdict(zero + seconds(70)), Verdict::grace_over);
}

TEST(Life, TheLongestTimesDoNotOverflow) {
  Life life({Duration::max(), Duration::max()}, zero + hours(1));
  EXPECT_EQ(life.next(), TimePoint::max());
  life.stop(Reason::preempted, Duration::max(), zero + hours(1));
  EXPECT_FALSE(life.verdict(zero + hours(1000)));
  EXPECT_TRUE(life.stop(Reason::preempted, Duration(-5), zero + hours(2)));
  EXPECT_EQ(life.verdict(zero + hours(2)), Verdict::grace_over);
}

constexpr int exited(int code) { return code << 8; }

TEST(Judge, ReportsTheObservedEnd) {
  Evidence seen;
  seen.wait_status = exited(3);
  EXPECT_EQ(judge(seen).reason, Reason::exited);
  EXPECT_EQ(judge(seen).code, 3);
  seen.wait_status = SIGSEGV;
  EXPECT_EQ(judge(seen).reason, Reason::signalled);
  EXPECT_EQ(judge(seen).detail, "SIGSEGV");
}

TEST(Judge, AnExitCountsEvenWhenTheKillWasOnItsWay) {
  Evidence seen;
  seen.wait_status = exited(0);
  for (const Verdict verdict : {Verdict::grace_over, Verdict::abandoned, Verdict::silent, Verdict::greedy}) {
    seen.verdict = verdict;
    EXPECT_EQ(judge(seen).reason, Reason::exited);
  }
}

TEST(Judge, ReportsOutOfMemoryWithFigures) {
  Evidence seen;
  seen.wait_status = SIGKILL;
  seen.oom_kills = 1;
  seen.memory_limit = ByteSize{std::int64_t{512} << 20};
  seen.usage.memory_most = ByteSize{(std::int64_t{512} << 20) - 100'000};
  EXPECT_EQ(judge(seen).reason, Reason::out_of_memory);
  EXPECT_EQ(judge(seen).detail, "used 511.9MiB of 512MiB of memory");
  seen.wait_status = exited(1);
  EXPECT_EQ(judge(seen).reason, Reason::out_of_memory) << "it died of the death of a child";
  seen.wait_status = exited(0);
  EXPECT_EQ(judge(seen).reason, Reason::exited);
  EXPECT_EQ(judge(seen).detail, "a process of it was killed: used 511.9MiB of 512MiB of memory");
}

TEST(Processes, OddNamesDoNotConfuse) {
  const Process process = parse_process(
      "77 (a) R 1 (b)) S 42 1 1 0 -1 4194560 1 2 3 4 100 50 30 20 20 0 1 0 5 1000 12 18446744073709551615");
  EXPECT_EQ(process.pid, 77);
  EXPECT_EQ(process.parent, 42);
  EXPECT_EQ(process.state, 'S');
  EXPECT_EQ(process.memory.value % 12, 0);
  EXPECT_EQ(process.cpu_time, process.cpu_time_reaped * 3);
  for (const char* text : {"", "77", "77 (x", "77 (x)", "77 (x) S", "77 (x) S a b c"}) {
    EXPECT_EQ(parse_process(text).pid, 0) << text;
  }
}

}  // namespace
}  // namespace cadre::supervisor
