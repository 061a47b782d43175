// One task after another through the real master, agent and supervisor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "database/database.h"
#include "tests/e2e/cluster/test_cluster.h"
#include "tests/servers/process.h"

namespace cadre::e2e {
namespace {

using cluster::JobStage;
using cluster::lease::Reason;
using testing::HasSubstr;

class Tasks : public testing::Test {
 protected:
  Tasks() { cluster_.start_agent("a1"); }
  TestCluster cluster_;
};

TEST_F(Tasks, RunWithTheirOutputAndTheirExitCode) {
  const Said said = cluster_.cadre({"run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(said.code, 7);
  EXPECT_EQ(said.out, "out\n");
  EXPECT_THAT(said.err, HasSubstr("err\n"));
}

TEST_F(Tasks, EndedByASignalGiveItsNumber) {
  EXPECT_EQ(cluster_.cadre({"run", "--", "sh", "-c", "kill -9 $$"}).code, 137);
}

TEST_F(Tasks, ThatCannotBeStartedSayWhy) {
  const Said said = cluster_.cadre({"run", "--", "there-is-no-such-program"});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, HasSubstr("there-is-no-such-program"));
  EXPECT_THAT(said.err, HasSubstr("No such file"));
}

TEST_F(Tasks, KnowTheirIdentity) {
  const Said said = cluster_.cadre({"run", "--slots", "2", "--env", "MINE=1", "--", "sh", "-c",
                                    "echo $CADRE_TASK $CADRE_EPOCH $CADRE_RANK $CADRE_SIZE $CADRE_SLOTS $MINE"});
  EXPECT_EQ(said.out, "1.0 1 0 1 0,1 1\n") << said.err;
}

TEST_F(Tasks, OfAGangKnowEachOther) {
  const std::uint64_t id = cluster_.submit(
      {"--count", "3", "--slots", "1", "--", "sh", "-c", "echo rank $CADRE_RANK of $CADRE_SIZE on slot $CADRE_SLOTS"});
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.code, 0);
  ASSERT_EQ(job.tasks.size(), 3U);
  std::string output;
  EXPECT_TRUE(TestCluster::until([&] {
    output = cluster_.output(id);  // which may come a moment after the news of the end
    return std::count(output.begin(), output.end(), '\n') == 3;
  }));
  for (const char* line : {"rank 0 of 3 on slot", "rank 1 of 3 on slot", "rank 2 of 3 on slot"}) {
    EXPECT_THAT(output, HasSubstr(line));
  }
}

TEST_F(Tasks, AreStoppedWhenAnotherTaskOfTheJobFails) {
  const std::uint64_t id =
      cluster_.submit({"--count", "2", "--", "sh", "-c", "test $CADRE_RANK = 0 || exit 5; exec sleep 1000"});
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.reason, Reason::exited);
  EXPECT_EQ(job.code, 5);
}

TEST_F(Tasks, BringTheirCode) {
  write_text(cluster_.folder() + "/hello.txt", "");  // beside the code, not in it
  const std::string code = cluster_.folder() + "/code";
  ASSERT_EQ(std::system(("mkdir -p " + code + "/in && echo kept > " + code + "/in/kept.txt && echo no > " + code +
                         "/left.out && echo '*.out' > " + code + "/.cadreignore")
                            .c_str()),
            0);
  const Said said = cluster_.cadre({"run", "--dir", code, "--", "sh", "-c", "cat in/kept.txt; ls"});
  EXPECT_EQ(said.code, 0) << said.err;
  EXPECT_EQ(said.out, "kept\nin\n");
}

TEST_F(Tasks, CanBeLookedIntoWhileTheyRun) {
  const std::uint64_t id = cluster_.submit({"--env", "SECRET=42", "--", "sleep", "1000"});
  ASSERT_TRUE(TestCluster::until([&] {
    const auto job = cluster_.job(id);
    return !job.tasks.empty() && job.tasks[0].stage == cluster::lease::Stage::running;
  }));
  const Said said = cluster_.cadre({"task", "exec", std::to_string(id), "--", "sh", "-c", "echo $SECRET; exit 9"});
  EXPECT_EQ(said.out, "42\n") << said.err;
  EXPECT_EQ(said.code, 9);
  // Whoever looks no longer leaves nothing behind.
  const TestCluster::Background looking =
      cluster_.start_cadre({"task", "exec", std::to_string(id), "--", "sh", "-c", "echo begun; sleep 1000 & wait"});
  ASSERT_TRUE(TestCluster::until([&] { return read_text(looking.out) == "begun\n"; }));
  EXPECT_GE(cluster_.task_processes("a1").size(), 2U);
  ::kill(looking.pid, SIGINT);
  EXPECT_EQ(looking.wait().code, 128 + SIGINT);
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.task_processes("a1").size() == 1; }));
  EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(id)}).code, 0);
  EXPECT_EQ(cluster_.wait_for_end(id).reason, Reason::killed_by_user);
}

