// How a task starts, what it finds, and how its end is told.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::Isolation;
using cluster::lease::Reason;

class Start : public Rig, public ::testing::WithParamInterface<Isolation> {
 protected:
  Start() { isolation = GetParam(); }
};

TEST_P(Start, ReportsExitCodes) {
  EXPECT_EQ(run(program({"true"})).code, 0);
  const auto ending = run(script("exit 7"));
  EXPECT_EQ(ending.reason, Reason::exited);
  EXPECT_EQ(ending.code, 7);
}

TEST_P(Start, ReportsSignals) {
  const auto ending = run(script("kill -USR1 $$"));
  EXPECT_EQ(ending.reason, Reason::signalled);
  EXPECT_EQ(ending.code, SIGUSR1);
  EXPECT_EQ(ending.detail, "SIGUSR1");
}

TEST_P(Start, NothingIsLeftButTheFolder) {
  const std::string folder = begin(script("echo hello"));
  wait_for_ending(folder);
  wait_for("the supervisor's end", [&] { return !is_alive(last_supervisor); });
  EXPECT_FALSE(std::filesystem::exists(folder + "/agent.sock"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/task.sock"));
  EXPECT_EQ(output(folder), "hello\n");
}

TEST_P(Start, AnUnknownProgramIsNamed) {
  const auto ending = run(program({"no-such-program", "x"}));
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail,
            "cannot run 'no-such-program': No such file or directory; check that it is installed on this agent");
}

TEST_P(Start, AMissingFolderIsNamed) {
  Launch launch = program({"true"});
  launch.command.folder = "/no/such/folder";
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail, "cannot start in the folder '/no/such/folder': No such file or directory");
}

TEST_P(Start, AMissingPythonIsNamed) {
  Launch launch = program({"true"});
  launch.command.python = "/no/python";
  EXPECT_EQ(run(launch).detail, "python '/no/python' cannot be used on this agent: No such file or directory");
}

TEST_P(Start, AnotherPythonRunsWhereTheChosenOneIsMissing) {
  Launch launch = program({"/no/python", "-c", "import os; print('instead', os.environ['PATH'].split(':')[0])"});
  launch.command.python = "/no/python:/neither/python:/usr/bin/python3";
  const std::string folder = begin(launch);
  EXPECT_EQ(wait_for_ending(folder).code, 0);
  EXPECT_EQ(output(folder), "instead /usr/bin\n");
  launch.lease = program({"true"}).lease;
  launch.command.argv = {"/no/other"};  // only the interpreter is replaced
  EXPECT_NE(run(launch).detail.find("cannot run '/no/other'"), std::string::npos);
  launch.lease = program({"true"}).lease;
  launch.command.python = "/no/python:/neither/python";
  EXPECT_EQ(run(launch).detail, "python '/no/python' cannot be used on this agent: No such file or directory");
}

TEST_P(Start, AnUnreadableLaunchIsAnEnding) {
  const std::string folder = make_folder(program({"true"}));
  std::ofstream(folder + "/launch") << "garbage";
  ASSERT_TRUE(nursery().start(folder));
  EXPECT_EQ(wait_for_ending(folder).reason, Reason::failed_to_start);
}

TEST_P(Start, TheEnvironmentIsCleanAndComplete) {
  ::setenv("OF_THE_AGENT", "secret", 1);
  Launch launch = program({"env"});
  launch.variables = {{"CADRE_TASK", "17.0"}, {"BOTH", "cadre"}};
  launch.command.variables = {{"BOTH", "user"}, {"MINE", "a b"}};
  const std::string folder = begin(launch);
  wait_for_ending(folder);
  const std::string text = "\n" + output(folder);
  for (const char* name : {"PATH=", "HOME=", "LANG=", "USER=", "TMPDIR=", "CADRE_SOCKET=", "CADRE_TASK=17.0\n",
                           "BOTH=user\n", "MINE=a b\n"}) {
    EXPECT_NE(text.find("\n" + std::string(name)), std::string::npos) << name;
  }
  EXPECT_EQ(text.find("OF_THE_AGENT"), std::string::npos);
}

