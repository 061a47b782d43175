// Input and terminals of tasks, and of commands that run inside them.
#include <gmock/gmock.h>

#include <csignal>

#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::Isolation;
using cluster::Terminal;
using testing::HasSubstr;

ExecInput piece(std::uint64_t number, std::int64_t offset, std::string_view text) {
  ExecInput input;
  input.number = number;
  input.offset = offset;
  input.bytes.assign(as_bytes(text).begin(), as_bytes(text).end());
  return input;
}

ExecInput end_of(std::uint64_t number, std::int64_t offset) {
  ExecInput input = piece(number, offset, "");
  input.end = true;
  return input;
}

class Interactive : public Rig, public ::testing::WithParamInterface<Isolation> {
 protected:
  Interactive() { isolation = GetParam(); }

  static Exec shell(std::uint64_t number, const std::string& text) {
    Exec exec{number, {"/bin/sh", "-c", text}};
    exec.input = true;
    return exec;
  }
  /// Sends all of it, again and again what was not taken.
  void send_all(FakeAgent& agent, std::uint64_t number, const std::string& text) {
    std::int64_t taken = 0;
    const auto whole = static_cast<std::int64_t>(text.size());
    while (taken < whole) {
      const auto rest = std::string_view(text).substr(static_cast<std::size_t>(taken), input_piece_max);
      ASSERT_TRUE(agent.send(piece(number, taken, rest)));
      const std::int64_t now = taken_by(agent, number);
      ASSERT_GE(now, taken);
      taken = now;
    }
  }
  /// Keeps what the command writes meanwhile.
  std::int64_t taken_by(FakeAgent& agent, std::uint64_t number) {
    while (auto message = agent.peer().receive<FromSupervisor>()) {
      keep(*message);
      const auto* taken = std::get_if<ExecTaken>(&*message);
      if (taken != nullptr && taken->number == number) {
        EXPECT_EQ(taken->error, "");
        return taken->offset;
      }
    }
    return -1;
  }
  void keep(const FromSupervisor& message) {
    if (const auto* output = std::get_if<ExecOutput>(&message)) written += as_text(output->bytes);
    if (const auto* over = std::get_if<ExecEnded>(&message)) ended = *over;
  }
  /// Reads on until the command has ended, or has written that.
  void read_until(FakeAgent& agent, const std::string& text = "") {
    while (!ended && (text.empty() || written.find(text) == std::string::npos)) {
      const auto message = agent.peer().receive<FromSupervisor>();
      ASSERT_TRUE(message);
      keep(*message);
    }
  }

  std::string written;
  std::optional<ExecEnded> ended;
};

TEST_P(Interactive, InputReachesACommandWholeAndOnce) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  std::string all;
  for (int i = 0; all.size() < 300'000; ++i) all += std::to_string(i) + "\n";
  agent.send(shell(1, "sleep 0.3; cat"));
  send_all(agent, 1, all);
  agent.send(piece(1, 0, "sent again"));
  EXPECT_EQ(taken_by(agent, 1), static_cast<std::int64_t>(all.size())) << "it was taken already";
  agent.send(end_of(1, static_cast<std::int64_t>(all.size())));
  read_until(agent);
  EXPECT_EQ(ended->code, 0);
  EXPECT_EQ(written, all);
}

