// How a task is stopped, abandoned, and found to be stuck.
#include <csignal>
#include <set>

#include "supervisor/rig.h"
#include "supervisor/termination.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::lease::Reason;
using std::chrono::hours;
using std::chrono::milliseconds;

class Stopping : public Rig {
 protected:
  static bool has_ended(const Status& status) { return status.ending.has_value(); }
  Peer attach(const std::string& folder) {
    Peer peer = Peer::connect(folder, "task.sock");
    EXPECT_TRUE(peer.send(FromTask(Attach{1, protocol::own()})));
    return peer;
  }
};

TEST_F(Stopping, ATaskWithoutTheLibraryGetsSigtermAtOnce) {
  const std::string folder = begin(script("trap 'echo asked; exit 4' TERM; echo on; while :; do sleep 0.05; done"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.status([](const Status& status) { return status.output_end > 0; }));
  agent.send(Stop{Reason::preempted, hours(1)});
  const auto last = agent.status(has_ended);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->reason, Reason::exited);
  EXPECT_EQ(last->ending->code, 4);
  EXPECT_TRUE(last->stopping);
  EXPECT_EQ(output(folder), "on\nasked\n");
}

TEST_F(Stopping, SigtermGoesToTheLeadingProcessOnly) {
  const std::string folder =
      begin(script("sh -c 'trap \"echo child was asked\" TERM; echo on; while :; do sleep 0.05; done' & trap 'sleep "
                   "0.5; exit 4' TERM;"
                   "while :; do sleep 0.05; done"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.status([](const Status& status) { return status.output_end > 0; }));
  agent.send(Stop{Reason::preempted, hours(1)});
  ASSERT_TRUE(agent.status(has_ended));
  EXPECT_EQ(output(folder), "on\n");
}

/// A program that needs a moment to end after SIGTERM, in a file, since only a program of its own is started in it.
std::string patient(const std::string& name) {
  return "printf '%s\\n' 'trap \"sleep 0.5; echo " + name + " saved; exit 5\" TERM; echo on; while :; do sleep 0.05; " +
         "done' >" + name + "\n";
}

TEST_F(Stopping, SigtermReachesAProgramBehindAShell) {
  for (const std::string command :
       {"sh program; code=$?; echo shell goes on; exit $code",  // and waits for it
        "sh -c 'sh program; exit $?'; exit $?", "sh program & wait; exit 5", "sh program | cat; exit 5"}) {
    const std::string folder = begin(script(patient("program") + command));
    FakeAgent agent(folder);
    ASSERT_TRUE(agent.status([](const Status& status) { return status.output_end > 0; }));
    agent.send(Stop{Reason::preempted, hours(1)});
    const auto last = agent.status(has_ended);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->ending->reason, Reason::exited) << command;
    EXPECT_EQ(last->ending->code, 5) << command;
    EXPECT_TRUE(output(folder).starts_with("on\nprogram saved\n")) << command << ": " << output(folder);
  }
}

TEST_F(Stopping, AShellGetsSigtermWhenNothingBehindItExpectsIt) {
  for (const std::string after : {"sleep 1000", "while :; do sleep 1; done"}) {
    const std::string folder = begin(script(patient("program") + "sh program; " + after));
    FakeAgent agent(folder);
    ASSERT_TRUE(agent.status([](const Status& status) { return status.output_end > 0; }));
    agent.send(Stop{Reason::preempted, hours(1)});
    const auto last = agent.status(has_ended);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->ending->code, SIGTERM) << "it does not run on until the end of the grace period";
    EXPECT_EQ(output(folder), "on\nprogram saved\n");
  }
}

TEST(Termination, FindsTheTopmostProcesses) {
  const auto process = [](pid_t pid, pid_t parent) {
    Process one;
    one.pid = pid;
    one.parent = parent;
    return one;
  };
  const std::vector<Process> tree{process(1, 0), process(2, 1), process(3, 1), process(4, 2),
                                  process(5, 4), process(6, 3), process(7, 6)};
  const auto pids = [&](const std::set<pid_t>& holding) {
    std::vector<pid_t> found;
    for (const Process& one : topmost(tree, [&](const Process& each) { return holding.contains(each.pid); })) {
      found.push_back(one.pid);
    }
    return found;
  };
  EXPECT_EQ(pids({1, 2, 7}), std::vector<pid_t>{1});
  EXPECT_EQ(pids({2, 5, 7}), (std::vector<pid_t>{2, 7}));
  EXPECT_EQ(pids({}), std::vector<pid_t>{});
}

TEST_F(Stopping, KillsATaskThatIgnoresTheRequestAfterItsGracePeriod) {
  const std::string folder = begin(script("trap '' TERM; echo on; while :; do sleep 0.05; done"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.status([](const Status& status) { return status.output_end > 0; }));
  agent.send(Stop{Reason::killed_by_user, milliseconds(300)});
  const auto last = agent.status(has_ended);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->reason, Reason::signalled);
  EXPECT_EQ(last->ending->code, SIGKILL);
  EXPECT_EQ(last->ending->detail, "killed after a grace period of 0.3 s");
}

