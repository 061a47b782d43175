// Processes that wait for a task, and what they are when there is one.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::Isolation;
using cluster::lease::Reason;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::Contains;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;

class Adoption : public Rig {
 protected:
  ~Adoption() override {
    end_all();
    remove_cgroups(groups_);
  }

  /// Waits until the test says go, and then is this.
  Launch waiting(const std::string& then) const {
    Launch launch = program({"/usr/bin/python3", "-c",
                             "import os, sys, time\nprint('up', flush=True)\n"
                             "while not os.path.exists('go'): time.sleep(0.01)\n" +
                                 then});
    launch.waited_as = launch.lease;
    launch.abandon_after = Duration{0};
    launch.variables = {{"CADRE_WARM", "1"}};
    launch.cgroup = groups_;
    return launch;
  }
  /// Of a task that such a process can be.
  Launch task_of(const Launch& waiting) const {
    Launch launch = program(waiting.command.argv);
    launch.cgroup = groups_;
    launch.variables = {{"CADRE_TASK", "17.0"}};
    return launch;
  }
  /// Plays the library in a process that is ready.
  Peer get_ready(FakeAgent& agent) const {
    Peer process = Peer::connect(last_folder, "task.sock");
    EXPECT_TRUE(process.send(FromTask(Attach{1, protocol::own()})));
    EXPECT_TRUE(process.send(FromTask(Ready{})));
    EXPECT_TRUE(agent.status([](const Status& status) { return status.ready && status.output_end > 0; }));
    return process;
  }
  static std::map<std::string, std::string> begin_of(Peer& process) {
    const auto message = process.receive<ToTask>();
    const Begin* begin = message ? std::get_if<Begin>(&*message) : nullptr;
    EXPECT_NE(begin, nullptr);
    return begin == nullptr ? std::map<std::string, std::string>{} : begin->variables;
  }
  /// Lets it be the task.
  void adopt(FakeAgent& agent, const Launch& task) const {
    Peer process = get_ready(agent);
    agent.send(Adopt{task});
    EXPECT_TRUE(agent.next<Adopted>());
    begin_of(process);
    go();
  }
  void go() const { EXPECT_TRUE(write_whole(last_folder + "/work/go", {})); }
  Launch launch_in_folder() const {
    return describe::read_msgpack<Launch>(as_bytes(read_file(last_folder + "/launch").value())).value();
  }

  CgroupParent groups_;
};

TEST_F(Adoption, ReceivesTheTaskAndRunsAsItFromThenOn) {
  const Launch launch = waiting("print('task'); sys.exit(7)");
  FakeAgent agent = begin_with_agent(launch);
  Launch task = task_of(launch);
  task.command.variables = {{"MINE", "1"}};
  Peer process = get_ready(agent);
  EXPECT_TRUE(launch_in_folder().waits());
  agent.send(Adopt{task});
  const auto variables = begin_of(process);
  EXPECT_THAT(variables, Contains(Pair("CADRE_TASK", "17.0")));
  EXPECT_THAT(variables, Contains(Pair("MINE", "1")));
  EXPECT_THAT(variables, Not(Contains(Key("PATH")))) << "it has that already";
  ASSERT_TRUE(agent.next<Adopted>());
  EXPECT_EQ(launch_in_folder().lease, task.lease);
  EXPECT_EQ(launch_in_folder().home(), launch.lease);
  const auto status = agent.running();
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->ready);
  go();
  const auto last = agent.status([](const Status& seen) { return seen.ending.has_value(); });
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->reason, Reason::exited);
  EXPECT_EQ(last->ending->code, 7);
  EXPECT_EQ(output(last_folder), "up\ntask\n");
  EXPECT_EQ(wait_for_ending(last_folder).code, 7);
}

TEST_F(Adoption, OthersInTheTaskHaveItsVariables) {
  const Launch launch = waiting("time.sleep(1000)");
  FakeAgent agent = begin_with_agent(launch);
  adopt(agent, task_of(launch));
  agent.send(Exec{1, {"/bin/sh", "-c", "test -S $CADRE_SOCKET && echo $CADRE_TASK $CADRE_WARM $(ls)"}});
  const auto said = agent.next<ExecOutput>();
  ASSERT_TRUE(said);
  EXPECT_EQ(as_text(said->bytes), "17.0 go\n");
}

TEST_F(Adoption, RefusesALateProcessAtOnce) {
  const Launch launch = waiting("time.sleep(1000)");
  FakeAgent agent = begin_with_agent(launch);
  adopt(agent, task_of(launch));
  Peer late = Peer::connect(last_folder, "task.sock");
  late.send(FromTask(Ready{}));
  EXPECT_THAT(begin_of(late), Contains(Pair("CADRE_TASK", "17.0")));
}

TEST_F(Adoption, InATaskThatNeverWaitedThereIsNothingToTell) {
  FakeAgent agent(begin(script("sleep 1000")));
  Peer process = Peer::connect(last_folder, "task.sock");
  process.send(FromTask(Ready{}));
  EXPECT_TRUE(begin_of(process).empty());
  agent.send(Adopt{script("true")});
  agent.send(Exec{1, {"true"}});
  EXPECT_TRUE(agent.next<ExecEnded>()) << "it goes on";
}

