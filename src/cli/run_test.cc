#include <pty.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>

#include "cli/fake_master_test.h"
#include "cli/program_test.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
using cluster::lease::Reason;
using logs::Stream;
using testing::HasSubstr;
namespace requests = cluster::requests;

constexpr cluster::LeaseId first{{{17}, 0}, {1}};

struct Run : testing::Test {
  std::future<Said> run(std::vector<std::string> words) {
    words.insert(words.begin() + (words[0] == "task" ? 2 : 1), {"--master", master.folder()});
    return cadre_beside(std::move(words));
  }
  FakeMaster master;
};

TEST_F(Run, ShowsTheOutputAndEndsAsTheTask) {
  auto said = run({"run", "--slots", "1", "--", "job", "-x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  master.write(first, Stream::out, "one");
  master.write(first, Stream::err, "two");
  std::this_thread::sleep_for(50ms);
  master.write(first, Stream::out, "three", true);
  master.end_task(Reason::exited, 3);
  const Said all = said.get();
  EXPECT_EQ(all.code, 3);
  EXPECT_EQ(all.out, "one\nthree");
  EXPECT_EQ(all.err, "two\n");
  const auto jobs = master.asked<requests::Submit>();
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0].job.members.at(0).slots, 1);
  EXPECT_EQ(jobs[0].job.members.at(0).command.argv, (std::vector<std::string>{"job", "-x"}));
}

TEST_F(Run, WaitsForOutputThatComesAfterTheEnd) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  Bytes late;
  logs::encode({Stream::out, false, {}, "late"}, late);
  master.change([&](requests::JobView& job) {
    job.stage = cluster::control::JobStage::ended;
    job.tasks[0].ending = cluster::TaskEnding{Reason::exited, 0, "", {}, static_cast<std::int64_t>(late.size())};
  });
  EXPECT_EQ(said.wait_for(200ms), std::future_status::timeout);
  master.write(first, Stream::out, "late");
  const Said all = said.get();
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "late\n");
}

TEST_F(Run, SaysHowItEndedWhenNotByItself) {
  struct Case {
    Reason reason;
    int code;
    std::string detail;
    int exit;
    std::string words;
  };
  for (const Case& one :
       {Case{Reason::signalled, 9, "", 137, "ended by signal 9 (SIGKILL)"},
        Case{Reason::out_of_memory, 9, "used 512MiB of 512MiB", 1, "ran out of memory: used 512MiB of 512MiB"},
        Case{Reason::failed_to_start, 0, "there is no program 'x'", 1, "failed to start: there is no program 'x'"},
        Case{Reason::killed_by_user, 15, "", 1, "stopped"}}) {
    master.start_task();
    master.end_task(one.reason, one.code, one.detail);
    const Said said = run({"run", "--", "x"}).get();
    EXPECT_EQ(said.code, one.exit);
    EXPECT_EQ(said.err, "cadre run: job 17: " + one.words + "\n");
  }
}

TEST_F(Run, OutlivesARestartOfTheMaster) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  master.write(first, Stream::out, "before");
  std::this_thread::sleep_for(50ms);
  master.restart();
  master.write(first, Stream::out, "after");
  std::this_thread::sleep_for(50ms);
  master.restart(300ms);
  master.end_task(Reason::exited, 0);
  const Said all = said.get();
  EXPECT_EQ(all.code, 0);
  EXPECT_EQ(all.out, "before\nafter\n");
  EXPECT_EQ(all.err, "");
  EXPECT_EQ(master.asked<requests::Submit>().size(), 1U);
}

TEST_F(Run, SeesAChangeThatAMasterOfTheSameVersionMade) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.stop();
  master.job.stage = cluster::control::JobStage::ended;
  master.job.code = 5;  // and its version is what it was
  master.start();
  ASSERT_EQ(said.wait_for(10s), std::future_status::ready) << "or it waits for another";
  EXPECT_EQ(said.get().code, 5);
}

