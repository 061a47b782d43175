// What strangers, fools and floods can do on the two sockets: nothing, and it is counted.
#include <gmock/gmock.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "base/dice.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::lease::Reason;

class Sockets : public Rig {
 protected:
  static Bytes random_packet(Dice& dice) {
    Bytes packet(static_cast<std::size_t>(dice.between(1, 300)));
    for (std::byte& byte : packet) byte = static_cast<std::byte>(dice.between(0, 255));
    if (dice.percent(30)) {  // something that begins well
      const Bytes good = describe::write_msgpack(FromAgent(Exec{dice.bits(), {"true"}}));
      std::copy_n(good.begin(), std::min(good.size() / 2, packet.size()), packet.begin());
    }
    return packet;
  }
  /// Still does what it is there for.
  void expect_in_service(const std::string& folder, std::int64_t refused) {
    FakeAgent agent(folder);
    const auto status = agent.status([&](const Status& seen) { return seen.refused >= refused && seen.pid != 0; });
    ASSERT_TRUE(status);
    agent.send(Stop{Reason::killed_by_user, Duration{0}});
    EXPECT_EQ(wait_for_ending(folder).code, SIGKILL);
  }
};

TEST_F(Sockets, RandomPacketsAreRefusedAndCountedAndMemoryStaysFlat) {
  const std::string folder = begin(script("sleep 1000"));
  Peer agent = Peer::connect(folder, "agent.sock");
  Peer process = Peer::connect(folder, "task.sock");
  Dice dice(1);
  [[maybe_unused]] std::int64_t half = 0;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(agent.send_raw(random_packet(dice)));
    ASSERT_TRUE(process.send_raw(random_packet(dice)));
    if (i == 5'000) half = memory_of(last_supervisor).value;
  }
#if !defined(__SANITIZE_ADDRESS__)  // which keeps what is freed for a while
  EXPECT_LT(memory_of(last_supervisor).value, half + (1 << 20));
#endif
  agent.close();
  expect_in_service(folder, 20'000);
  EXPECT_NE(read_file(folder + "/supervisor.log").value_or("").find("refused so far: "), std::string::npos);
}

TEST_F(Sockets, AProcessOfAnotherUserIsNotTakenForTheAgent) {
  if (::geteuid() != 0) return;  // becoming another user needs root, as which this runs once more: tools/run_tests
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  ASSERT_TRUE(agent.running());
  for (const std::string& path : {root, folder}) {
    std::filesystem::permissions(path, std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
  }
  std::filesystem::permissions(folder + "/agent.sock", std::filesystem::perms::all);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    sockaddr_un address{AF_UNIX, "agent.sock"};
    Peer peer(Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)));
    const bool is_other = ::chdir(folder.c_str()) == 0 && ::setgroups(0, nullptr) == 0 &&
                          ::setresgid(65'534, 65'534, 65'534) == 0 && ::setresuid(65'534, 65'534, 65'534) == 0;
    if (!is_other) ::_exit(1);
    if (::connect(peer.fd(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) ::_exit(2);
    peer.send(FromAgent(Stop{Reason::killed_by_user, Duration{0}}));
    ::_exit(peer.receive_raw() ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(stranger, &status, 0), stranger);
  EXPECT_EQ(status, 0) << "it was connected, and closed without a word";
  const auto now = agent.status([](const Status& seen) { return seen.refused > 0; });
  ASSERT_TRUE(now) << "the agent is still connected";
  EXPECT_FALSE(now->stopping);
}

TEST_F(Sockets, PacketsThatAreTooLongAreRefused) {
  const std::string folder = begin(script("sleep 1000"));
  Peer agent = Peer::connect(folder, "agent.sock");
  Peer process = Peer::connect(folder, "task.sock");
  const Bytes packet(packet_bytes_max + 1, std::byte{0});
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(agent.send_raw(packet));
    ASSERT_TRUE(process.send_raw(packet));
  }
  agent.close();
  expect_in_service(folder, 20);
}

TEST_F(Sockets, AClientLibraryOfAnotherProtocolIsRefusedInWords) {
  const std::string folder = begin(script("sleep 1000"));
  Peer process = Peer::connect(folder, "task.sock");
  ASSERT_TRUE(process.send(FromTask(Attach{1, {1, std::nullopt, "0.1.0"}})));
  const auto refused = process.receive<ToTask>();
  ASSERT_TRUE(refused && std::holds_alternative<AttachRefused>(*refused));
  const std::string why = std::get<AttachRefused>(*refused).why;
  EXPECT_THAT(why, testing::HasSubstr("protocol 1 (cadre 0.1.0), the agent speaks protocol "));
  ASSERT_TRUE(process.send(FromTask(Report{5, "loss 1"})));
  const auto answer = process.receive<ToTask>();
  ASSERT_TRUE(answer && std::holds_alternative<ReportAnswer>(*answer));
  EXPECT_EQ(std::get<ReportAnswer>(*answer).number, 5U);
  EXPECT_FALSE(std::get<ReportAnswer>(*answer).accepted);
  EXPECT_EQ(std::get<ReportAnswer>(*answer).why, why);
  FakeAgent agent(folder);
  EXPECT_FALSE(agent.status([](const Status& status) { return status.refused == 2; })->attached)
      << "it is stopped by a signal";
}

TEST_F(Sockets, AnAgentOfAnotherProtocolStartsNothing) {
  Launch launch = script("echo began");
  launch.protocols = {1, std::nullopt, "0.1.0"};
  const cluster::TaskEnding ending = wait_for_ending(begin(launch));
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_THAT(ending.detail, testing::HasSubstr("the agent speaks protocol 1 (cadre 0.1.0), its program"));
}

TEST_F(Sockets, AThousandConnectionsOneAfterTheOther) {
  const std::string folder = begin(script("sleep 1000"));
  for (int i = 0; i < 1000; ++i) {
    Peer process = Peer::connect(folder, "task.sock");
    ASSERT_TRUE(process.send(FromTask(Attach{i, protocol::own()})));
  }
  expect_in_service(folder, 0);
}

TEST_F(Sockets, AThousandConnectionsAtOnceAreBounded) {
  const std::string folder = begin(script("sleep 1000"));
  std::vector<Peer> processes;
  for (int i = 0; i < 1000; ++i) processes.push_back(Peer::connect(folder, "task.sock"));
  expect_in_service(folder, 1000 - 256);
}

TEST_F(Sockets, ATaskCannotPoseAsItsAgent) {
  isolation = cluster::Isolation::off;  // with it on, the task does not see that socket at all
  const std::string folder = begin(program({"/usr/bin/python3", "-c", R"(
import os, socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.path.dirname(os.environ['CADRE_SOCKET']) + '/agent.sock')
print('got %d bytes' % len(s.recv(65536)), flush=True)
time.sleep(1000)
)"}));
  wait_for("what the task got", [&] { return !output(folder).empty(); });
  EXPECT_EQ(output(folder), "got 0 bytes\n");
  expect_in_service(folder, 1);
}

TEST_F(Sockets, AProcessOfTheTaskFindsItsSocketHoweverDeepTheFolder) {
  const std::string attach = R"(
import os, socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(os.environ['CADRE_SOCKET'])
s.send(b'\x83\xa4type\xa6attach\xa3pid\x01\xa8protocol\x02')
time.sleep(1000)
)";
  const std::string top = root;
  for (const std::string& base : {top, std::string("/dev/shm/cadre-test-" + new_mark())}) {
    for (const auto kind : {cluster::Isolation::on, cluster::Isolation::off}) {
      for (const std::string& deep : {std::string(), "/" + std::string(100, 'a') + "/" + std::string(200, 'b')}) {
        isolation = kind;
        root = base + deep;
        const std::string folder = begin(program({"/usr/bin/python3", "-c", attach}));
        FakeAgent agent(folder);
        ASSERT_TRUE(agent.status([](const Status& status) { return status.attached || status.ending; })->attached);
        agent.send(Stop{Reason::killed_by_user, Duration{0}});
        wait_for_ending(folder);
      }
    }
    root = base;
  }
  end_all();
  std::error_code ignored;
  std::filesystem::remove_all(root, ignored);
  root = top;
}

}  // namespace
}  // namespace cadre::supervisor
