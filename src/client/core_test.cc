#include <cadre/core.h>

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <future>
#include <thread>

#include "client/supervisor_for_tests.h"
#include "tests/servers/process.h"
#include "tests/servers/scratch.h"
#include "tests/servers/variable.h"

namespace cadre::core {
namespace {

using namespace std::chrono_literals;
using cluster::lease::Reason;
using messages::Attach;
using messages::Beat;
using messages::Report;
using messages::ReportAnswer;
using messages::StopNotice;
using Outcome = Reported::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Core : public testing::Test {
 protected:
  const servers::TempDir folder_;
  const std::string path_ = folder_.path() + "/task.sock";
  const servers::Variable socket_{"CADRE_SOCKET", path_};
};

/// Asks until it is to stop.
std::optional<Stop> wait_for_stop(Context& context) {
  for (int attempt = 0; attempt < 1'000; ++attempt) {
    if (const auto stop = context.stop()) return stop;
    std::this_thread::sleep_for(10ms);
  }
  return std::nullopt;
}

TEST(OffTheCluster, TheSameCodeRuns) {
  ASSERT_EQ(getenv("CADRE_SOCKET"), nullptr);
  Context context;
  EXPECT_FALSE(context.on_cluster());
  EXPECT_EQ(context.task().task, "");
  EXPECT_EQ(context.task().rank, 0);
  EXPECT_EQ(context.task().size, 1);
  EXPECT_THAT(context.task().slots, IsEmpty());
  context.promise_liveness();
  context.beat();
  EXPECT_FALSE(context.should_stop());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(context.report(R"({"loss": 0.5})"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "cadre: report {\"loss\": 0.5}\n");
  EXPECT_EQ(context.report(std::string(report_bytes_max + 1, 'x')).outcome, Outcome::refused);
}

TEST_F(Core, KnowsItsTask) {
  const servers::Variable variables[] = {{"CADRE_TASK", "17.3"},   {"CADRE_LEASE", "17.3/2"}, {"CADRE_EPOCH", "2"},
                                         {"CADRE_ROLE", "worker"}, {"CADRE_RANK", "3"},       {"CADRE_SIZE", "8"},
                                         {"CADRE_SLOTS", "0,5"},   {"CADRE_MASTER", "here:1"}};
  const FakeSupervisor supervisor(path_);
  const Task task = this_task();
  EXPECT_FALSE(supervisor.is_called(0));
  EXPECT_EQ(task.task, "17.3");
  EXPECT_EQ(task.lease, "17.3/2");
  EXPECT_EQ(task.epoch, 2);
  EXPECT_EQ(task.role, "worker");
  EXPECT_EQ(task.rank, 3);
  EXPECT_EQ(task.size, 8);
  EXPECT_THAT(task.slots, ElementsAre("0", "5"));
  EXPECT_EQ(task.master, "here:1");
  const Context context;
  EXPECT_TRUE(context.on_cluster());
  EXPECT_EQ(context.task().lease, "17.3/2");
}

TEST_F(Core, AttachesAndHearsWhenToStop) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_call();
  EXPECT_EQ(task.hear_a<Attach>()->pid, getpid());
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(context.should_stop());
  EXPECT_FALSE(task.has_news(0)) << "looking promises nothing";

  task.say(StopNotice{Reason::preempted, 1h});
  const auto stop = wait_for_stop(context);
  ASSERT_TRUE(stop);
  EXPECT_EQ(stop->why, "preempted");
  EXPECT_GT(stop->grace_left, 59min);
  EXPECT_LE(stop->grace_left, 1h);
  task.say(StopNotice{Reason::killed_by_user, 2h});
  task.say(StopNotice{Reason::killed_by_user, 0s});
  while (context.stop()->grace_left > 0s) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(context.stop()->why, "killed_by_user");
  EXPECT_TRUE(context.should_stop());
}

TEST_F(Core, CountsItsGraceFromTheRequest) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  const auto minutes_ago = [](int minutes) {
    return (std::chrono::steady_clock::now() - std::chrono::minutes(minutes)).time_since_epoch();
  };
  task.say(StopNotice{Reason::preempted, 1h, minutes_ago(20)});
  const auto stop = wait_for_stop(context);
  ASSERT_TRUE(stop);
  EXPECT_GT(stop->grace_left, 39min) << "the process was busy with a step for 20 minutes";
  EXPECT_LE(stop->grace_left, 40min);
  task.say(StopNotice{Reason::preempted, 10min, minutes_ago(20)});
  while (context.stop()->grace_left > 0s) std::this_thread::sleep_for(1ms);
}

TEST_F(Core, TakesNoMoreThanItsGraceFromARequestOfTheFuture) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  task.say(StopNotice{Reason::preempted, 1h, (std::chrono::steady_clock::now() + 2h).time_since_epoch()});
  const auto stop = wait_for_stop(context);
  ASSERT_TRUE(stop);
  EXPECT_LE(stop->grace_left, 1h);
}