TEST_F(Tasks, GetTheInputOfTheCommandThatRunsThem) {
  std::string words;
  for (int i = 0; i < 20'000; ++i) words += "word " + std::to_string(i % 10) + "\n";
  const Said counted = cluster_.cadre({"run", "-i", "--", "sh", "-c", "sort | uniq -c | wc -l; cat"}, words);
  EXPECT_EQ(counted.code, 0) << counted.err;
  EXPECT_EQ(counted.out, "10\n");
  EXPECT_EQ(cluster_.cadre({"run", "--", "cat"}, "not passed on").out, "");
  const std::uint64_t id = cluster_.submit({"--", "sleep", "1000"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "a1"); }));
  const Said copied = cluster_.cadre({"exec", std::to_string(id), "--", "cat"}, words);
  EXPECT_EQ(copied.code, 0) << copied.err;
  EXPECT_EQ(copied.out, words);
  EXPECT_EQ(cluster_.cadre({"exec", "--no-input", std::to_string(id), "--", "cat"}, words).out, "");
}

/// `cadre` on a terminal of its own.
class OnTerminal {
 public:
  OnTerminal(const TestCluster& cluster, std::vector<std::string> arguments) {
    ::setenv("CADRE_MASTER", cluster.data().c_str(), 1);
    winsize size{};
    size.ws_row = 33;
    size.ws_col = 77;
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    std::vector<char*> argv{const_cast<char*>(CADRE_PROGRAM)};
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    ::execv(CADRE_PROGRAM, argv.data());
    ::_exit(126);
  }
  ~OnTerminal() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    ::close(terminal_);
  }
  /// Reads on until that is there.
  bool shows(const std::string& text, int wait_ms = 60'000) {
    std::array<char, 4096> buffer;
    while (shown.find(text) == std::string::npos) {
      pollfd one{terminal_, POLLIN, 0};
      if (::poll(&one, 1, wait_ms) <= 0) return false;
      const ssize_t got = ::read(terminal_, buffer.data(), buffer.size());
      if (got <= 0) return false;
      shown.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return true;
  }
  void type(const std::string& text) const {
    EXPECT_EQ(::write(terminal_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void resize(unsigned short rows, unsigned short columns) const {
    winsize size{};
    size.ws_row = rows;
    size.ws_col = columns;
    ::ioctl(terminal_, TIOCSWINSZ, &size);
  }
  int wait() {
    const int code = servers::wait_for(pid_);
    pid_ = -1;
    return code;
  }
  std::string shown;

 private:
  int terminal_ = -1;
  pid_t pid_ = -1;
};

TEST_F(Tasks, RunOnATerminalThatResizes) {
  const std::string script = "while stty size; read word; do echo got $word; test $word = end && exit 6; done";
  const std::uint64_t id = cluster_.submit({"--", "sleep", "1000"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "a1"); }));
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"exec", "-t", std::to_string(id)}, std::vector<std::string>{"run", "-t"}}) {
    std::vector<std::string> words = how;
    words.insert(words.end(), {"--", "bash", "-c", script});
    OnTerminal terminal(cluster_, words);
    ASSERT_TRUE(terminal.shows("33 77")) << terminal.shown;
    terminal.type("hello\r");
    EXPECT_TRUE(terminal.shows("got hello")) << terminal.shown;
    terminal.resize(44, 99);
    for (int i = 0; i < 60 && !terminal.shows("44 99", 1'000); ++i) terminal.type("x\r");
    EXPECT_TRUE(terminal.shows("44 99")) << terminal.shown;
    terminal.type("end\r");
    EXPECT_TRUE(terminal.shows("got end")) << terminal.shown;
    EXPECT_EQ(terminal.wait(), 6) << terminal.shown;
  }
}

TEST_F(Tasks, ShowTheUserThatKilledThemAfterARestartOfTheMaster) {
  const std::uint64_t id = cluster_.submit({"--env", "SECRET=42", "--", "sleep", "1000"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "a1"); }));
  EXPECT_EQ(cluster_.cadre({"kill", std::to_string(id)}).code, 0);
  EXPECT_EQ(cluster_.cadre({"wait", std::to_string(id)}).code, 125);
  cluster_.kill_master();
  cluster_.start_master();
  const Said said = cluster_.cadre({"job", "describe", std::to_string(id)});
  EXPECT_THAT(said.out, testing::ContainsRegex("state +killed by admin\n"));
  EXPECT_THAT(said.out, testing::ContainsRegex("command +sleep 1000\n"));
  EXPECT_THAT(said.out, testing::ContainsRegex("environment +SECRET\n"));
  EXPECT_THAT(cluster_.cadre({"why", std::to_string(id)}).out, HasSubstr("it was killed by admin"));
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.is_up("a1"); }));
  const Said drained = cluster_.cadre({"agent", "drain", "a1"});
  EXPECT_EQ(drained.code, 0) << drained.err;
  EXPECT_THAT(cluster_.cadre({"status"}).out, testing::ContainsRegex("draining +a1\n"));
}