TEST_P(Interactive, UnreadInputIsBounded) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(shell(1, "sleep 1000"));
  std::int64_t taken = 0;
  for (int i = 0; i < 100; ++i) {
    agent.send(piece(1, taken, std::string(input_piece_max, 'x')));
    taken = taken_by(agent, 1);
  }
  EXPECT_LE(taken, static_cast<std::int64_t>(input_kept_max + 65'536)) << "what is kept, and what a pipe holds";
  EXPECT_GT(taken, 0);
}

TEST_P(Interactive, InputForACommandThatReadsNoneIsDropped) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(shell(1, "exec <&-; echo closed; sleep 1000"));
  read_until(agent, "closed");
  send_all(agent, 1, std::string(500'000, 'x'));
  agent.send(ExecCancel{1});
  read_until(agent);
}

TEST_P(Interactive, WithoutInputACommandSeesTheEndAtOnce) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(Exec{1, {"cat"}});
  read_until(agent);
  EXPECT_EQ(ended->code, 0);
  agent.send(piece(1, 0, "x"));
  EXPECT_EQ(agent.next<ExecTaken>()->error, "the command has ended");
  agent.send(piece(0, 0, "x"));
  EXPECT_EQ(agent.next<ExecTaken>()->error, "the task accepts no input; start it with -i");
}

TEST_P(Interactive, OutputWaitsUntilItIsSeen) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  Exec exec = shell(1, "head -c 1000000 /dev/zero; echo done");
  exec.window = 100'000;
  agent.send(exec);
  std::size_t most = 0;
  std::size_t last_seen = 0;
  while (!ended) {
    // A status comes every second, whatever happens: after it nothing more is under way.
    const auto message = agent.peer().receive<FromSupervisor>();
    ASSERT_TRUE(message);
    const std::size_t before = written.size();
    keep(*message);
    EXPECT_FALSE(std::holds_alternative<ExecTaken>(*message)) << "an acknowledgement is not answered";
    most = std::max(most, written.size() - before);
    if (!std::holds_alternative<Status>(*message)) continue;
    ExecInput seen = piece(1, 0, "");
    seen.seen = static_cast<std::int64_t>(written.size());
    EXPECT_LE(written.size() - last_seen, 100'000U + 32'768U) << "the window and one piece";
    last_seen = written.size();
    agent.send(seen);
  }
  EXPECT_EQ(written.size(), 1'000'005U);
  EXPECT_LE(most, 32'768U);
}

TEST_P(Interactive, ACommandGetsATerminalThatResizes) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  Exec exec = shell(1,
                    "trap 'stty size; exit 7' WINCH; test -t 0 && test -t 1 && test -t 2 && echo $TERM; stty size; "
                    "while :; do sleep 0.1; done");
  exec.terminal = Terminal{33, 77, "xterm-256color"};
  agent.send(exec);
  read_until(agent, "33 77\r\n");
  EXPECT_THAT(written, HasSubstr("xterm-256color\r\n"));
  ExecInput resized = piece(1, 0, "");
  resized.terminal = Terminal{44, 99, "xterm"};
  agent.send(resized);
  read_until(agent);
  EXPECT_THAT(written, HasSubstr("44 99\r\n"));
  EXPECT_EQ(ended->code, 7);
}

TEST_P(Interactive, KeysOnATerminalAreSignals) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  Exec exec = shell(1, "echo ready; exec cat");
  exec.terminal = Terminal{};
  agent.send(exec);
  read_until(agent, "ready");
  agent.send(piece(1, 0, "hello\n"));
  read_until(agent, "hello\r\nhello\r\n");  // its echo, and what cat writes
  agent.send(piece(1, 6, "\3"));
  read_until(agent);
  EXPECT_EQ(ended->code, 128 + SIGINT);
}

TEST_P(Interactive, TheEndOfInputIsTypedOnATerminal) {
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  Exec exec = shell(1, "echo ready; cat; echo after");
  exec.terminal = Terminal{};
  agent.send(exec);
  read_until(agent, "ready");
  agent.send(end_of(1, 0));
  read_until(agent);
  EXPECT_THAT(written, HasSubstr("after"));
}

TEST_P(Interactive, ATaskTakesInputAlsoFromASecondAgent) {
  Launch launch = script("read one; echo got $one; read two; echo got $two; cat; echo end");
  launch.command.input = true;
  const std::string folder = begin(launch);
  {
    FakeAgent agent(folder);
    ASSERT_TRUE(agent.running());
    agent.send(piece(0, 0, "first\n"));
    EXPECT_EQ(agent.next<ExecTaken>()->offset, 6);
  }
  wait_for("its answer", [&] { return output(folder) == "got first\n"; });
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  agent.send(piece(0, 0, "first\nsecond\n"));  // as a client does that got no answer
  EXPECT_EQ(agent.next<ExecTaken>()->offset, 13);
  agent.send(end_of(0, 13));
  EXPECT_EQ(wait_for_ending(folder).code, 0);
  EXPECT_EQ(output(folder), "got first\ngot second\nend\n");
}

TEST_P(Interactive, ATaskRunsOnATerminalAndItsPromptsComeAtOnce) {
  Launch launch = script("test -t 0 && stty size; printf 'name? '; read name; echo hello $name");
  launch.command.terminal = Terminal{20, 60, "xterm"};
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  wait_for("the prompt", [&] { return output(folder).find("name? ") != std::string::npos; });
  EXPECT_THAT(output(folder), HasSubstr("20 60"));
  agent.send(piece(0, 0, "ann\n"));
  EXPECT_EQ(wait_for_ending(folder).code, 0);
  EXPECT_THAT(output(folder), HasSubstr("hello ann"));
}

INSTANTIATE_TEST_SUITE_P(Isolation, Interactive, ::testing::Values(Isolation::on, Isolation::off),
                         [](const auto& chosen) { return chosen.param == Isolation::on ? "on" : "off"; });

}  // namespace
}  // namespace cadre::supervisor