TEST_F(Core, BeatsOnlyAfterItHasPromisedTo) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  context.beat();
  EXPECT_FALSE(task.has_news(0));
  context.promise_liveness();
  EXPECT_TRUE(task.hear_a<Beat>());
  const auto began = std::chrono::steady_clock::now();
  while (!task.has_news(0)) EXPECT_FALSE(context.should_stop());
  EXPECT_GT(std::chrono::steady_clock::now() - began, 900ms) << "once a second is enough";
  EXPECT_TRUE(task.hear_a<Beat>());
}

TEST_F(Core, TellsItsTallyWithItsBeats) {
  const FakeSupervisor supervisor(path_);
  auto context = std::make_unique<Context>();
  const Caller task = supervisor.answer_attach();
  context->tally(3, 1);
  EXPECT_FALSE(task.has_news(0)) << "nothing was promised";
  context->promise_liveness();
  const auto first = task.hear_a<Beat>();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->calls, 3U);
  EXPECT_EQ(first->errors, 1U);
  context->tally(5, 2);
  context.reset();
  const auto last = task.hear_a<Beat>();
  ASSERT_TRUE(last) << "the last words";
  EXPECT_EQ(last->calls, 5U);
  EXPECT_EQ(last->errors, 2U);
  EXPECT_FALSE(task.hear());
}

TEST_F(Core, ATaskThatIsNotWarmStartsAtOnce) {
  const FakeSupervisor supervisor(path_);
  const auto told = wait_until_begun();
  ASSERT_TRUE(told);
  EXPECT_THAT(*told, IsEmpty());
  EXPECT_FALSE(supervisor.is_called(0));
}

TEST_F(Core, AWarmProcessIsAssignedATask) {
  const FakeSupervisor supervisor(path_);
  const servers::Variable warm("CADRE_WARM", "1");
  const servers::Variable task("CADRE_TASK", "");
  const servers::Variable mine("MINE", "before");
  auto begun = std::async([] { return wait_until_begun(); });
  Caller first = supervisor.answer_attach();
  EXPECT_TRUE(first.hear_a<messages::Ready>());
  first.hang_up();
  const Caller second = supervisor.answer_attach();
  EXPECT_TRUE(second.hear_a<messages::Ready>()) << "what was said holds";
  second.say(messages::Begin{{{"CADRE_TASK", "17.0"}, {"MINE", "after"}}});
  const auto told = begun.get();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->size(), 2U);
  EXPECT_EQ(this_task().task, "17.0");
  EXPECT_STREQ(getenv("MINE"), "after");
  EXPECT_EQ(getenv("CADRE_WARM"), nullptr);
  EXPECT_FALSE(second.hear()) << "nothing more is said before there is a context";
}

TEST_F(Core, AWarmProcessWithoutAnAgentGetsNoTask) {
  const servers::Variable warm("CADRE_WARM", "1");
  EXPECT_FALSE(wait_until_begun());
  EXPECT_NE(getenv("CADRE_WARM"), nullptr);
}