TEST_F(Tasks, ThatCouldNeverRunAreRefused) {
  const Said said = cluster_.cadre({"run", "--slots", "5", "--", "true"});
  EXPECT_EQ(said.code, 125);
  EXPECT_THAT(said.err, HasSubstr("can never"));
}

TEST_F(Tasks, WaitInAnOrderThatUsersChange) {
  const std::uint64_t first = cluster_.submit({"--slots", "4", "--", "sleep", "1000"});
  const std::uint64_t second = cluster_.submit({"--slots", "4", "--", "true"});
  const std::uint64_t third = cluster_.submit({"--slots", "4", "--", "true"});
  EXPECT_THAT(cluster_.cadre({"why", std::to_string(third)}).out, HasSubstr(std::to_string(first)));
  EXPECT_EQ(cluster_.cadre({"job", "move", std::to_string(third), "--ahead-of", std::to_string(second)}).code, 0);
  EXPECT_EQ(cluster_.cadre({"task", "stop", std::to_string(first)}).code, 0);
  const auto one = cluster_.wait_for_end(third);
  const auto other = cluster_.wait_for_end(second);
  EXPECT_LT(one.started, other.started);
}

TEST(Records, DoNotGrowForEver) {
  const servers::TempDir folder;
  write_text(folder.path() + "/master.yaml", "keeping: {changes: 12, tidy_every: 50ms}\n");
  TestCluster cluster({"3s", {"--config", folder.path() + "/master.yaml"}});
  cluster.start_agent("a1");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(cluster.cadre({"run", "--", "true"}).code, 0);
  const auto database = database::open(cluster.database_url()).value();
  const auto kept = [&] {
    return database->query("SELECT count(*), max(number) FROM changes")
        .value()
        .one()
        .value()
        .get<std::int64_t>(0)
        .value();
  };
  EXPECT_TRUE(TestCluster::until([&] { return kept() == 12; })) << kept();
  EXPECT_EQ(cluster.cadre({"job", "describe", "1"}).code, 0);
}

