#include <netinet/in.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "cli/fake_master_test.h"
#include "cli/follow.h"
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
    job.stage = cluster::JobStage::ended;
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
  for (const Case& one : {Case{Reason::signalled, 9, "", 137, "ended by signal 9 (SIGKILL)"},
                          Case{Reason::out_of_memory, 9, "used 512MiB of 512MiB", own_failure,
                               "ran out of memory: used 512MiB of 512MiB"},
                          Case{Reason::failed_to_start, 0, "there is no program 'x'", own_failure,
                               "failed to start: there is no program 'x'"},
                          Case{Reason::killed_by_user, 15, "", own_failure, "stopped"}}) {
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
  master.job.stage = cluster::JobStage::ended;
  master.job.reason = Reason::exited;
  master.job.code = 5;  // and its version is what it was
  master.start();
  ASSERT_EQ(said.wait_for(10s), std::future_status::ready) << "or it waits for another";
  EXPECT_EQ(said.get().code, 5);
}

TEST(Follow, PollsWhenTheMasterHasTooManyWatchers) {
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
  EXPECT_EQ(all.code, own_failure);
  EXPECT_EQ(all.err,
            "cadre run: this token has expired\n"
            "cadre run: job 17 may still be running; follow it again with: cadre task logs -f 17\n");
}

TEST_F(Run, ReportsThatTheMasterIsLostAndBack) {
  auto said = run({"run", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.start_task();
  master.restart(3s);
  std::this_thread::sleep_for(1s);
  master.end_task(Reason::exited, 0);
  EXPECT_EQ(said.get().err,
            "cadre run: the master is unreachable; waiting for it to return (tasks continue without it)\n"
            "cadre run: the master is reachable again\n");
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
    job.stage = cluster::JobStage::running;
    job.tasks = {running_task({job.id, 0}), running_task({job.id, 1})};
  });
  master.write(first, Stream::out, "zero");
  master.write({{{17}, 1}, {1}}, Stream::out, "one");
  master.change([](requests::JobView& job) { job.stage = cluster::JobStage::ended; });
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
  EXPECT_EQ(all.code, own_failure);
  EXPECT_EQ(all.err,
            "\ncadre run: stopping job 17 within its grace period; interrupt again to kill it\n"
            "\ncadre run: killing job 17; interrupt again to exit without waiting\n"
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
  EXPECT_THAT(all.err, HasSubstr("may still be running; see cadre job describe 17\n"));
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
  EXPECT_EQ(none.code, own_failure);
  EXPECT_THAT(none.err, testing::StartsWith("cadre run: --dir: "));
}

TEST_F(Run, SendsNoDataFolderOfAMasterOrAnAgent) {
  const servers::TempDir folder;
  std::ofstream(folder.path() + "/main.py") << "pass";
  for (const char* name : {"m", "a"}) std::filesystem::create_directory(folder.path() + "/" + name);
  std::ofstream(folder.path() + "/m/master.keys") << "the secret of a master";
  std::ofstream(folder.path() + "/a/agent.keys") << "the secret of an agent";
  const Said said = run({"run", "--detach", "--dir", folder.path(), "--", "x"}).get();
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.err,
            "cadre run: skipped a: it is the data folder of a master or an agent\n"
            "cadre run: skipped m: it is the data folder of a master or an agent\n");
  const auto [code, parts] = master.code();
  ASSERT_EQ(code.size(), 1U);
  EXPECT_THAT(std::string(as_text(code.begin()->second)), testing::Not(HasSubstr("the secret of")));
  const Said all = run({"run", "--dir", folder.path() + "/m", "--", "x"}).get();
  EXPECT_EQ(all.code, own_failure);
  EXPECT_THAT(all.err, HasSubstr("/m is the data folder of a master or an agent"));
}

