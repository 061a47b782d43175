// Nothing of a task survives it, by each mechanism that is there to see to it.
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/processes.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::lease::Reason;

enum class Mechanism : std::uint8_t { pid_namespace, cgroup_v1, cgroup_v2, descendants };

std::string name_of(const ::testing::TestParamInfo<Mechanism>& chosen) {
  switch (chosen.param) {
    case Mechanism::pid_namespace: return "pid_namespace";
    case Mechanism::cgroup_v1: return "cgroup_v1_live";
    case Mechanism::cgroup_v2: return "cgroup_v2_live";
    case Mechanism::descendants: return "descendants";
  }
  return "";
}

/// Where groups of version 2 are, also beside those of version 1.
std::string unified() {
  const std::string hybrid = "/sys/fs/cgroup/unified";
  return std::filesystem::exists(hybrid) ? hybrid : "/sys/fs/cgroup";
}

/// Those that this host has: a group of version 2 can kill also where it cannot limit.
std::vector<Mechanism> mechanisms_here() {
  std::vector<Mechanism> here{Mechanism::pid_namespace, Mechanism::descendants};
  if (live_cgroups() == std::vector{1}) here.push_back(Mechanism::cgroup_v1);
  const std::string folder = unified() + "/cadre-test-look-" + std::to_string(::getpid());
  std::error_code refused;
  const bool made = std::filesystem::create_directory(folder, refused);
  if (made && std::filesystem::exists(folder + "/cgroup.procs")) here.push_back(Mechanism::cgroup_v2);
  if (made) ::rmdir(folder.c_str());
  return here;
}

class Killing : public Rig, public ::testing::WithParamInterface<Mechanism> {
 protected:
  void SetUp() override {
    const std::string name = "cadre-test-" + new_mark();
    if (GetParam() == Mechanism::cgroup_v1) parent_ = prepare_cgroups(name);
    if (GetParam() == Mechanism::cgroup_v2) {
      const std::string folder = unified() + "/" + name;
      ASSERT_TRUE(std::filesystem::create_directory(folder));
      parent_ = {2, {{"pids", folder}}};
    }
  }
  ~Killing() override {
    end_all();
    remove_cgroups(parent_);
  }

  std::string begin_with(Launch launch) {
    launch.cgroup = parent_;
    if (GetParam() == Mechanism::pid_namespace) return begin(launch);
    if (GetParam() == Mechanism::descendants) launch.policy.isolation = cluster::Isolation::off;
    return begin_in(nursery(IsolationFeatures{}), launch);
  }

  CgroupParent parent_;
};

/// Forks twice, takes a session of its own, ignores every signal it may, and waits for ever.
std::string escape(const std::string& mark) {
  return "(trap '' TERM HUP INT QUIT USR1 USR2; setsid sh -c 'trap \"\" TERM HUP INT; sh -c \"sleep " + mark +
         "; sleep " + mark + "\" & wait' >/dev/null 2>&1 &)\n";
}

TEST_P(Killing, KillsProcessesThatForkTwiceAndIgnoreSignals) {
  const std::string mark = new_mark();
  const std::string folder = begin_with(script(escape(mark) + escape(mark) + "sleep " + mark));
  wait_for("three sleepers", [&] { return processes_with(mark).size() >= 7; });
  FakeAgent agent(folder);
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  const auto ending = wait_for_ending(folder);
  EXPECT_EQ(processes_with(mark).size(), 0U);
  EXPECT_EQ(ending.reason, Reason::signalled);
  EXPECT_EQ(ending.code, SIGKILL);
  EXPECT_EQ(ending.detail, "killed after a grace period of 0 s");
}

TEST_P(Killing, KillsATreeThatIsStopped) {
  const std::string mark = new_mark();
  const std::string stopped = "sh -c 'sleep " + mark + " & kill -STOP $! $$'";
  const std::string folder = begin_with(script("setsid " + stopped + " & " + stopped));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  wait_for("two stopped sleepers", [&] { return processes_with("sleep " + mark).size() >= 4; });
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  EXPECT_EQ(wait_for_ending(folder).code, SIGKILL);
  EXPECT_EQ(processes_with(mark).size(), 0U);
}

