// The master's bulk side is killed while it stores, and started again.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <thread>

#include "agent/shipper.h"
#include "base/seeds.h"
#include "logs/lines_for_tests.h"
#include "logs/spool.h"
#include "logs/store.h"
#include "loop/calendar.h"
#include "loop/real_loop.h"
#include "master/bulk_server.h"
#include "net/zmq_network.h"
#include "tests/bulk/lease.h"
#include "tests/servers/scratch.h"

namespace cadre {
namespace {

using cluster::LeaseId;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// A process that serves until it is killed.
class Server {
 public:
  explicit Server(std::string folder) : folder_(std::move(folder)) { start(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server() { kill(); }

  std::string address() const { return "ipc://" + folder_ + "/bulk"; }
  const net::Keys keys = net::make_keys();
  const net::Keys agent_keys = net::make_keys();

  void start() {
    pid_ = fork();
    if (pid_ != 0) return;
    SilentLog log;
    master::BulkOptions options;
    options.hub = {{address()}, keys, net::Admission::only({}), {}};
    options.hub.unix_proof = net::UnixProof::keys;
    options.output_folder = folder_ + "/output";
    options.code_folder = folder_ + "/code";
    options.agents = {{agent_keys.open, cluster::AgentId("a")}};
    for (std::uint64_t i = 1; i <= 5; ++i) options.leases.push_back({lease_of(i), cluster::AgentId("a"), true});
    const auto server = master::BulkServer::start(std::move(options), log);
    while (server) pause();
    _exit(1);
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

 private:
  const std::string folder_;
  pid_t pid_ = -1;
};

TEST(AKilledMaster, HasStoredWhatItAcknowledgedAndGetsTheRestLater) {
  FOR_SEEDS(5, [](Dice& dice) {
    const servers::TempDir folder;
    chmod(folder.path().c_str(), 0700);
    Server server(folder.path());
    SilentLog log;
    loop::RealLoop loop;
    const auto network = net::ZmqNetwork::make(loop, log).value();
    agent::BulkLink link(*network, log);
    net::LinkOptions options{server.address(), server.agent_keys, server.keys.open, {}};
    options.unix_proof = net::UnixProof::keys;
    options.limits.reconnect_first = milliseconds(10);
    options.limits.reconnect_longest = milliseconds(50);
    ASSERT_TRUE(link.connect(options));

    constexpr std::uint64_t tasks = 5;
    std::map<LeaseId, logs::SpoolWriter> writers;
    std::map<LeaseId, std::vector<std::string>> lines;
    std::map<LeaseId, std::int64_t> acknowledged;
    std::size_t finished = 0;
    agent::Shipper shipper(loop, link, log,
                           {[&](LeaseId lease, std::int64_t end) {
                              acknowledged[lease] = std::max(acknowledged[lease], end);
                              writers.at(lease).stored(end);
                            },
                            [&](LeaseId) {
                              if (++finished == tasks) loop.stop();
                            }},
                           {.resend_first = milliseconds(100), .resend_longest = milliseconds(200)});
    for (std::uint64_t i = 1; i <= tasks; ++i) {
      const std::string spool = folder.path() + "/spool" + std::to_string(i);
      writers.emplace(lease_of(i), logs::SpoolWriter::open(spool, {}).value());
      shipper.add(lease_of(i), agent::open_spool(spool));
    }
    const loop::Calendar calendar(loop);  // what is very old would go by its age
    int count = 0;
    loop::Timer writing;
    std::function<void()> write = [&] {
      const LeaseId lease = lease_of(1 + dice.below(tasks));
      for (std::int64_t left = dice.magnitude(1, 300); left > 0; --left) {
        const std::string line = std::to_string(++count) + std::string(dice.below(200), 'x');
        lines[lease].push_back("out: " + line);
        writers.at(lease).append(logs::Stream::out, line + "\n", calendar.now());
      }
      shipper.grown(lease, writers.at(lease).end());
      writing = loop.after(milliseconds(2), write);
    };
    write();
    int kills = 0;
    loop::Timer killing;
    std::function<void()> kill = [&] {
      server.kill();
      server.start();
      if (++kills < 4) {
        killing = loop.after(milliseconds(dice.between(20, 300)), kill);
        return;
      }
      writing.cancel();
      for (const auto& [lease, writer] : writers) shipper.ended(lease, writer.end());
    };
    killing = loop.after(milliseconds(100), kill);
    const loop::Timer late = loop.after(seconds(60), [&] { loop.stop(); });
    loop.run();
    ASSERT_EQ(finished, tasks);
    server.kill();
    const auto store = logs::LogStore::open(folder.path() + "/output", {}).value();
    for (const auto& [lease, writer] : writers) {
      EXPECT_GE(store->end(to_string(lease)), acknowledged[lease]);
      std::vector<std::string> stored;
      for (std::int64_t at = 0; at < writer.end();) {
        const logs::Chunk chunk = store->read(to_string(lease), at, 1 << 20).value();
        ASSERT_FALSE(chunk.bytes.empty());
        ASSERT_EQ(chunk.dropped, 0);
        for (std::string& line : logs::shown(chunk.bytes)) stored.push_back(std::move(line));
        at = chunk.next();
      }
      EXPECT_EQ(stored, lines[lease]);
    }
  });
}

}  // namespace
}  // namespace cadre
