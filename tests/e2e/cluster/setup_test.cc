// Setup commands and interpreters of tasks: prepared once, under the limits and walls of the task itself; and how
// `cadre up` stops while they run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <thread>

#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using cluster::lease::Reason;
using testing::HasSubstr;
using testing::Not;

class SetupCommands : public testing::Test {
 protected:
  SetupCommands() { cluster_.start_agent("a1"); }

  /// A job whose setup is under way: it has written this line.
  std::uint64_t submit_and_await(const std::vector<std::string>& arguments, const std::string& line) {
    const std::uint64_t id = cluster_.submit(arguments);
    EXPECT_TRUE(TestCluster::until([&] { return cluster_.output(id).find(line) != std::string::npos; }))
        << cluster_.cadre({"why", std::to_string(id)}).out;
    return id;
  }
  bool is_empty() const {
    return TestCluster::until([&] { return cluster_.processes("a1").empty(); });
  }

  TestCluster cluster_{{"30s", {}}};
};

TEST_F(SetupCommands, RunOnceAndWriteIntoTheLogOfTheirJob) {
  const std::vector<std::string> arguments{"--slots", "1",
                                           "--env",   "WHO=me",
                                           "--setup", "echo preparing for $WHO; echo made by $WHO > made",
                                           "--setup", "echo more >> made",
                                           "--",      "cat",
                                           "made"};
  const std::uint64_t first = cluster_.submit(arguments);
  EXPECT_EQ(cluster_.wait_for_end(first).code, 0);
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.output(first) == "preparing for me\nmade by me\nmore\n"; }))
      << cluster_.output(first);
  const std::uint64_t second = cluster_.submit(arguments);
  EXPECT_EQ(cluster_.wait_for_end(second).code, 0);
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.output(second) == "made by me\nmore\n"; }))
      << cluster_.output(second);
}

TEST_F(SetupCommands, ThatFailSayWhatTheyWrote) {
  const std::uint64_t id = cluster_.submit(
      {"--slots", "1", "--setup", "echo fine", "--setup", "echo the cause; exit 7", "--", "echo", "never"});
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.reason, Reason::failed_to_start);
  EXPECT_THAT(job.detail, HasSubstr("its setup ended with exit code 7"));
  EXPECT_THAT(job.detail, HasSubstr("the cause"));
  EXPECT_TRUE(TestCluster::until([&] {
    return cluster_.cadre({"task", "logs", std::to_string(id)})
               .err.find("setup command 'echo the cause; exit 7' ended with exit code 7") != std::string::npos;
  }));
  EXPECT_THAT(cluster_.output(id), Not(HasSubstr("never\n")));
}

TEST_F(SetupCommands, EndWithAKilledJobAndLeaveNothing) {
  for (const char* isolation : {"on", "off"}) {
    const std::uint64_t id = submit_and_await(
        {"--slots", "1", "--isolation", isolation, "--setup",
         std::string("(setsid sleep 1000 &) ; echo begun ") + isolation + "; sleep 1000", "--", "true"},
        "begun");
    ASSERT_FALSE(cluster_.task_processes("a1").empty());
    EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(id)}).code, 0);
    EXPECT_EQ(cluster_.wait_for_end(id).reason, Reason::killed_by_user);
    EXPECT_TRUE(cluster_.task_processes("a1").empty()) << isolation;
    EXPECT_TRUE(is_empty());
  }
}

TEST_F(SetupCommands, AreRetriedByTheNextTaskWhenTheFirstIsKilled) {
  const std::string go = cluster_.folder() + "/go";
  const std::vector<std::string> arguments{
      "--slots", "1",    "--isolation", "off", "--setup", "echo begun; while [ ! -e " + go + " ]; do sleep 0.05; done",
      "--",      "echo", "done"};
  const std::uint64_t first = submit_and_await(arguments, "begun");
  const std::uint64_t second = cluster_.submit(arguments);
  const std::uint64_t third = cluster_.submit(arguments);
  EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(third)}).code, 0);  // while it waits for the first one's
  EXPECT_EQ(cluster_.wait_for_end(third).reason, Reason::killed_by_user);
  EXPECT_EQ(cluster_.output(second), "");
  EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(first)}).code, 0);
  EXPECT_EQ(cluster_.wait_for_end(first).reason, Reason::killed_by_user);
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.output(second) == "begun\n"; }));
  write_text(go, "");
  EXPECT_EQ(cluster_.wait_for_end(second).code, 0);
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.output(second) == "begun\ndone\n"; }));
}