TEST_F(Run, EndsUnreachableWhenTheAnswerToASubmitIsLost) {
  FakeMaster silent([](const FakeMaster::Request&) { return std::optional(silence()); });
  auto said = cadre_beside({"run", "--master", silent.folder(), "--", "x"});
  ASSERT_TRUE(silent.wait_asked<requests::Submit>());
  silent.stop();
  const Said all = said.get();
  EXPECT_EQ(all.code, own_failure);
  EXPECT_THAT(all.err, HasSubstr("the master may have accepted the job: check `cadre job list`"));
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

TEST_F(Logs, ReportOutputThatHasNotArrived) {
  master.end_task(Reason::exited, 0, "", 100);
  const Said said = run({"task", "logs", "17"}).get();
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.out, "a\n");
  EXPECT_EQ(said.err, "b\ncadre: c\ncadre: (100 bytes of output have not arrived)\n");
}

TEST_F(Logs, WaitForOutputThatArrivesAfterTheEnd) {
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
    job.stage = cluster::JobStage::queued;
  });
  const Said said = run({"task", "logs", "17"}).get();
  EXPECT_EQ(said.code, failed);
  EXPECT_EQ(said.err,
            "cadre task logs: job 17 is waiting and has no output yet; see cadre why 17, or follow it with -f\n");
}

TEST_F(Logs, RequestTheSelectedOutput) {
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
  return [answer = told_in_pieces(way, std::move(pieces))](const FakeMaster::Request& request) {
    return std::holds_alternative<requests::RunExec>(request) ? std::optional(answer) : std::nullopt;
  };
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
  EXPECT_EQ(said.code, own_failure);
  EXPECT_EQ(said.err, "cadre task exec: there is no program 'x'\n");
}

