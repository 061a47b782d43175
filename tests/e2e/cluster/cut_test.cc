// An agent on another host, and the network between it and the master fails.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "tests/e2e/cluster/test_cluster.h"
#include "tests/servers/proxy.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using cluster::JobStage;
using cluster::lease::Reason;
using servers::Proxy;

bool is_free(const char* host, int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, host, &address.sin_addr);
  const bool free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  ::close(socket);
  return free;
}

/// The first of three that follow each other, below those that the system gives out.
int free_ports() {
  for (int port = 20'000 + ::getpid() % 4'000 * 3;; port += 3) {
    bool free = true;
    for (const char* host : {"127.0.0.1", "127.0.0.2"}) {
      for (int step = 0; step < 3; ++step) free = free && is_free(host, port + step);
    }
    if (free) return port;
  }
}

/// The master listens at 127.0.0.1 and says that it is at 127.0.0.2: what comes there passes a proxy.
class Cut : public testing::Test {
 protected:
  Cut()
      : port_(free_ports()),
        cluster_({"3s", {"--listen", "127.0.0.1:" + std::to_string(port_), "--advertise", "127.0.0.2"}}) {
    for (int step = 0; step < 3; ++step) {
      network_.push_back(std::make_unique<Proxy>(port_ + step, "127.0.0.2", port_ + step));
    }
    far_ = cluster_.start_cadre({"agent", "--id", "far", "--data", cluster_.agent_folder("far"), "--join",
                                 cluster_.join_token(), "--artificial-slots", "2"});
    EXPECT_TRUE(TestCluster::until([&] { return cluster_.is_up("far"); })) << read_text(far_.err);
  }
  ~Cut() override {
    ::kill(far_.pid, SIGKILL);
    far_.wait();
  }

  void spoil(Proxy::Fault fault) {
    for (const auto& proxy : network_) proxy->spoil(fault);
  }
  void heal() {
    for (const auto& proxy : network_) proxy->heal();
  }

  int port_;
  TestCluster cluster_;
  std::vector<std::unique_ptr<Proxy>> network_;
  TestCluster::Background far_;
};

std::string numbered(int lines) {
  std::string text;
  for (int i = 1; i <= lines; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

TEST_F(Cut, ConnectionsThatBreakCostNothing) {
  const std::uint64_t id =
      cluster_.submit({"--slots", "1", "--", "sh", "-c",
                       "i=0; while [ $i -lt 100 ]; do i=$((i+1)); echo line $i; sleep 0.05; done; exit 5"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "far"); }));
  for (int cut = 0; cut < 8; ++cut) {
    spoil(Proxy::Fault::cut);
    std::this_thread::sleep_for(400ms);
  }
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.code, 5);
  EXPECT_EQ(job.tasks[0].epoch, 1U);
  EXPECT_EQ(cluster_.output(id), numbered(100));
}

TEST_F(Cut, ASilenceThatIsShortCostsNothing) {
  const std::uint64_t id =
      cluster_.submit({"--slots", "1", "--", "sh", "-c",
                       "i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo line $i; sleep 0.05; done; exit 6"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "far"); }));
  spoil(Proxy::Fault::silence);
  std::this_thread::sleep_for(1s);
  spoil(Proxy::Fault::cut);  // those that were silent never speak again
  heal();
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.code, 6);
  EXPECT_EQ(job.tasks[0].epoch, 1U);
  EXPECT_EQ(cluster_.output(id), numbered(60));
}

TEST_F(Cut, AnAgentThatIsCutOffIsGivenUpAndComesBackClean) {
  const std::uint64_t id =
      cluster_.submit({"--slots", "1", "--", "sh", "-c", "echo epoch $CADRE_EPOCH; exec sleep 1000"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "far"); }));
  spoil(Proxy::Fault::silence);
  cluster_.start_agent("near");
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "near"); }));
  EXPECT_EQ(cluster_.job(id).tasks[0].epoch, 2U);
  EXPECT_FALSE(cluster_.is_up("far"));
  EXPECT_FALSE(cluster_.task_processes("far").empty());  // it keeps what it had
  heal();  // connections that were silent stay so: it must notice by itself that they lead nowhere
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.is_up("far"); }));
  EXPECT_TRUE(TestCluster::until([&] { return cluster_.task_processes("far").empty(); }));
  EXPECT_TRUE(cluster_.runs_on(id, "near"));
  EXPECT_EQ(cluster_.output(id), "epoch 2\n");
  EXPECT_EQ(cluster_.cadre({"agent", "drain", "near"}).code, 0);
  EXPECT_EQ(cluster_.cadre({"run", "--slots", "1", "--", "sh", "-c", "echo on $CADRE_AGENT"}).out, "on far\n");
  EXPECT_EQ(cluster_.cadre({"task", "kill", std::to_string(id)}).code, 0);
}

TEST_F(Cut, AStrictTaskHasEndedBeforeItIsPlacedElsewhere) {
  const std::uint64_t id = cluster_.submit(
      {"--slots", "1", "--fence", "strict", "--", "sh", "-c", "echo epoch $CADRE_EPOCH; exec sleep 1000"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.runs_on(id, "far"); }));
  cluster_.start_agent("near");
  spoil(Proxy::Fault::silence);
  bool doubled = false;
  ASSERT_TRUE(TestCluster::until([&] {
    const bool here = !cluster_.task_processes("near").empty();  // first: what is there later was there before
    doubled = doubled || (here && !cluster_.task_processes("far").empty());
    return here;
  }));
  EXPECT_FALSE(doubled);
  heal();
  ASSERT_TRUE(TestCluster::until([&] { return cluster_.is_up("far"); }));
  EXPECT_TRUE(cluster_.task_processes("far").empty());
  EXPECT_TRUE(cluster_.runs_on(id, "near"));
}

}  // namespace
}  // namespace cadre::e2e