TEST_F(Stopping, AnAttachedTaskGetsARequestAndNoSignal) {
  const std::string folder =
      begin(script("trap 'echo signalled' TERM; while [ ! -e go ]; do sleep 0.05; done; exit 6"));
  FakeAgent agent(folder);
  Peer process = attach(folder);
  ASSERT_TRUE(agent.status([](const Status& status) { return status.attached; }));
  agent.send(Stop{Reason::preempted, hours(1)});
  const auto notice = process.receive<ToTask>();
  ASSERT_TRUE(notice);
  EXPECT_EQ(std::get<StopNotice>(*notice).why, Reason::preempted);
  EXPECT_GT(std::get<StopNotice>(*notice).grace, milliseconds(1));
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  ASSERT_TRUE(std::get<StopNotice>(*notice).at);
  EXPECT_LE(*std::get<StopNotice>(*notice).at, now);
  EXPECT_GT(*std::get<StopNotice>(*notice).at, now - hours(1));
  Peer late = attach(folder);
  EXPECT_TRUE(late.receive<ToTask>()) << "who attaches later is told, too";
  EXPECT_TRUE(write_whole(folder + "/work/go", {}));
  const auto last = agent.status(has_ended);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->code, 6);
  EXPECT_EQ(output(folder), "");
}

TEST_F(Stopping, ATaskThatDetachedGetsSigterm) {
  const std::string folder = begin(script("trap 'exit 4' TERM; while :; do sleep 0.05; done"));
  FakeAgent agent(folder);
  attach(folder).close();
  ASSERT_TRUE(agent.status([](const Status& status) { return status.attached && status.pid != 0; }));
  agent.send(Stop{Reason::preempted, hours(1)});
  const auto last = agent.status(has_ended);
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->ending->code == 4 || last->ending->code == SIGTERM);
}

TEST_F(Stopping, ASecondRequestCanOnlyShortenTheGrace) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  Peer process = attach(folder);
  ASSERT_TRUE(agent.status([](const Status& status) { return status.attached; }));
  agent.send(Stop{Reason::preempted, hours(1)});
  agent.send(Stop{Reason::killed_by_user, hours(2)});
  agent.send(Stop{Reason::killed_by_user, milliseconds(10)});
  EXPECT_EQ(std::get<StopNotice>(*process.receive<ToTask>()).why, Reason::preempted);
  EXPECT_EQ(std::get<StopNotice>(*process.receive<ToTask>()).why, Reason::killed_by_user);
  const auto last = agent.status(has_ended);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->code, SIGKILL);
}

TEST_F(Stopping, RecordsTasksThatTheAgentGaveUpAsLost) {
  for (const Duration grace : {Duration{0}, Duration{hours(1)}}) {
    const std::string folder = begin(script("sleep 1000"));
    FakeAgent agent(folder);
    ASSERT_TRUE(agent.running());
    agent.send(Stop{Reason::agent_lost, grace});
    EXPECT_EQ(wait_for_ending(folder).reason, Reason::agent_lost);
  }
  const std::string folder = begin(script("trap 'exit 0' TERM; sleep 1000 & wait"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(Stop{Reason::agent_lost, hours(1)});
  EXPECT_EQ(wait_for_ending(folder).reason, Reason::agent_lost);
}

TEST_F(Stopping, WithoutAnAgentFromTheStartItEnds) {
  Launch launch = script("sleep 1000");
  launch.abandon_after = milliseconds(200);
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::agent_lost);
  EXPECT_EQ(ending.detail, "killed by its supervisor: no agent was connected for 0.2 s");
}

TEST_F(Stopping, WhenItsAgentDoesNotComeBackItEnds) {
  Launch launch = script("sleep 1000");
  launch.abandon_after = std::chrono::seconds(3);
  const std::string folder = begin(launch);
  {
    FakeAgent agent(folder);
    ASSERT_TRUE(agent.running());
  }
  EXPECT_EQ(wait_for_ending(folder).reason, Reason::agent_lost);
}

TEST_F(Stopping, SilenceAfterABeatIsNoticed) {
  Launch launch = script("sleep 1000");
  launch.policy.liveness = milliseconds(200);
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  Peer process = attach(folder);
  ASSERT_TRUE(agent.status([](const Status& status) { return status.attached; }));
  process.send(FromTask(Beat{}));
  const auto last = agent.status(has_ended);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->ending->reason, Reason::unresponsive);
  EXPECT_EQ(last->ending->detail, "killed after it sent no heartbeat for 0.2 s");
}

TEST_F(Stopping, SilenceWithoutAPromiseIsNoFault) {
  Launch launch = script("sleep 1; exit 3");
  launch.policy.liveness = milliseconds(50);
  const std::string folder = begin(launch);
  Peer process = attach(folder);
  EXPECT_EQ(wait_for_ending(folder).code, 3);
}

}  // namespace
}  // namespace cadre::supervisor
