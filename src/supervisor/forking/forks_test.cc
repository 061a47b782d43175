// A supervisor whose task is to be forked from a template that does not do so, whatever the template does instead. What
// a template that works makes is tested with actors (tests/remote/forks_test.py).
#include <gmock/gmock.h>
#include <unistd.h>

#include "describe/describe.h"
#include "supervisor/forking/fork_talk.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::lease::Reason;
using testing::HasSubstr;

class Forking : public Rig {
 protected:
  ~Forking() override {
    template_.reset();  // it ends without an agent
    end_all();
  }

  /// Gets `line`, a socket to the sender of a request for a process, and does this with it. Gives its folder.
  std::string begin_template(const std::string& with_line) {
    Launch launch = program({"/usr/bin/python3", "-c",
                             "import os, socket, time\n"
                             "own = socket.socket(fileno=int(os.environ['CADRE_FORKS']))\n"
                             "own.send(b'ready')\n"
                             "while True:\n"
                             "    data, lines, flags, who = socket.recv_fds(own, 16, 1)\n"
                             "    if not data: break\n"
                             "    line = socket.socket(fileno=lines[0])\n"
                             "    " +
                                 with_line + "\n"});
    launch.waited_as = launch.lease;
    launch.abandon_after = Duration{0};
    launch.is_template = true;
    template_ = std::make_unique<FakeAgent>(begin_with_agent(launch));
    EXPECT_TRUE(template_->status([](const Status& status) { return status.ready; }));
    return last_folder;
  }
  Launch forked_from(const std::string& folder) const {
    Launch launch = script("echo started");
    launch.forked_from = folder;
    return launch;
  }
  /// In Python, sends this to the sender of the request.
  static std::string say_running() {
    std::string word;
    for (const std::byte byte : describe::write_msgpack(fork_talk::FromForked(fork_talk::Running{}))) {
      word += std::to_string(std::to_integer<int>(byte)) + ",";
    }
    return "line.send(bytes([" + word + "]))";
  }
  /// Why it was not forked; it ran all the same.
  std::string refusal(const std::string& folder) {
    FakeAgent agent = begin_with_agent(forked_from(folder));
    const auto said = agent.next<NotForked>();
    EXPECT_TRUE(said);
    if (!said) return "";
    EXPECT_EQ(said->from, folder);
    const cluster::TaskEnding ending = wait_for_ending(last_folder);
    EXPECT_EQ(ending.reason, Reason::exited);
    EXPECT_EQ(ending.code, 0);
    EXPECT_EQ(output(last_folder), "started\n");
    return said->why;
  }

  std::unique_ptr<FakeAgent> template_;
};

TEST_F(Forking, WithoutATemplateTheProgramIsStarted) {
  EXPECT_THAT(refusal(root + "/nowhere"), HasSubstr("the template has ended"));
  EXPECT_THAT(refusal(root), HasSubstr("the template accepts no connections"));
}

TEST_F(Forking, ATemplateThatHangsUpIsNotWaitedFor) {
  EXPECT_THAT(refusal(begin_template("line.close()")), HasSubstr("the template has ended"));
}

TEST_F(Forking, ATemplateThatDiesIsNotWaitedFor) {
  EXPECT_THAT(refusal(begin_template("os.kill(os.getpid(), 9)")), HasSubstr("the template has ended"));
}

TEST_F(Forking, NonsenseOfATemplateIsIgnored) {
  const std::string folder =
      begin_template("[line.send(os.urandom(1 + i)) for i in range(300)]; line.send(b''); line.close()");
  EXPECT_THAT(refusal(folder), HasSubstr("the template has ended"));
}

TEST_F(Forking, AProcessThatHasEndedIsNotMistakenForTheTask) {
  if (::geteuid() != 0) return;  // all that it starts is in namespaces, and may be gone too late
  const std::string folder = begin_template("os.fork() or (" + say_running() + ", os._exit(0)); os.wait()");
  EXPECT_THAT(refusal(folder), HasSubstr("its forked process"));
}

TEST_F(Forking, AProcessOutsideOfNamespacesIsNotTakenForTheTask) {
  if (::geteuid() != 0) return;  // all that it starts is in namespaces
  const std::string folder = begin_template("os.fork() or (" + say_running() + ", time.sleep(1000))");
  EXPECT_THAT(refusal(folder), HasSubstr("its forked processes are not in their own namespaces"));
}

TEST_F(Forking, ATemplateIsKeptWhileItIsNeeded) {
  const std::string folder = begin_template("print('asked', flush=True); time.sleep(1000)");
  FakeAgent agent = begin_with_agent(forked_from(folder));
  const std::string task = last_folder;
  ASSERT_TRUE(template_->status([](const Status& status) { return status.output_end > 0; }));
  template_->send(Stop{Reason::killed_by_user, Duration{0}});
  const auto still_there = template_->status([](const Status& status) { return status.stopping; });
  ASSERT_TRUE(still_there);
  EXPECT_FALSE(still_there->ending);
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  EXPECT_EQ(wait_for_ending(task).reason, Reason::signalled) << "although nobody answers";
  EXPECT_EQ(wait_for_ending(folder).reason, Reason::signalled);
}

}  // namespace
}  // namespace cadre::supervisor