TEST_F(SetupCommands, KeepTheLimitsAndTheIsolationOfTheirTask) {
  const std::uint64_t greedy = cluster_.submit(
      {"--slots", "1", "--memory", "64MiB", "--setup",
       "/usr/bin/python3 -c \"import time; x = bytearray(300_000_000); time.sleep(30)\"", "--", "true"});
  const auto job = cluster_.wait_for_end(greedy);
  EXPECT_EQ(job.reason, Reason::out_of_memory) << job.detail;
  EXPECT_THAT(job.detail, HasSubstr("its setup: used "));

  const std::uint64_t apart = cluster_.submit({"--slots", "1", "--setup", "readlink /proc/self/ns/pid > made", "--",
                                               "sh", "-c", "cat made; readlink /proc/self/ns/pid"});
  EXPECT_EQ(cluster_.wait_for_end(apart).code, 0);
  const std::string own = std::filesystem::read_symlink("/proc/self/ns/pid").string();
  EXPECT_TRUE(TestCluster::until([&] {
    std::istringstream words(cluster_.output(apart));
    std::string of_setup, of_task;
    return words >> of_setup >> of_task && of_setup.starts_with("pid:[") && of_task.starts_with("pid:[");
  })) << cluster_.output(apart);
  EXPECT_THAT(cluster_.output(apart), Not(HasSubstr(own)));
}

TEST_F(SetupCommands, ThatTakeTooLongAreEndedAndItIsSaidWhy) {
  cluster_.start_agent("hasty", {"--setup-timeout", "500ms", "--label", "is=hasty"});
  const std::uint64_t id = cluster_.submit(
      {"--slots", "1", "--selector", "is=hasty", "--setup", "echo begun; sleep 600", "--", "echo", "never"});
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.reason, Reason::failed_to_start) << job.detail;
  EXPECT_THAT(job.detail, HasSubstr("its setup did not end in time: its agent allows 0.5 s per setup command "
                                    "(--setup-timeout); its last output:\nbegun"));
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.processes("hasty").empty(); }));
  EXPECT_THAT(cluster_.output(id), Not(HasSubstr("never")));
}

TEST_F(SetupCommands, EndWithTheirAgentAndRunAgain) {
  const std::string go = cluster_.folder() + "/go";
  const std::uint64_t id =
      submit_and_await({"--slots", "1", "--isolation", "off", "--setup",
                        "echo begun; while [ ! -e " + go + " ]; do sleep 0.05; done", "--", "echo", "done"},
                       "begun");
  cluster_.kill_agent("a1");
  EXPECT_TRUE(is_empty()) << "nobody would know what to do with the rest";
  cluster_.start_agent("a1");
  write_text(go, "");
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.reason, Reason::exited) << job.detail;
  EXPECT_EQ(job.code, 0);
  EXPECT_EQ(job.runs, 2);
}

TEST_F(SetupCommands, FindTheInterpreterThatTheirTaskNames) {
  const std::string venv = cluster_.folder() + "/venv";
  std::filesystem::create_directories(venv + "/bin");
  write_text(venv + "/pyvenv.cfg", "home = /usr/bin\n");
  write_text(venv + "/bin/python3", "#!/bin/sh\necho the interpreter of the environment in $VIRTUAL_ENV\n");
  ASSERT_EQ(::chmod((venv + "/bin/python3").c_str(), 0755), 0);
  const std::string said = "the interpreter of the environment in " + venv + "\n";
  for (const std::string& named : {venv, venv + "/bin/python3"}) {
    const std::uint64_t id = cluster_.submit({"--slots", "1", "--isolation", "off", "--python", named, "--setup",
                                              "python3 > made", "--", "sh", "-c", "cat made; python3 x"});
    EXPECT_EQ(cluster_.wait_for_end(id).code, 0);
    EXPECT_TRUE(TestCluster::until([&] { return cluster_.output(id) == said + said; })) << cluster_.output(id);
  }
  const auto missing = cluster_.wait_for_end(
      cluster_.submit({"--slots", "1", "--python", venv + "/nowhere", "--", "python3", "-c", "1"}));
  EXPECT_EQ(missing.reason, Reason::failed_to_start);
  EXPECT_THAT(missing.detail, HasSubstr("cannot be used on this agent"));
  const Said real = cluster_.cadre({"run", "--slots", "1", "--python", "/usr/bin/python3", "--", "python3", "-c",
                                    "import sys; print(sys.executable)"});
  EXPECT_EQ(real.out, "/usr/bin/python3\n") << real.err;
}