TEST_F(Core, ReportsAndGetsTheOutcome) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  auto first = std::async([&] { return context.report("one"); });
  const auto one = task.hear_a<Report>();
  ASSERT_TRUE(one);
  EXPECT_EQ(one->body, "one");
  task.say(ReportAnswer{one->number + 7, false, "nobody asked"});
  task.say(ReportAnswer{one->number, true, ""});
  EXPECT_TRUE(first.get());

  auto second = std::async([&] { return context.report(std::string(report_bytes_max, 'x')); });
  const auto two = task.hear_a<Report>();
  ASSERT_TRUE(two);
  EXPECT_NE(two->number, one->number);
  task.say(ReportAnswer{two->number, false, "the lease is not the current one"});
  const Reported refused = second.get();
  EXPECT_EQ(refused.outcome, Outcome::refused);
  EXPECT_EQ(refused.why, "the lease is not the current one");

  EXPECT_EQ(context.report(std::string(report_bytes_max + 1, 'x')).outcome, Outcome::refused);
  EXPECT_EQ(context.report("no answer", 50ms).outcome, Outcome::unknown);
}

TEST_F(Core, AnnouncesAndGetsTheOutcome) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  auto announced = std::async([&] { return context.announce("{\"port\": 7}"); });
  const auto announcement = task.hear_a<Report>();
  ASSERT_TRUE(announcement);
  EXPECT_EQ(announcement->body, "{\"port\": 7}");
  EXPECT_TRUE(announcement->is_announcement);
  task.say(ReportAnswer{announcement->number, true, ""});
  EXPECT_TRUE(announced.get());
  EXPECT_EQ(context.announce(std::string(report_bytes_max + 1, 'x')).why, "an announcement has at most 32768 bytes");

  auto reported = std::async([&] { return context.report("one", 50ms); });
  const auto report = task.hear_a<Report>();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->is_announcement);
}

TEST_F(Core, AnswersFindTheThreadsThatReported) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  std::vector<std::future<void>> threads;
  std::atomic<bool> done = false;
  threads.push_back(std::async([&] {
    while (!done) EXPECT_FALSE(context.should_stop());
  }));
  for (int thread = 0; thread < 8; ++thread) {
    threads.push_back(std::async([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string text = std::to_string(thread * 1'000 + i);
        const Reported reported = context.report(text);
        EXPECT_EQ(reported.why, text);
      }
    }));
  }
  std::vector<Report> held;  // answered together, the later ones first
  for (int i = 0; i < 400; ++i) {
    const auto report = task.hear_a<Report>();
    ASSERT_TRUE(report);
    held.push_back(*report);
    if (!task.has_news(1)) {
      for (; !held.empty(); held.pop_back()) task.say(ReportAnswer{held.back().number, false, held.back().body});
    }
  }
  for (std::size_t i = 1; i < threads.size(); ++i) threads[i].get();
  done = true;
}

TEST_F(Core, LivesWithoutASupervisorAndFindsTheNextOne) {
  Context context;
  EXPECT_TRUE(context.on_cluster());
  EXPECT_FALSE(context.should_stop());
  const Reported reported = context.report("one");
  EXPECT_EQ(reported.outcome, Outcome::unknown);
  EXPECT_THAT(reported.why, HasSubstr("cannot be reached"));
  context.promise_liveness();

  const FakeSupervisor supervisor(path_);
  auto asked = std::async([&] { return wait_for_stop(context); });
  const Caller task = supervisor.answer_attach();
  EXPECT_TRUE(task.hear_a<Beat>()) << "what was promised holds";
  task.say(StopNotice{Reason::killed_by_user, 60s});
  EXPECT_TRUE(asked.get());
}

TEST_F(Core, ASupervisorThatHangsUpLeavesReportsUnknownAtOnce) {
  const FakeSupervisor supervisor(path_);
  Context context;
  Caller task = supervisor.answer_attach();
  auto reported = std::async([&] { return context.report("one"); });
  EXPECT_TRUE(task.hear_a<Report>());
  task.hang_up();
  EXPECT_EQ(reported.get().outcome, Outcome::unknown);
  EXPECT_FALSE(context.should_stop());
  EXPECT_EQ(context.report("two").outcome, Outcome::unknown) << "not connected again yet";
}