TEST_F(Adoption, WithoutItsAgentItEndsAtOnce) {
  const std::string mark = new_mark();
  Launch launch = waiting("");
  launch.command.argv.push_back(mark);
  {
    FakeAgent agent = begin_with_agent(launch);
    get_ready(agent);
    EXPECT_EQ(processes_with(mark).size(), 1U);
  }
  EXPECT_EQ(wait_for_ending(last_folder).reason, Reason::agent_lost);
  EXPECT_TRUE(processes_with(mark).empty());
}

TEST_F(Adoption, AfterItATaskGoesOnWithoutItsAgent) {
  const Launch launch = waiting("time.sleep(1000)");
  {
    FakeAgent agent = begin_with_agent(launch);
    adopt(agent, task_of(launch));
  }
  FakeAgent next(last_folder);
  EXPECT_TRUE(next.running());
  next.send(Stop{Reason::killed_by_user, Duration{0}});
  EXPECT_EQ(wait_for_ending(last_folder).reason, Reason::signalled);
}

TEST_F(Adoption, AnAgentThatDiesOverItLeavesATaskBehind) {
  const Launch launch = waiting("sys.exit(5)");
  {
    FakeAgent agent = begin_with_agent(launch);
    Peer process = get_ready(agent);
    agent.send(Adopt{task_of(launch)});
    agent.peer().close();
    begin_of(process);
  }
  go();
  EXPECT_EQ(wait_for_ending(last_folder).code, 5);
  EXPECT_FALSE(launch_in_folder().waits());
}

TEST_F(Adoption, RefusesAProcessThatIsNotReady) {
  const Launch launch = waiting("");
  FakeAgent agent = begin_with_agent(launch);
  ASSERT_TRUE(agent.running());
  agent.send(Adopt{task_of(launch)});
  EXPECT_FALSE(agent.next<Adopted>()) << "and the connection ends";
  EXPECT_TRUE(launch_in_folder().waits());
}

TEST_F(Adoption, RefusesAReadyProcessThatDisconnected) {
  const Launch launch = waiting("");
  FakeAgent agent = begin_with_agent(launch);
  get_ready(agent).close();
  ASSERT_TRUE(agent.status([](const Status& status) { return !status.ready; }));
  agent.send(Adopt{task_of(launch)});
  EXPECT_FALSE(agent.next<Adopted>());
}

TEST_F(Adoption, ItIsStoppedAsATaskIs) {
  const Launch launch = waiting("time.sleep(1000)");
  FakeAgent agent = begin_with_agent(launch);
  Peer process = get_ready(agent);
  agent.send(Adopt{task_of(launch)});
  agent.send(Stop{Reason::preempted, hours(1)});
  begin_of(process);
  const auto notice = process.receive<ToTask>();
  ASSERT_TRUE(notice);
  EXPECT_EQ(std::get<StopNotice>(*notice).why, Reason::preempted);
}

TEST_F(Adoption, ItIsWatchedAsATaskIs) {
  const Launch launch = waiting("time.sleep(1000)");
  FakeAgent agent = begin_with_agent(launch);
  Launch task = task_of(launch);
  task.policy.liveness = milliseconds(50);
  Peer process = get_ready(agent);
  agent.send(Adopt{task});
  begin_of(process);
  process.send(FromTask(Beat{}));
  EXPECT_EQ(wait_for_ending(last_folder).reason, Reason::unresponsive);
}

TEST_F(Adoption, ItRunsNoLongerThanPermitted) {
  const Launch launch = waiting("time.sleep(1000)");
  FakeAgent agent = begin_with_agent(launch);
  Launch task = task_of(launch);
  task.permit_until = Duration{1};  // long ago
  adopt(agent, task);
  EXPECT_EQ(wait_for_ending(last_folder).reason, Reason::agent_lost);
}

TEST_F(Adoption, DeliversReportsMadeBeforeTheAdoption) {
  const Launch launch = waiting("time.sleep(1000)");
  FakeAgent agent = begin_with_agent(launch);
  Peer process = get_ready(agent);
  process.send(FromTask(Report{1, "early"}));
  process.send(FromTask(Ready{}));
  agent.send(Adopt{task_of(launch)});
  ASSERT_TRUE(agent.next<Adopted>());
  const auto report = agent.next<Report>();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->body, "early");
}