TEST(Exec, EndsWithTheConnection) {
  FakeMaster master([](const FakeMaster::Request&) { return std::optional(silence()); });
  auto said = cadre_beside({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::RunExec>());
  master.stop();
  const Said all = said.get();
  EXPECT_EQ(all.code, own_failure);
  EXPECT_EQ(all.err, "cadre task exec: the connection to the master was lost; the command was ended\n");
}

TEST(Exec, EndsWithAStreamThatIsCut) {
  FakeMaster master(says(Answer::Way::cut_stream, {exec_output(1, "some\n"), exec_output(1, "lost").substr(0, 10)}));
  const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  EXPECT_EQ(said.code, own_failure);
  EXPECT_EQ(said.out, "some\n");
  EXPECT_EQ(said.err, "cadre task exec: the connection to the master was lost; the command was ended\n");
  EXPECT_EQ(master.asked<requests::RunExec>().size(), 1U) << "it is not run again";
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
  EXPECT_EQ(said.code, own_failure);
  EXPECT_EQ(said.out, "some");
  EXPECT_EQ(said.err, "cadre task exec: the connection to the master was lost; the command was ended\n");
}

TEST(Exec, SaysThatALineIsNone) {
  for (const char* line : {"<html>\n", "{}\n", "{\"number\":1,\"news\":{\"type\":\"other\"}}\n", "17\n"}) {
    const FakeMaster master(says(Answer::Way::stream, {exec_output(1, "some\n"), line, exec_output(1, "more\n")}));
    const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
    EXPECT_EQ(said.code, own_failure) << line;
    EXPECT_EQ(said.out, "some\n") << line;
    EXPECT_THAT(said.err, HasSubstr("; check that `cadre` and the master have the same version\n")) << line;
  }
}

TEST(Exec, EndsAtOnceWithALineThatIsNone) {
  FakeMaster master(says(Answer::Way::open_stream, {"<html>\n"}));
  const Said said = cadre({"task", "exec", "--master", master.folder(), "17", "--", "x"});
  EXPECT_EQ(said.code, own_failure);
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
    EXPECT_EQ(all.err, "\ncadre task exec: interrupted; the command is ended\n");
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

/// Puts something else in the place of standard input.
class StandardInput {
 public:
  explicit StandardInput(int instead) : saved_(dup(0)) { dup2(instead, 0); }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    dup2(saved_, 0);
    close(saved_);
  }

 private:
  int saved_;
};

struct InputPipe {
  InputPipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~InputPipe() {
    close(ends[0]);
    close_writer();
  }
  void close_writer() {
    if (ends[1] >= 0) close(std::exchange(ends[1], -1));
  }
  void write_all(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t count = write(ends[1], text.data(), text.size());
      ASSERT_GT(count, 0);
      text.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  std::array<int, 2> ends{};
};

template <class Holds>
bool comes_true(Holds holds) {
  for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(1ms);
  return holds();
}

TEST(Exec, PassesItsInputOnInOrderAndToItsEnd) {
  FakeMaster master(says(Answer::Way::open_stream, {exec_output(1, "")}));
  InputPipe input;
  std::string all;
  for (int i = 0; all.size() < 100'000; ++i) all += std::to_string(i) + "\n";
  const StandardInput instead(input.ends[0]);
  auto said = cadre_beside({"exec", "--master", master.folder(), "17", "--", "cat"});
  input.write_all(all);
  input.close_writer();
  EXPECT_TRUE(comes_true([&] { return master.input(1) == all; })) << master.input(1).size();
  EXPECT_TRUE(comes_true([&] {
    const auto sent = master.asked<requests::SendInput>();
    return !sent.empty() && sent.back().end;
  })) << "its end is told";
  EXPECT_TRUE(master.asked<requests::RunExec>().at(0).input);
  std::raise(SIGTERM);
  EXPECT_EQ(said.get().code, 128 + SIGTERM);
}

TEST(Exec, SendsInputAgainForWhichThereWasNoRoom) {
  std::atomic<int> refused_times = 0;
  const FakeMaster::Script stream = says(Answer::Way::open_stream, {exec_output(1, "")});
  FakeMaster master([&](const FakeMaster::Request& request) -> std::optional<Answer> {
    const auto* sent = std::get_if<requests::SendInput>(&request);
    if (sent != nullptr && !sent->bytes.empty() && ++refused_times <= 3) return told(requests::InputState{0});
    return stream(request);
  });
  InputPipe input;
  const StandardInput instead(input.ends[0]);
  auto said = cadre_beside({"exec", "--master", master.folder(), "17", "--", "cat"});
  input.write_all("hello\n");
  EXPECT_TRUE(comes_true([&] { return master.input(1) == "hello\n"; }));
  EXPECT_GE(refused_times, 4);
  std::raise(SIGTERM);
  said.get();
}

TEST(Exec, SaysHowMuchOfTheOutputItHasSeen) {
  std::vector<std::string> pieces;
  for (int i = 0; i < 40; ++i) pieces.push_back(exec_output(1, std::string(16'384, 'x')));
  FakeMaster master(says(Answer::Way::open_stream, pieces));
  InputPipe input;
  const StandardInput instead(input.ends[0]);
  auto said = cadre_beside({"exec", "--master", master.folder(), "17", "--", "yes"});
  const std::int64_t window = 1 << 20;
  EXPECT_TRUE(comes_true([&] {
    const auto sent = master.asked<requests::SendInput>();
    return !sent.empty() && sent.back().seen > window / 4;
  }));
  EXPECT_EQ(master.asked<requests::RunExec>().at(0).window, window);
  std::raise(SIGTERM);
  said.get();
}

/// A terminal in the place of standard input.
struct TerminalInput {
  TerminalInput() {
    winsize size{};
    size.ws_row = 33;
    size.ws_col = 77;
    EXPECT_EQ(openpty(&outside, &inside, nullptr, nullptr, &size), 0);
    tcgetattr(inside, &before);
  }
  ~TerminalInput() {
    close(inside);
    close(outside);
  }
  bool is_raw() const {
    termios now{};
    tcgetattr(inside, &now);
    return (now.c_lflag & (ICANON | ECHO)) == 0;
  }
  bool is_as_before() const {
    termios now{};
    tcgetattr(inside, &now);
    return now.c_lflag == before.c_lflag && now.c_iflag == before.c_iflag && now.c_oflag == before.c_oflag;
  }
  int outside = -1;
  int inside = -1;
  termios before{};
};

TEST(Exec, GivesTheCommandATerminalThatResizesAndRestoresItsOwn) {
  TerminalInput terminal;
  const StandardInput instead(terminal.inside);
  for (const bool ends_by_itself : {true, false}) {
    FakeMaster master(
        says(ends_by_itself ? Answer::Way::stream : Answer::Way::open_stream,
             ends_by_itself ? std::vector{exec_output(1, "$ "), exec_end(0)} : std::vector{exec_output(1, "$ ")}));
    auto said = cadre_beside({"exec", "-t", "--master", master.folder(), "17", "--", "bash"});
    ASSERT_TRUE(master.wait_asked<requests::RunExec>());
    const auto wanted = master.asked<requests::RunExec>().at(0).terminal;
    ASSERT_TRUE(wanted);
    EXPECT_EQ(wanted->rows, 33);
    EXPECT_EQ(wanted->columns, 77);
    if (!ends_by_itself) {
      EXPECT_TRUE(comes_true([&] { return terminal.is_raw(); }));
      EXPECT_EQ(write(terminal.outside, "\3", 1), 1);  // Ctrl-C goes to the command
      EXPECT_TRUE(comes_true([&] { return master.input(1) == "\3"; }));
      winsize size{};
      size.ws_row = 44;
      size.ws_col = 99;
      ioctl(terminal.outside, TIOCSWINSZ, &size);
      std::raise(SIGWINCH);
      EXPECT_TRUE(comes_true([&] {
        const auto sent = master.asked<requests::SendInput>();
        return !sent.empty() && sent.back().terminal && sent.back().terminal->columns == 99;
      }));
      std::raise(SIGTERM);
    }
    said.get();
    EXPECT_TRUE(terminal.is_as_before()) << ends_by_itself;
  }
}

TEST(Exec, RefusesATerminalWithoutOne) {
  FakeMaster master;
  InputPipe input;
  const StandardInput instead(input.ends[0]);
  const Said said = cadre({"exec", "-t", "--master", master.folder(), "17", "--", "bash"});
  EXPECT_EQ(said.code, own_failure);
  EXPECT_EQ(said.err, "cadre exec: standard input is not a terminal; omit -t\n");
  EXPECT_EQ(cadre({"run", "-t", "--master", master.folder(), "--", "bash"}).code, own_failure);
}

TEST_F(Run, PassesItsInputOnOnceTheTaskRuns) {
  InputPipe input;
  const StandardInput instead(input.ends[0]);
  input.write_all("one\ntwo\n");
  input.close_writer();
  auto said = run({"run", "-i", "--", "sort"});
  ASSERT_TRUE(comes_true([&] { return master.input() == "one\ntwo\n"; }));
  EXPECT_TRUE(master.asked<requests::Submit>().at(0).job.members.at(0).command.input);
  master.start_task();
  master.end_task(Reason::exited, 0);
  EXPECT_EQ(said.get().code, 0);
  EXPECT_EQ(run({"run", "-i", "--detach", "--", "sort"}).get().code, own_failure);
  EXPECT_EQ(run({"run", "-i", "--count", "2", "--", "sort"}).get().code, own_failure);
}

TEST_F(Run, SaysWithoutATerminalWhyItWaitsOnceAndWhenThatChanges) {
  std::atomic<int> asked = 0;
  FakeMaster slow([&](const FakeMaster::Request& request) -> std::optional<Answer> {
    if (!std::holds_alternative<requests::Why>(request)) return std::nullopt;
    return told(requests::Text{++asked < 3
                                   ? "waits for 1 slot: nothing is free\n  agents that take no work: blue is draining"
                                   : "waits for 1 slot: no agent is up"});
  });
  auto said = cadre_beside({"run", "--master", slow.folder(), "--", "x"});
  for (const auto until = std::chrono::steady_clock::now() + 60s; asked < 5;) {
    ASSERT_LT(std::chrono::steady_clock::now(), until) << asked;
    std::this_thread::sleep_for(10ms);
  }
  slow.start_task();
  slow.end_task(Reason::exited, 0);
  EXPECT_EQ(
      said.get().err,
      "cadre run: job 17 waits for 1 slot: nothing is free\ncadre run: job 17 waits for 1 slot: no agent is up\n");
}

TEST_F(Run, NamesTheTaskThatFailedAndThoseThatWereStoppedForIt) {
  auto said = run({"run", "--count", "4", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.change([](requests::JobView& job) {
    job.stage = cluster::JobStage::ended;
    job.reason = Reason::exited;
    job.code = 3;
    job.failed = cluster::TaskId{{17}, 2};
    for (std::uint32_t i = 0; i < 4; ++i) {
      job.tasks.push_back(running_task({{17}, i}));
      const bool failed = i == 2;
      job.tasks.back().ending =
          cluster::TaskEnding{failed ? Reason::exited : Reason::signalled, failed ? 3 : 15, "", {}, 0};
    }
  });
  const Said all = said.get();
  EXPECT_EQ(all.code, 3);
  EXPECT_THAT(all.err, HasSubstr("cadre run: job 17: task 17.2 (task, rank 2, on blue) exited with 3; "
                                 "stopped because of it: ranks 0-1,3\n"));
}

TEST_F(Run, AsksASilentTaskForMoreNotMoreOftenThanItMust) {
  master.start_task();
  cluster::KnownMaster known{master.url(), "somebody", FakeMaster::token, ""};
  int code = -1;
  std::thread ender([&] {
    std::this_thread::sleep_for(2s);
    master.end_task(Reason::exited, 0);
  });
  code = with_master("cadre run", known, [](CommandContext& session) -> loop::Task<int> {
    FollowOptions options;
    options.on_line = [](cluster::TaskId, const logs::Line&) {};
    options.idle_max = 100ms;  // long past after two seconds of silence
    Follower follower(session, std::move(options));
    requests::GetJob request{{17}, std::nullopt};
    Result<requests::JobView> job = co_await ask(session, request);
    if (!job) co_return failed;
    const Result<requests::JobView> ended = co_await follower.to_end(*std::move(job));
    co_return ended ? done : failed;
  });
  ender.join();
  EXPECT_EQ(code, done);
  EXPECT_LT(master.asked<requests::ReadLogs>().size(), 60U) << "about ten each second, not one each millisecond";
}

/// Takes connections at the port of a master that is away, and counts them.
class ClosedPort {
 public:
  explicit ClosedPort(std::uint16_t port) : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 1'000), 0);
    thread_ = std::thread([this] {
      for (int one = accept(listener_, nullptr, nullptr); one >= 0; one = accept(listener_, nullptr, nullptr)) {
        ++count;
        close(one);
      }
    });
  }
  ~ClosedPort() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::atomic<int> count = 0;

 private:
  int listener_;
  std::thread thread_;
};

TEST_F(Run, WaitsForAMasterThatIsAwayWithFewAttempts) {
  auto said = run({"run", "--count", "30", "--", "x"});
  ASSERT_TRUE(master.wait_asked<requests::GetJob>());
  master.change([](requests::JobView& job) {
    job.stage = cluster::JobStage::running;
    for (std::uint32_t i = 0; i < 30; ++i) job.tasks.push_back(running_task({{17}, i}));
  });
  ASSERT_TRUE(master.wait_asked<requests::ReadLogs>(30));
  master.stop();
  const std::string url = master.url();
  {
    const ClosedPort port(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    std::raise(SIGTERM);
    std::this_thread::sleep_for(4s);
    EXPECT_LT(port.count, 200) << "30 tasks that each try ten times a second would be 1,200";
    EXPECT_GT(port.count, 0);
  }
  master.job.stage = cluster::JobStage::ended;
  master.job.reason = Reason::killed_by_user;
  master.job.code = 15;
  master.start();
  const Said all = said.get();
  EXPECT_EQ(all.code, own_failure);
  EXPECT_THAT(all.err, HasSubstr("the master is unreachable; waiting for it to return"));
  EXPECT_THAT(all.err, HasSubstr("the master is reachable again"));
}

}  // namespace
}  // namespace cadre::cli