TEST_F(Core, AKilledSupervisorLeavesReportsUnknownAtOnce) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = servers::fork_child([&] {
    const FakeSupervisor supervisor(path_);
    EXPECT_EQ(write(ends[1], "x", 1), 1);
    const Caller task = supervisor.answer_attach();
    if (!task.hear_a<Report>()) return 1;
    EXPECT_EQ(write(ends[1], "y", 1), 1);
    pause();
    return 2;
  });
  char said = 0;
  ASSERT_EQ(read(ends[0], &said, 1), 1);
  Context context;
  auto reported = std::async([&] { return context.report("one"); });
  ASSERT_EQ(read(ends[0], &said, 1), 1);
  ASSERT_EQ(said, 'y');
  kill(child, SIGKILL);
  EXPECT_EQ(servers::wait_for(child), -1);
  EXPECT_EQ(reported.get().outcome, Outcome::unknown);
  EXPECT_FALSE(context.should_stop());
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Core, ASupervisorThatDoesNotListenIsNotWaitedForForEver) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  const std::string text(30'000, 'x');
  const auto began = std::chrono::steady_clock::now();
  Reported last;
  for (int i = 0; i < 30; ++i) last = context.report(text, 20ms);
  EXPECT_EQ(last.outcome, Outcome::unknown);
  EXPECT_EQ(last.why, "the supervisor does not listen");
  EXPECT_FALSE(context.should_stop());
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
}

TEST_F(Core, NonsenseIsIgnored) {
  const FakeSupervisor supervisor(path_);
  Context context;
  const Caller task = supervisor.answer_attach();
  task.say_bytes(as_bytes("what?"));
  task.say_bytes(Bytes(100'000));
  task.say_bytes(describe::write_msgpack(std::string("stop_notice")));
  EXPECT_FALSE(context.should_stop());
  task.say(StopNotice{Reason::killed_by_user, std::chrono::hours(24) * 365 * 99});
  EXPECT_TRUE(wait_for_stop(context));
  task.say(StopNotice{Reason::killed_by_user, Duration(0)});
  while (context.stop()->grace_left > 0s) std::this_thread::sleep_for(1ms);
}

TEST_F(Core, APathThatIsTooLongIsASupervisorThatCannotBeReached) {
  const servers::Variable longer("CADRE_SOCKET", folder_.path() + "/" + std::string(200, 'x'));
  Context context;
  EXPECT_FALSE(context.should_stop());
  EXPECT_EQ(context.report("one").outcome, Outcome::unknown);
}

TEST_F(Core, AChildHasALineOfItsOwn) {
  const FakeSupervisor supervisor(path_);
  Context context;
  Caller parent = supervisor.answer_attach();
  // Threads of the parent are in the middle of everything when it forks.
  std::atomic<bool> done = false;
  auto busy = std::async([&] {
    while (!done) EXPECT_FALSE(context.should_stop());
  });
  auto reported = std::async([&] { return context.report("from the parent"); });
  const auto report = parent.hear_a<Report>();
  ASSERT_TRUE(report);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = servers::fork_child([&] { return wait_for_stop(context) ? 7 : 1; });
    const Caller caller = supervisor.answer_call();
    const auto attach = caller.hear_a<Attach>();
    ASSERT_TRUE(attach);
    EXPECT_EQ(attach->pid, child);
    caller.say(StopNotice{Reason::killed_by_user, 1s});
    EXPECT_EQ(servers::wait_for(child), 7);
  }
  parent.say(ReportAnswer{report->number, true, ""});
  EXPECT_TRUE(reported.get());
  done = true;
  busy.get();
  EXPECT_FALSE(parent.has_news(0)) << "the line of the parent is still open";
}

TEST_F(Core, AChildThatDoesNotUseItAttachesNothing) {
  const FakeSupervisor supervisor(path_);
  auto context = std::make_unique<Context>();
  Caller parent = supervisor.answer_attach();
  const pid_t child = servers::fork_child([&] {
    context.reset();
    return 0;
  });
  EXPECT_EQ(servers::wait_for(child), 0);
  EXPECT_FALSE(supervisor.is_called(0));
  EXPECT_FALSE(parent.has_news(0));
  context.reset();
  EXPECT_FALSE(parent.hear()) << "hung up";
}

}  // namespace
}  // namespace cadre::core