TEST_F(Adoption, ItsSpoolIsThatOfTheTask) {
  Launch launch = waiting("for i in range(3000): print('x' * 99)");
  launch.limits.spool = ByteSize{65'536};
  launch.limits.spool_full = cluster::SpoolFull::drop_oldest;
  FakeAgent agent = begin_with_agent(launch);
  adopt(agent, task_of(launch));
  wait_for_ending(last_folder);
  EXPECT_EQ(output(last_folder).size(), 3 + 3000 * 100U) << "nothing is lost any more";
}

const char* const glutton =
    "x = []\n"
    "for i in range(200): x.append(bytearray(b'1' * (4 << 20))); time.sleep(0.01)\n";

TEST_F(Adoption, MemoryIsWatchedFromThenOn) {
  for (const Isolation chosen : {Isolation::on, Isolation::off}) {
    isolation = chosen;
    const Launch launch = waiting(glutton);
    FakeAgent agent = begin_with_agent(launch);
    Launch task = task_of(launch);
    task.limits.memory = ByteSize{std::int64_t{96} << 20};
    adopt(agent, task);
    EXPECT_EQ(wait_for_ending(last_folder).reason, Reason::out_of_memory);
  }
}

TEST_F(Adoption, ProcessesAreLimitedByTheUserNamespaceFromThenOn) {
  if (!nursery().features().user_namespace) return;  // root is not limited by it; the run as an ordinary user does this
  const Launch launch = waiting(
      "n = 0\n"
      "for i in range(100):\n"
      "    try:\n"
      "        if os.fork() == 0: time.sleep(1000)\n"
      "        n += 1\n"
      "    except OSError: pass\n"
      "print(n, flush=True)\n");
  FakeAgent agent = begin_with_agent(launch);
  Launch task = task_of(launch);
  task.limits.processes = 20;
  adopt(agent, task);
  wait_for_ending(last_folder);
  EXPECT_EQ(output(last_folder), "up\n19\n");
}

/// With the control groups that this host has.
class AdoptionByCgroup : public Adoption, public ::testing::WithParamInterface<int> {
 protected:
  AdoptionByCgroup() { groups_ = prepare_cgroups("cadre-test-" + new_mark()); }
};

TEST_P(AdoptionByCgroup, MemoryIsLimitedFromThenOn) {
  const Launch launch = waiting(glutton);
  FakeAgent agent = begin_with_agent(launch);
  Launch task = task_of(launch);
  task.limits.memory = ByteSize{std::int64_t{96} << 20};
  adopt(agent, task);
  const auto ending = wait_for_ending(last_folder);
  EXPECT_EQ(ending.reason, Reason::out_of_memory);
  EXPECT_EQ(ending.detail, "used 96MiB of 96MiB of memory");
}

TEST_P(AdoptionByCgroup, OneThatIsTooLargeAlreadyIsFound) {
  Launch large = waiting("time.sleep(1000)");
  large.command.argv.back() = "x = bytearray(b'1' * (128 << 20))\n" + large.command.argv.back();
  FakeAgent agent = begin_with_agent(large);
  Launch task = task_of(large);
  task.limits.memory = ByteSize{std::int64_t{32} << 20};
  adopt(agent, task);
  EXPECT_EQ(wait_for_ending(last_folder).reason, Reason::out_of_memory);
}

TEST_P(AdoptionByCgroup, TheOtherLimitsHoldAndNothingIsLeft) {
  const Launch launch = waiting("time.sleep(1000)");
  FakeAgent agent = begin_with_agent(launch);
  Launch task = task_of(launch);
  task.limits.processes = 20;
  task.limits.cpus.milli = 250;
  adopt(agent, task);
  const auto status = agent.running();
  ASSERT_TRUE(status);
  EXPECT_THAT(status->isolation, Contains(HasSubstr("at most 0.25 cpus, at most 20 processes")));
  const std::string group = groups_.folders.at("pids") + "/" + cgroup_name(launch.lease);
  EXPECT_EQ(read_file(group + "/pids.max").value_or(""), "20\n");
  EXPECT_EQ(read_file(group + "/cgroup.procs").value_or(""), std::to_string(status->pid) + "\n");
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  wait_for("the end", [&] { return !is_alive(last_supervisor); });
  for (const auto& [controller, folder] : groups_.folders) {
    EXPECT_NE(::access((folder + "/" + cgroup_name(launch.lease)).c_str(), F_OK), 0) << controller;
    EXPECT_NE(::access((folder + "/" + cgroup_name(task.lease)).c_str(), F_OK), 0) << controller;
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdoptionByCgroup);
INSTANTIATE_TEST_SUITE_P(Version, AdoptionByCgroup, ::testing::ValuesIn(live_cgroups()),
                         ::testing::PrintToStringParamName());

class Tally : public Rig {};

TEST_F(Tally, IsPartOfWhatATaskUses) {
  FakeAgent agent(begin(script("while [ ! -e go ]; do sleep 0.05; done")));
  Peer process = Peer::connect(last_folder, "task.sock");
  process.send(FromTask(Beat{12, 3}));
  Peer other = Peer::connect(last_folder, "task.sock");
  other.send(FromTask(Beat{}));  // one that counts nothing
  EXPECT_TRUE(agent.status([](const Status& status) { return status.usage.calls == 12 && status.usage.errors == 3; }));
  process.send(FromTask(Beat{15, 3}));
  EXPECT_TRUE(agent.status([](const Status& status) { return status.usage.calls == 15; }));
  EXPECT_TRUE(write_whole(last_folder + "/work/go", {}));
  const auto ending = wait_for_ending(last_folder);
  EXPECT_EQ(ending.usage.calls, 15U);
  EXPECT_EQ(ending.usage.errors, 3U);
}

}  // namespace
}  // namespace cadre::supervisor
