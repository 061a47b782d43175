// Commands that are run inside a running task.
#include <csignal>

#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::Isolation;
using cluster::lease::Reason;

struct Outcome {
  std::string out;
  std::string err;
  std::optional<ExecEnded> ended;
  std::size_t largest = 0;
};

Outcome follow(FakeAgent& agent, std::uint64_t number) {
  Outcome outcome;
  while (auto message = agent.peer().receive<FromSupervisor>()) {
    if (const auto* piece = std::get_if<ExecOutput>(&*message); piece != nullptr && piece->number == number) {
      (piece->stream == 1 ? outcome.out : outcome.err) += as_text(piece->bytes);
      outcome.largest = std::max(outcome.largest, piece->bytes.size());
    }
    if (const auto* ended = std::get_if<ExecEnded>(&*message); ended != nullptr && ended->number == number) {
      outcome.ended = *ended;
      return outcome;
    }
  }
  return outcome;
}

class Execution : public Rig, public ::testing::WithParamInterface<Isolation> {
 protected:
  Execution() { isolation = GetParam(); }
  static Exec shell(std::uint64_t number, const std::string& text) { return {number, {"/bin/sh", "-c", text}}; }
};

TEST_P(Execution, SeesWhatTheTaskSees) {
  Launch launch = script("echo $$ > $TMPDIR/leader; echo of the task > \"$TMPDIR/note\"; sleep 1000");
  launch.command.variables = {{"MINE", "1"}};
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  wait_for("the note", [&] { return read_file(folder + "/tmp/note").value_or("") == "of the task\n"; });
  agent.send(
      shell(1, "pwd; cat $TMPDIR/note; echo $MINE; kill -0 $(cat $TMPDIR/leader) && echo met; echo bad >&2; exit 5"));
  const Outcome outcome = follow(agent, 1);
  ASSERT_TRUE(outcome.ended);
  EXPECT_EQ(outcome.out, folder + "/work\nof the task\n1\nmet\n");
  EXPECT_EQ(outcome.err, "bad\n");
  EXPECT_EQ(outcome.ended->code, 5);
  EXPECT_EQ(output(folder), "") << "it is not the task's output";
}

TEST_P(Execution, MuchOutputComesInPiecesAndAsFastAsItIsRead) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(shell(7, "head -c 8000000 /dev/zero"));
  wait_for("the pipe to be full", [&, looks = 0]() mutable { return ++looks > 40; });
  EXPECT_LT(memory_of(last_supervisor), ByteSize{64 << 20});
  const Outcome outcome = follow(agent, 7);
  EXPECT_EQ(outcome.out.size(), 8'000'000U);
  EXPECT_LE(outcome.largest, 32'768U);
  EXPECT_EQ(outcome.ended->code, 0);
}

TEST_P(Execution, ReportsFailures) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(Exec{1, {"no-such-program"}});
  const Outcome missing = follow(agent, 1);
  EXPECT_EQ(missing.ended->code, 127);
  EXPECT_EQ(missing.ended->error,
            "cannot run 'no-such-program': No such file or directory; check that it is installed on this agent");
  agent.send(shell(2, "kill -TERM $$"));
  EXPECT_EQ(follow(agent, 2).ended->code, 128 + SIGTERM);
}

TEST_P(Execution, ItsEndIsNotDelayedByItsChildren) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(shell(1, "echo hello; sleep 1000 & exit 0"));
  const Outcome outcome = follow(agent, 1);
  EXPECT_EQ(outcome.out, "hello\n");
  EXPECT_EQ(outcome.ended->code, 0);
}

TEST_P(Execution, CanBeCancelledAndDiesWithTheConnection) {
  const std::string mark = new_mark();
  const std::string folder = begin(script("sleep 1000"));
  {
    FakeAgent agent(folder);
    ASSERT_TRUE(agent.running());
    agent.send(shell(1, "sleep " + mark));
    wait_for("the command", [&] { return processes_with(mark).size() >= 1; });
    agent.send(ExecCancel{1});
    EXPECT_EQ(follow(agent, 1).ended->code, 128 + SIGKILL);
    agent.send(shell(2, "sleep " + mark));
    wait_for("the command", [&] { return processes_with(mark).size() >= 1; });
  }
  wait_for("its end", [&] { return processes_with(mark).empty(); });
  FakeAgent agent(folder);
  EXPECT_TRUE(agent.running()->pid > 0) << "the task itself goes on";
}

TEST_P(Execution, IsBounded) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  for (std::uint64_t i = 1; i <= 17; ++i) agent.send(shell(i, "sleep 1000"));
  EXPECT_EQ(follow(agent, 17).ended->error, "too many commands run in this task; wait until one has ended");
  agent.send(shell(1, "true"));
  EXPECT_EQ(follow(agent, 1).ended->error, "a command with this number already runs");
}

TEST_P(Execution, EndsWithTheTask) {
  const std::string mark = new_mark();
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(shell(1, "sleep " + mark));
  wait_for("the command", [&] { return processes_with(mark).size() >= 1; });
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  EXPECT_EQ(follow(agent, 1).ended->code, 128 + SIGKILL);
  EXPECT_TRUE(agent.status([](const Status& status) { return status.ending.has_value(); }));
  EXPECT_TRUE(processes_with(mark).empty());
}

INSTANTIATE_TEST_SUITE_P(Isolation, Execution, ::testing::Values(Isolation::on, Isolation::off),
                         [](const auto& chosen) { return chosen.param == Isolation::on ? "on" : "off"; });

}  // namespace
}  // namespace cadre::supervisor