TEST_P(Killing, AStoppedInitDoesNotKeepItsSupervisor) {
  const std::string mark = new_mark();
  const std::string folder = begin_with(script(escape(mark) + "sleep " + mark));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  wait_for("the tree", [&] { return processes_with(mark).size() >= 3; });
  for (const Process& child : descendants(last_supervisor)) ::kill(child.pid, SIGSTOP);
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  EXPECT_EQ(wait_for_ending(folder).code, SIGKILL);
  EXPECT_EQ(processes_with(mark).size(), 0U);
  wait_for("the supervisor's end", [&] { return !is_alive(last_supervisor); });
}

TEST_P(Killing, CatchesThemWhenTheLeadingProcessEndsByItself) {
  const std::string mark = new_mark();
  const std::string folder = begin_with(script(escape(mark) + "sleep 0.2; exit 3"));
  EXPECT_EQ(wait_for_ending(folder).code, 3);
  EXPECT_EQ(processes_with(mark).size(), 0U);
}

TEST_P(Killing, CatchesABombThatForksWhileItIsKilled) {
  const std::string mark = new_mark();
  // Every process starts the next one and ends: none of those that are seen at one time is there a moment later.
  const std::string folder =
      begin_with(script("/usr/bin/python3 -c 'import os, time\n"
                        "os.setsid()\n"
                        "while True:\n"
                        "    if os.fork() > 0: os._exit(0)\n"
                        "    time.sleep(0.001)' " +
                        mark + " & sleep 1000"));
  wait_for("the chain", [&] { return !processes_with(mark).empty(); });
  FakeAgent agent(folder);
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  wait_for_ending(folder);
  EXPECT_EQ(processes_with(mark).size(), 0U);
}

TEST_P(Killing, RemovesTheGroups) {
  const std::string folder = begin_with(script("true"));
  wait_for_ending(folder);
  wait_for("the supervisor's end", [&] { return !is_alive(last_supervisor); });
  for (const auto& [controller, path] : parent_.folders) {
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      EXPECT_FALSE(entry.is_directory()) << entry.path();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(By, Killing, ::testing::ValuesIn(mechanisms_here()), name_of);

class SupervisorKilled : public Rig {};

TEST_F(SupervisorKilled, TakesTheTaskWithIt) {
  const std::string mark = new_mark();
  const std::string folder = begin(script(escape(mark) + "sleep " + mark));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  wait_for("the tree", [&] { return processes_with(mark).size() >= 3; });
  ::kill(last_supervisor, SIGKILL);
  wait_for("the end of the tree", [&] { return processes_with(mark).empty(); });
}

class SupervisorKilledInGroups : public Rig, public ::testing::WithParamInterface<int> {};

TEST_P(SupervisorKilledInGroups, LeavesThemToASweep) {
  const CgroupParent parent = prepare_cgroups("cadre-test-" + new_mark());
  ASSERT_EQ(parent.version, GetParam());
  const std::string mark = new_mark();
  Launch launch = script(escape(mark) + "sleep " + mark);
  launch.cgroup = parent;
  Launch other = script("sleep " + mark + "1");
  other.cgroup = parent;
  const std::string folder = begin_in(nursery(IsolationFeatures{}), launch);
  ASSERT_TRUE(FakeAgent(folder).running());
  wait_for("the tree", [&] { return processes_with(mark).size() >= 3; });
  ::kill(last_supervisor, SIGKILL);
  const std::string kept = begin_in(nursery(IsolationFeatures{}), other);
  FakeAgent agent(kept);
  ASSERT_TRUE(agent.running());
  wait_for("the end of the leading process", [&] { return processes_with(mark).size() >= 3; });
  sweep_cgroups(parent, {other.lease});
  wait_for("the end of the tree", [&] { return processes_with(mark).size() == processes_with(mark + "1").size(); });
  EXPECT_FALSE(processes_with(mark + "1").empty());
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  wait_for_ending(kept);
  wait_for("the supervisor's end", [&] { return !is_alive(last_supervisor); });
  remove_cgroups(parent);
  for (const auto& [controller, path] : parent.folders) EXPECT_FALSE(std::filesystem::exists(path)) << path;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(SupervisorKilledInGroups);
INSTANTIATE_TEST_SUITE_P(Version, SupervisorKilledInGroups, ::testing::ValuesIn(live_cgroups()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace cadre::supervisor