TEST(Follow, BearsWithAMasterThatHasNoRoomForWhoWaits) {
  std::atomic<bool> is_full = true;
  FakeMaster master([&](const FakeMaster::Request& request) -> std::optional<Answer> {
    const auto* get = std::get_if<requests::GetJob>(&request);
    const auto* read = std::get_if<requests::ReadLogs>(&request);
    const bool waits = (get != nullptr && get->seen) || (read != nullptr && read->wait);
    return is_full && waits ? std::optional(told_no(503, "too many wait; try again later")) : std::nullopt;
  });
  auto said = cadre_beside({"run", "--master", master.folder(), "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  master.write(first, Stream::out, "text");
  std::this_thread::sleep_for(3s);
  EXPECT_LT(master.heard().size(), 15U) << "it must not be asked all the time";
  is_full = false;
  master.end_task(Reason::exited, 4);
  const Said all = said.get();
  EXPECT_EQ(all.code, 4);
  EXPECT_EQ(all.out, "text\n");
  EXPECT_EQ(all.err, "");
}

TEST(Follow, EndsWhenTheTokenIsNotKnownAnyMore) {
  std::atomic<bool> is_known = true;
  FakeMaster master([&](const FakeMaster::Request&) {
    return is_known ? std::nullopt : std::optional(told_no(401, "this token has expired"));
  });
  auto said = cadre_beside({"run", "--master", master.folder(), "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  is_known = false;
  master.change([](requests::JobView& job) { job.priority = 3; });
  const Said all = said.get();
  EXPECT_EQ(all.code, refused);
  EXPECT_EQ(all.err,
            "cadre run: this token has expired\n"
            "cadre run: job 17 may still run; follow it again with: cadre task logs -f 17\n");
}

TEST_F(Run, SaysThatTheMasterIsGoneAndBack) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  master.restart(3s);
  std::this_thread::sleep_for(1s);
  master.end_task(Reason::exited, 0);
  EXPECT_EQ(said.get().err,
            "cadre run: the master is gone; waiting for it to come back (tasks go on without it)\n"
            "cadre run: the master is back\n");
}

TEST_F(Run, FollowsATaskThatIsStartedAgain) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task(1);
  master.write(first, Stream::out, "first");
  master.start_task(2);
  master.write({{{17}, 0}, {2}}, Stream::out, "second");
  master.end_task(Reason::exited, 0);
  EXPECT_EQ(said.get().out, "first\nsecond\n");
}

TEST_F(Run, TellsTasksApart) {
  auto said = run({"run", "--count", "2", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.change([](requests::JobView& job) {
    job.stage = cluster::control::JobStage::running;
    job.tasks = {running_task({job.id, 0}), running_task({job.id, 1})};
  });
  master.write(first, Stream::out, "zero");
  master.write({{{17}, 1}, {1}}, Stream::out, "one");
  master.change([](requests::JobView& job) { job.stage = cluster::control::JobStage::ended; });
  EXPECT_THAT(said.get().out, testing::AllOf(HasSubstr("[0] zero\n"), HasSubstr("[1] one\n")));
}

TEST_F(Run, StopsTheJobAtTheFirstInterruptAndKillsItAtTheSecond) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  std::raise(SIGINT);
  ASSERT_TRUE(master.wait_asked<requests::EndJob>(1));
  std::raise(SIGINT);
  ASSERT_TRUE(master.wait_asked<requests::EndJob>(2));
  master.end_task(Reason::killed_by_user, 9);
  const Said all = said.get();
  EXPECT_EQ(all.code, 1);
  EXPECT_EQ(all.err,
            "\ncadre run: stopping job 17, which has its grace to end; once more kills it\n"
            "\ncadre run: killing job 17; once more leaves it alone\n"
            "cadre run: job 17: stopped\n");
  const auto ends = master.asked<requests::EndJob>();
  EXPECT_EQ(ends[0].grace, std::nullopt);
  EXPECT_EQ(ends[1].grace, Duration(0));
}

TEST_F(Run, LeavesAtTheThirdInterrupt) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  for (std::size_t i = 0; i < 3; ++i) {
    std::raise(SIGINT);
    ASSERT_TRUE(i == 2 || master.wait_asked<requests::EndJob>(i + 1));
  }
  const Said all = said.get();
  EXPECT_EQ(all.code, 130);
  EXPECT_THAT(all.err, HasSubstr("may still run: see cadre job describe 17\n"));
}

/// Standard error is a terminal for as long as this lives.
class Terminal {
 public:
  Terminal() : saved_(dup(2)) {
    int inside = -1;
    EXPECT_EQ(openpty(&outside_, &inside, nullptr, nullptr, nullptr), 0);
    dup2(inside, 2);
    close(inside);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    dup2(saved_, 2);
    close(saved_);
    close(outside_);
  }
  /// What is on it, once something is.
  std::string read_some() const {
    std::string text(65'536, ' ');
    const ssize_t count = read(outside_, text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  }

 private:
  int saved_;
  int outside_ = -1;
};

TEST_F(Run, SaysOnATerminalWhyItWaits) {
  const Terminal terminal;
  Program program;
  program.app.parse("run --master " + master.folder() + " -- x");
  auto code = std::async(std::launch::async, [&] { return program.chosen(); });
  EXPECT_EQ(terminal.read_some(), "\r\x1b[Kjob 17 waits for 1 slot");
  master.start_task();
  EXPECT_EQ(terminal.read_some(), "\r\x1b[K") << "the line goes when the wait is over";
  master.end_task(Reason::exited, 0);
  EXPECT_EQ(code.get(), 0);
}

TEST_F(Run, PrintsTheIdWhenItDoesNotWait) {
  EXPECT_EQ(run({"run", "--detach", "--", "x"}).get().out, "17\n");
  EXPECT_EQ(run({"task", "run", "--", "x"}).get().out, "17\n");
  EXPECT_THAT(run({"run", "--detach", "--json", "--", "x"}).get().out, testing::StartsWith("{\"id\":17,"));
}

TEST_F(Run, KeepsStandardOutputForTheOneValue) {
  master.start_task();
  master.write(first, Stream::out, "text");
  master.end_task(Reason::exited, 4);
  const Said said = run({"task", "run", "--follow", "--json", "--", "x"}).get();
  EXPECT_EQ(said.code, 4);
  EXPECT_THAT(said.out, testing::StartsWith("{\"id\":17,"));
  EXPECT_EQ(said.err, "text\n");
}

TEST_F(Run, SendsTheCodeOnce) {
  const servers::TempDir folder;
  std::ofstream(folder.path() + "/main.py") << std::string(3 << 20, 'x');
  for (int i = 0; i < 2; ++i) {
    const Said said = run({"run", "--detach", "--dir", folder.path(), "--", "python3", "main.py"}).get();
    ASSERT_EQ(said.code, 0) << said.err;
  }
  const auto [code, parts] = master.code();
  EXPECT_EQ(parts, 4U) << "three parts of 1 MiB, and some";
  ASSERT_EQ(code.size(), 1U);
  for (const requests::Submit& submit : master.asked<requests::Submit>()) {
    EXPECT_EQ(submit.job.members.at(0).command.code, code.begin()->first);
  }
  const Said none = run({"run", "--dir", "/nonexistent", "--", "x"}).get();
  EXPECT_EQ(none.code, bad_usage);
  EXPECT_THAT(none.err, testing::StartsWith("cadre run: --dir: "));
}

TEST_F(Run, EndsUnreachableWhenTheAnswerToASubmitIsLost) {
  FakeMaster silent([](const FakeMaster::Request&) { return std::optional(silence()); });
  auto said = cadre_beside({"run", "--master", silent.folder(), "--", "x"});
  ASSERT_TRUE(silent.wait_asked<requests::Submit>());
  silent.stop();
  const Said all = said.get();
  EXPECT_EQ(all.code, unreachable);
  EXPECT_THAT(all.err, HasSubstr("has not answered for 30s; it may have taken the job"));
}

struct Logs : Run {
  Logs() {
    master.start_task();
    master.write(first, Stream::out, "a");
    master.write(first, Stream::err, "b");
    master.write(first, Stream::note, "c");
  }
};

TEST_F(Logs, ShowWhatIsThere) {
  const Said said = run({"task", "logs", "17"}).get();
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, "a\n");
  EXPECT_EQ(said.err, "b\ncadre: c\n");
  EXPECT_EQ(run({"task", "logs", "17.0", "--tail", "2"}).get().out, "");
  EXPECT_EQ(run({"task", "logs", "17.0", "--tail", "3"}).get().out, "a\n");
  EXPECT_EQ(run({"task", "logs", "17", "--json"}).get().out,
            "[{\"task\":\"17.0\",\"time\":\"2023-11-14T22:13:20Z\",\"stream\":\"out\",\"text\":\"a\",\"continues\":"
            "false},{\"task\":\"17.0\",\"time\":\"2023-11-14T22:13:20Z\",\"stream\":\"err\",\"text\":\"b\","
            "\"continues\":false},{\"task\":\"17.0\",\"time\":\"2023-11-14T22:13:20Z\",\"stream\":\"note\",\"text\":"
            "\"c\",\"continues\":false}]\n");
}

TEST_F(Logs, SayWhatWasWrittenAndHasNotCome) {
  master.end_task(Reason::exited, 0, "", 100);
  const Said said = run({"task", "logs", "17"}).get();
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, "a\n");
  EXPECT_EQ(said.err, "b\ncadre: c\ncadre: (100 bytes of output have not come)\n");
}

TEST_F(Logs, WaitForWhatIsLaterThanTheNewsOfTheEnd) {
  const std::int64_t before = master.output_end(first);
  Bytes late;
  logs::encode({Stream::out, false, TimePoint(std::chrono::seconds(1'700'000'000)), "late"}, late);
  master.end_task(Reason::exited, 0, "", static_cast<std::int64_t>(late.size()));
  auto said = run({"task", "logs", "17"});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // long enough to come too late, mostly
  master.write(first, Stream::out, "late");
  EXPECT_EQ(master.output_end(first), before + static_cast<std::int64_t>(late.size()));
  EXPECT_EQ(said.get().out, "a\nlate\n");
}

TEST_F(Logs, CanBeFollowedToTheEnd) {
  auto said = run({"task", "logs", "-f", "--tail", "1", "17"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>(2));
  master.write(first, Stream::out, "d");
  master.end_task(Reason::exited, 9);
  const Said all = said.get();
  EXPECT_EQ(all.code, 0) << "to follow is not to be it";
  EXPECT_EQ(all.out, "d\n");
}

TEST_F(Logs, SayWhyThereIsNothing) {
  EXPECT_THAT(run({"task", "logs", "17.4"}).get().err, HasSubstr("there is no task 17.4; see cadre job describe 17"));
  master.change([](requests::JobView& job) {
    job.tasks.clear();
    job.stage = cluster::control::JobStage::queued;
  });
  const Said said = run({"task", "logs", "17"}).get();
  EXPECT_EQ(said.code, failed);
  EXPECT_EQ(said.err,
            "cadre task logs: job 17 waits and has written nothing yet; see cadre why 17, or follow it with -f\n");
}

TEST_F(Logs, AskForWhatIsWanted) {
  run({"task", "logs", "17", "--level", "warning", "--since", "10m", "--grep", "loss is", "--tail", "7", "--epoch",
       "3"})
      .get();
  const auto asked = master.asked<requests::ReadLogs>();
  ASSERT_FALSE(asked.empty());
  EXPECT_EQ(to_string(asked[0].task), "17.0");
  EXPECT_EQ(asked[0].level, Level::warning);
  EXPECT_EQ(asked[0].grep, "loss is");
  EXPECT_EQ(asked[0].tail, 7);
  EXPECT_EQ(asked[0].epoch, 3U);
  const TimePoint now(std::chrono::system_clock::now().time_since_epoch());
  ASSERT_TRUE(asked[0].since);
  EXPECT_LT(now - *asked[0].since, 11min);
  EXPECT_GE(now - *asked[0].since, 10min);
  EXPECT_EQ(run({"task", "logs", "17", "--level", "loud"}).get().code, bad_usage);
}

TEST_F(Logs, ChooseATaskByItsRank) {
  master.change([](requests::JobView& job) {
    job.tasks = {running_task({job.id, 0}), running_task({job.id, 1})};
    job.tasks[1].rank = 5;
  });
  master.write({{{17}, 1}, {1}}, Stream::out, "second");
  EXPECT_EQ(run({"task", "logs", "17", "--rank", "5"}).get().out, "[1] second\n");
  const Said none = run({"task", "logs", "17", "--rank", "1"}).get();
  EXPECT_EQ(none.code, failed);
  EXPECT_EQ(none.err, "cadre task logs: there is no task of rank 1; see cadre job describe 17\n");
}

TEST_F(Logs, SayWhatIsLost) {
  const std::int64_t lost = master.output_end(first);
  master.write(first, Stream::out, "d");
  master.lose_output(first, lost);
  const Said said = run({"task", "logs", "17"}).get();
  EXPECT_EQ(said.out, "d\n");
  EXPECT_EQ(said.err, "cadre: (" + std::to_string(lost) + " bytes of output are lost)\n");
  EXPECT_EQ(run({"task", "logs", "--tail", "1", "17"}).get().err, "") << "what is not asked for is not missed";
}

TEST_F(Logs, ShowBytesThatAreNoText) {
  master.write(first, Stream::out, "\xff\xfe");
  EXPECT_EQ(run({"task", "logs", "17"}).get().out, "a\n\xff\xfe\n");
}

std::string line_of(const cluster::messages::ExecNews& news) { return describe::write_json(news) + "\n"; }
std::string exec_output(int stream, std::string_view text) {
  const BytesView bytes = as_bytes(text);
  return line_of({1, cluster::supervision::ExecOutput{1, stream, {bytes.begin(), bytes.end()}}});
}
std::string exec_end(int code, const std::string& error = "") {
  return line_of({1, cluster::supervision::ExecEnded{1, code, error}});
}
FakeMaster::Script says(Answer::Way way, std::vector<std::string> pieces) {
  return
      [answer = told_in_pieces(way, std::move(pieces))](const FakeMaster::Request&) { return std::optional(answer); };
}

TEST(Exec, ShowsTheOutputAndPassesTheCode) {
  FakeMaster master(
      says(Answer::Way::stream, {exec_output(1, "o1\n"), exec_output(2, "e"), exec_output(1, "o2"), exec_end(7)}));
  const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "ls", "-l"});
  EXPECT_EQ(said.code, 7);
  EXPECT_EQ(said.out, "o1\no2");
  EXPECT_EQ(said.err, "e");
  const auto asked = master.asked<requests::RunExec>();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(to_string(asked[0].task), "17.0");
  EXPECT_EQ(asked[0].argv, (std::vector<std::string>{"ls", "-l"}));
  EXPECT_EQ(cadre({"task", "exec", "--json", "--master", master.folder(), "17", "--", "ls"}).out,
            "{\"code\":7,\"error\":\"\"}\n");
}

TEST(Exec, SaysWhyItCouldNotRun) {
  const FakeMaster master(says(Answer::Way::stream, {exec_end(127, "there is no program 'x'")}));
  const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  EXPECT_EQ(said.code, 127);
  EXPECT_EQ(said.err, "cadre task exec: there is no program 'x'\n");
}

TEST(Exec, EndsWithTheConnection) {
  FakeMaster master([](const FakeMaster::Request&) { return std::optional(silence()); });
  auto said = cadre_beside({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::RunExec>());
  master.stop();
  const Said all = said.get();
  EXPECT_EQ(all.code, unreachable);
  EXPECT_EQ(all.err, "cadre task exec: the connection to the master was lost; what was run is ended\n");
}

TEST(Exec, EndsWithAStreamThatIsCut) {
  FakeMaster master(says(Answer::Way::cut_stream, {exec_output(1, "some\n"), exec_output(1, "lost").substr(0, 10)}));
  const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  EXPECT_EQ(said.code, unreachable);
  EXPECT_EQ(said.out, "some\n");
  EXPECT_EQ(said.err, "cadre task exec: the connection to the master was lost; what was run is ended\n");
  EXPECT_EQ(master.heard().size(), 1U) << "it is not run again";
}

TEST(Exec, IsDoneOnceItsEndIsKnown) {
  const FakeMaster cut(says(Answer::Way::cut_stream, {exec_output(1, "all"), exec_end(3)}));
  const Said said = cadre({"task", "exec", "--master", cut.folder(), "17", "--", "x"});
  EXPECT_EQ(said.code, 3);
  EXPECT_EQ(said.out, "all");
  EXPECT_EQ(said.err, "");
}

TEST(Exec, SaysThatAnEndIsMissing) {
  const FakeMaster master(says(Answer::Way::stream, {exec_output(1, "some")}));
  const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  EXPECT_EQ(said.code, unreachable);
  EXPECT_EQ(said.out, "some");
  EXPECT_EQ(said.err, "cadre task exec: the connection to the master was lost; what was run is ended\n");
}

TEST(Exec, SaysThatALineIsNone) {
  for (const char* line : {"<html>\n", "{}\n", "{\"number\":1,\"news\":{\"type\":\"other\"}}\n", "17\n"}) {
    const FakeMaster master(says(Answer::Way::stream, {exec_output(1, "some\n"), line, exec_output(1, "more\n")}));
    const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
    EXPECT_EQ(said.code, failed) << line;
    EXPECT_EQ(said.out, "some\n") << line;
    EXPECT_THAT(said.err, HasSubstr("; are `cadre` here and the master of one version?\n")) << line;
  }
}

TEST(Exec, EndsAtOnceWithALineThatIsNone) {
  FakeMaster master(says(Answer::Way::open_stream, {"<html>\n"}));
  const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  EXPECT_EQ(said.code, failed);
  EXPECT_TRUE(master.wait_gone()) << "so that what is run there ends";
}

TEST(Exec, IsEndedByAnInterrupt) {
  for (const int signal : {SIGINT, SIGTERM}) {
    FakeMaster master(says(Answer::Way::open_stream, {exec_output(1, "begun\n")}));
    auto said = cadre_beside({"task", "exec", "--master", master.folder(), "17", "--", "x"});
    ASSERT_TRUE(master.wait_asked<requests::RunExec>());
    std::this_thread::sleep_for(200ms);
    std::raise(signal);
    const Said all = said.get();
    EXPECT_EQ(all.code, 128 + signal);
    EXPECT_EQ(all.out, "begun\n");
    EXPECT_EQ(all.err, "\ncadre task exec: ended it\n");
    EXPECT_TRUE(master.wait_gone()) << "that is how it ends there, too";
  }
}

TEST(Exec, IsEndedByAnInterruptBeforeItSaysAnything) {
  FakeMaster master([](const FakeMaster::Request&) { return std::optional(silence()); });
  auto said = cadre_beside({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::RunExec>());
  std::raise(SIGINT);
  EXPECT_EQ(said.get().code, 130);
  EXPECT_TRUE(master.wait_gone());
}

}  // namespace
}  // namespace cadre::cli