TEST_P(Start, FoldersOfPythonPackagesOfTheTaskComeBeforeThatOfCadre) {
  const std::pair<std::optional<std::string>, std::string> cases[] = {
      {std::nullopt, "/cadre"}, {"lib", "lib:/cadre"}, {"/cadre", "/cadre"}, {"", ""}};
  for (const auto& [own, expected] : cases) {
    Launch launch = program({"env"});
    launch.variables = {{"PYTHONPATH", "/cadre"}};
    if (own) launch.command.variables = {{"PYTHONPATH", *own}};
    const std::string folder = begin(launch);
    wait_for_ending(folder);
    EXPECT_NE(("\n" + output(folder)).find("\nPYTHONPATH=" + expected + "\n"), std::string::npos) << expected;
  }
}

TEST_P(Start, AVirtualEnvironmentComesFirst) {
  const std::string home = "/dev/shm/cadre-venv-" + new_mark();
  std::filesystem::create_directories(home + "/bin");
  std::ofstream(home + "/pyvenv.cfg") << "home = /usr/bin\n";
  std::ofstream(home + "/bin/greet") << "#!/bin/sh\necho hello from $VIRTUAL_ENV\n";
  ::chmod((home + "/bin/greet").c_str(), 0755);
  for (const std::string& python : {home, home + "/bin/greet"}) {
    Launch launch = program({"greet"});
    launch.command.python = python;
    launch.confinement.shown = {home};
    const std::string folder = begin(launch);
    wait_for_ending(folder);
    EXPECT_EQ(output(folder), "hello from " + home + "\n");
  }
  std::filesystem::remove_all(home);
}

TEST_P(Start, ItStandsInItsWorkFolderAndHoldsNothingOfOurs) {
  const std::string folder = begin(script("pwd; ls /proc/self/fd | wc -l; cat; trap; ulimit -c"));
  EXPECT_EQ(wait_for_ending(folder).code, 0);
  std::istringstream lines(output(folder));
  std::string work;
  int descriptors = 0;
  lines >> work >> descriptors;
  EXPECT_EQ(work, std::filesystem::canonical(folder).string() + "/work");
  EXPECT_EQ(descriptors, 4) << "three streams, and the folder that ls reads";
}

TEST_P(Start, ItStartsWithSignalsAsTheyAre) {
  const std::string folder = begin(script("grep -E 'Sig(Blk|Ign)' /proc/self/status"));
  wait_for_ending(folder);
  std::istringstream lines(output(folder));
  const std::uint64_t of_the_library = 0x1'8000'0000;  // 32 and 33, which no program can set
  int seen = 0;
  for (std::string name, mask; lines >> name >> mask; ++seen) {
    EXPECT_EQ(std::stoull(mask, nullptr, 16) & ~of_the_library, 0U) << name;
  }
  EXPECT_EQ(seen, 2);
}

TEST_P(Start, ASecondSupervisorOfAFolderLeavesItAlone) {
  const std::string folder = begin(script("read never < /dev/tty || sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  const auto second = nursery().start(folder);
  ASSERT_TRUE(second);
  wait_for("the end of the second", [&] { return !is_alive(second->pid); });
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  const auto last = agent.status([](const Status& status) { return status.ending.has_value(); });
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->reason, Reason::signalled);
}

TEST_P(Start, UseIsMeasured) {
  const std::string folder = begin(program({"/usr/bin/python3", "-c", "x = bytearray(64 << 20)\nwhile True: pass"}));
  FakeAgent agent(folder);
  const auto seen = agent.status([](const Status& status) {
    return status.usage.memory > ByteSize{64 << 20} && status.usage.cpu_time > Duration{0};
  });
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->usage.processes, 1);
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  const auto ending = wait_for_ending(folder);
  EXPECT_GT(ending.usage.memory_most, ByteSize{64 << 20});
  EXPECT_GT(ending.usage.cpu_time, Duration{0});
}

INSTANTIATE_TEST_SUITE_P(Isolation, Start, ::testing::Values(Isolation::on, Isolation::off),
                         [](const auto& chosen) { return chosen.param == Isolation::on ? "on" : "off"; });

}  // namespace
}  // namespace cadre::supervisor