/// `cadre up` with what it is asked, in a folder of its own.
class UpUnderFaults : public testing::Test {
 protected:
  UpUnderFaults() {
    open_to_tasks(folder_.path());
    start();
  }
  ~UpUnderFaults() override { servers::kill_tree(pid_); }

  void start() {
    pid_ = servers::start(
        {{CADRE_PROGRAM, "up", "--data", data(), "--port", "0", "--artificial-slots", "2", "--allow-isolation-off"},
         "",
         log()});
    EXPECT_TRUE(TestCluster::until([&] {
      return cadre({"agent", "list"}).out.find(" up") != std::string::npos;
    })) << read_text(log());
  }
  Said cadre(const std::vector<std::string>& arguments) const {
    ::setenv("CADRE_MASTER", data().c_str(), 1);
    return run_cadre(arguments);
  }
  std::string data() const { return folder_.path() + "/up"; }
  std::string log() const { return folder_.path() + "/log"; }
  /// Whether it ends, and how; a minute is far more than it may take.
  std::optional<int> end() const {
    std::optional<int> status;
    const bool has_ended = TestCluster::until([&] {
      int ended = 0;
      if (::waitpid(pid_, &ended, WNOHANG) == pid_) status = ended;
      return status.has_value();
    });
    EXPECT_TRUE(has_ended) << "it does not end";
    return status;
  }
  std::vector<pid_t> children() const {
    std::vector<pid_t> all;
    std::istringstream text(read_text("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children"));
    for (pid_t pid = 0; text >> pid;) all.push_back(pid);
    return all;
  }

  servers::TempDir folder_;
  pid_t pid_ = -1;
};

TEST_F(UpUnderFaults, StopsWhileASetupCommandRuns) {
  const std::string begun = folder_.path() + "/begun";
  EXPECT_EQ(cadre({"run", "--detach", "--slots", "1", "--isolation", "off", "--setup",
                   "trap '' TERM; touch " + begun + "; while true; do sleep 0.1; done", "--", "true"})
                .code,
            0);
  ASSERT_TRUE(TestCluster::until([&] { return std::filesystem::exists(begun); })) << read_text(log());
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(end(), std::optional(0)) << read_text(log());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need more memory than there is
TEST(UpThatCannotStart, GivesUpWhenItsMasterFallsAgainAndAgain) {
  const servers::TempDir folder;
  const std::string log = folder.path() + "/log";
  const pid_t up = servers::start(
      {{"/usr/bin/prlimit", "--as=150000000", CADRE_PROGRAM, "up", "--data", folder.path() + "/up", "--port", "0"},
       "",
       log});
  EXPECT_NE(servers::wait_for(up), 0);
  const std::string said = read_text(log);
  EXPECT_THAT(said, testing::HasSubstr("the master did not start"));
  std::size_t starts = 0;
  for (std::size_t at = said.find("restarting it"); at != std::string::npos; at = said.find("restarting it", at + 1))
    ++starts;
  EXPECT_GE(starts, 2U);
  EXPECT_LE(starts, 10U);
}
#endif

TEST_F(UpUnderFaults, StopsAtTheSecondSignalThoughAPartOfItHangs) {
  ASSERT_GE(children().size(), 2U) << "the master and the agent";
  for (const pid_t part : children()) ASSERT_EQ(::kill(part, SIGSTOP), 0);  // a part that does not even hear of it
  ::kill(pid_, SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(pid_, SIGTERM);
  EXPECT_TRUE(end()) << read_text(log());
}

TEST_F(UpUnderFaults, GoesOnWithoutTheNurseryOfItsAgent) {
  const std::vector<pid_t> parts = children();
  pid_t nursery = 0;
  for (const pid_t part : parts) {
    std::istringstream text(read_text("/proc/" + std::to_string(part) + "/task/" + std::to_string(part) + "/children"));
    for (pid_t pid = 0; text >> pid;) {
      if (read_text("/proc/" + std::to_string(pid) + "/comm") == "cadre-nursery\n") nursery = pid;
    }
  }
  ASSERT_GT(nursery, 0);
  ::kill(nursery, SIGKILL);
  for (int i = 0; i < 3; ++i) {
    const Said said = cadre({"run", "--slots", "1", "--", "echo", "works"});
    EXPECT_EQ(said.out, "works\n") << said.err << read_text(log());
  }
  EXPECT_EQ(children(), parts) << "neither the master nor the agent was started again";
  ::kill(pid_, SIGTERM);
  EXPECT_EQ(end(), std::optional(0)) << read_text(log());
}

}  // namespace
}  // namespace cadre::e2e