TEST(Master, ReportsFaultsInItsConfigurationFile) {
  const servers::TempDir folder;
  const auto said = [&](const std::string& config) {
    const Said one = run_cadre({"master", "--data", folder.path() + "/m", "--config", config});
    EXPECT_EQ(one.code, 2) << config;
    return one.err;
  };
  EXPECT_THAT(said(folder.path()), HasSubstr("is a directory"));
  EXPECT_THAT(said(folder.path() + "/none"), HasSubstr("No such file"));
  write_text(folder.path() + "/wrong", "http: {prot: 1}\n");
  EXPECT_THAT(said(folder.path() + "/wrong"), HasSubstr("prot"));
}

TEST_F(Tasks, ContinueWhenASecondMasterIsStarted) {
  for (const char* command : {"master", "up"}) {
    const Said said = run_cadre({command, "--data", cluster_.data()});
    EXPECT_NE(said.code, 0);
    EXPECT_THAT(said.err, HasSubstr("another master or agent uses " + cluster_.data()));
    EXPECT_EQ(cluster_.cadre({"run", "--", "true"}).code, 0);
  }
}

TEST(Up, EndsWithRunningJobsAndRunsThemAgainAtTheNextStart) {
  const servers::TempDir folder;
  const std::string data = folder.path() + "/c";
  const auto start = [&] {
    return servers::start(
        {{CADRE_PROGRAM, "up", "--data", data, "--port", "0", "--slots", "2"}, "", folder.path() + "/log"});
  };
  pid_t up = start();
  const auto runs = [&] {
    return run_cadre({"job", "list", "--active", "--json", "--master", data}).out.find("\"stage\":\"running\"") !=
           std::string::npos;
  };
  ASSERT_TRUE(TestCluster::until([&] {
    return run_cadre({"run", "--detach", "--slots", "1", "--master", data, "--", "sleep", "1000"}).code == 0;
  })) << read_text(folder.path() + "/log");
  ASSERT_TRUE(TestCluster::until(runs));
  const auto status =
      describe::read_json<cluster::requests::Status>(run_cadre({"status", "--json", "--master", data}).out);
  EXPECT_EQ(status->slots, 2);
  EXPECT_EQ(status->slots_used, 1);
  ::kill(up, SIGTERM);
  EXPECT_EQ(servers::wait_for(up), 0) << read_text(folder.path() + "/log");
  up = start();
  EXPECT_TRUE(TestCluster::until(runs)) << read_text(folder.path() + "/log");
  ::kill(up, SIGTERM);
  EXPECT_EQ(servers::wait_for(up), 0);
}

TEST_F(Tasks, StayAwayFromAgentsThatAreDrained) {
  cluster_.start_agent("a2");
  EXPECT_EQ(cluster_.cadre({"agent", "drain", "a1"}).code, 0);
  for (int i = 0; i < 4; ++i) {
    const auto job = cluster_.wait_for_end(cluster_.submit({"--slots", "1", "--", "true"}));
    ASSERT_EQ(job.tasks.size(), 1U);
    EXPECT_EQ(job.tasks[0].agent.value, "a2");
  }
  EXPECT_EQ(cluster_.cadre({"agent", "enable", "a1"}).code, 0);
}

TEST_F(Tasks, OfADisabledAgentRunAgainElsewhere) {
  const std::uint64_t id =
      cluster_.submit({"--slots", "1", "--grace", "1s", "--preemption-grace", "1s", "--", "sleep", "1000"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.job(id).stage == JobStage::running; }));
  cluster_.start_agent("a2");
  EXPECT_EQ(cluster_.cadre({"agent", "disable", "a1"}).code, 0);
  EXPECT_TRUE(TestCluster::until([&] {
    const auto job = cluster_.job(id);
    return job.runs == 2 && !job.tasks.empty() && job.tasks[0].agent.value == "a2" &&
           job.tasks[0].stage == cluster::lease::Stage::running;
  }));
  EXPECT_EQ(cluster_.job(id).tasks[0].epoch, 2U);
}

}  // namespace
}  // namespace cadre::e2e
