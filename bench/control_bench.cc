#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <fstream>
#include <thread>

#include "app/parts.h"
#include "bench/bench.h"
#include "bench/cluster_for_bench.h"
#include "cluster/data_folder.h"
#include "describe/describe.h"
#include "net/keys.h"
#include "net/zmq_network.h"
#include "records/records.h"

namespace cadre::bench {
namespace {

using namespace std::chrono_literals;
namespace messages = cluster::messages;
namespace requests = cluster::requests;

constexpr int agents = 1'000;
constexpr int tasks_a_second = 100;
constexpr auto load_time = 10s;

std::string name_of(int agent) { return "agent-" + std::to_string(agent); }

/// Makes the agents known to the master, which is not running yet.
Result<std::vector<net::Keys>> enrol(const cluster::DataFolder& data, Log& log) {
  TRY_ASSIGN(records, records::Records::open(data.database_url(), log, app::rows_of(app::parts_of({}))));
  TRY(records->begin_boot());
  std::vector<net::Keys> keys;
  for (int i = 0; i < agents; ++i) {
    keys.push_back(net::make_keys());
    const std::string token = "bench-" + std::to_string(i);
    TRY(records->add_join_token({token, {}, "default"}));
    TRY(records->use_join_token({token, cluster::AgentId(name_of(i)), keys.back().open.text(), TimePoint{} + 1s}));
  }
  return keys;
}

/// An agent that starts and ends tasks in no time, and measures how long the master takes to store an end.
class LightAgent {
 public:
  LightAgent(loop::RealLoop& loop, int number) : loop_(loop), number_(number) {}

  Result<void> connect(net::Network& network, const std::string& address, const net::Keys& keys,
                       const net::PublicKey& master) {
    TRY_ASSIGN(link, network.connect({address, keys, master, {}}, [this](BytesView bytes) { hear(bytes); }));
    link_ = std::move(link);
    const auto stagger = std::chrono::milliseconds(number_ * 1000 / agents);
    timer_ = loop_.after(stagger, [this] { say_hello(); });
    return {};
  }

  std::vector<double> ends_ms;

 private:
  void say(messages::FromAgent message) { (void)link_->send(describe::write_msgpack(message)); }

  void say_hello() {
    messages::Hello hello;
    hello.protocols = protocol::own();
    hello.agent.id = cluster::AgentId(name_of(number_));
    hello.identity = name_of(number_);
    say({0, std::move(hello)});
    timer_ = loop_.after(1s, [this] { session_ == 0 ? say_hello() : beat(); });
  }

  void beat() {
    say({session_, messages::Beat{}});
    timer_ = loop_.after(1s, [this] { beat(); });
  }

  void hear(BytesView bytes) {
    const auto message = describe::read_msgpack<messages::FromMaster>(bytes);
    if (!message) return;
    if (std::holds_alternative<messages::Welcome>(message->body)) session_ = message->session;
    if (const auto* start = std::get_if<messages::Start>(&message->body)) {
      say({session_, messages::Started{start->lease}});
      ended_[start->lease] = loop_.now();
      say({session_, messages::Exited{start->lease, {}}});
    }
    if (const auto* stored = std::get_if<messages::EndStored>(&message->body)) {
      const auto begun = ended_.find(stored->lease);
      if (begun == ended_.end()) return;
      ends_ms.push_back(std::chrono::duration<double, std::milli>(loop_.now() - begun->second).count());
      ended_.erase(begun);
    }
  }

  loop::RealLoop& loop_;
  int number_;
  std::unique_ptr<net::Link> link_;
  loop::Timer timer_;
  std::uint64_t session_ = 0;
  std::map<cluster::LeaseId, TimePoint> ended_;
};

/// All agents, in a process of their own; writes what they have measured, one figure a line, when it is told to end.
pid_t start_agents(const std::string& address, const std::vector<net::Keys>& keys, const net::PublicKey& master,
                   const std::string& result) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  static loop::RealLoop loop;
  std::signal(SIGTERM, [](int) { loop.stop(); });
  StderrLog log(Level::error);
  auto network = net::ZmqNetwork::make(loop, log);
  if (!network) ::_exit(1);
  std::vector<std::unique_ptr<LightAgent>> all;
  for (int i = 0; i < agents; ++i) {
    all.push_back(std::make_unique<LightAgent>(loop, i));
    const auto done = all.back()->connect(**network, address, keys[static_cast<std::size_t>(i)], master);
    if (done) continue;
    log.error("agent " + std::to_string(i) + ": " + done.error().message);
    ::_exit(1);
  }
  loop.run();
  std::ofstream file(result);
  for (const auto& agent : all) {
    for (const double ms : agent->ends_ms) file << ms << "\n";
  }
  file.close();
  ::_exit(0);
}

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

/// Waits until the master has written where it listens for agents.
Result<std::string> address_in(const std::string& log) {
  const std::string before = "agents at ";
  for (int i = 0; i < 500; ++i) {
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
      const auto at = line.find(before);
      if (at == std::string::npos) continue;
      const auto begin = at + before.size();
      return line.substr(begin, line.find(',', begin) - begin);
    }
    std::this_thread::sleep_for(20ms);
  }
  return fail(Errc::timed_out, "the master did not start");
}

}  // namespace

Result<Figures> bench_control() {
  const Scratch scratch;
  StderrLog log(Level::error);
  const cluster::DataFolder data{scratch.path() + "/master"};
  if (::mkdir(data.path.c_str(), 0700) != 0) return fail(Errc::unavailable, "no folder");
  const net::Keys master_keys = net::make_keys();
  TRY(net::save_keys(master_keys, data.keys_file()));
  TRY_ASSIGN(keys, enrol(data, log));
  const std::string master_log = scratch.path() + "/master.log";
  const Process master({"master", "--data", data.path, "--listen", "127.0.0.1:0", "--port", "0"}, master_log);
  TRY_ASSIGN(address, address_in(master_log));
  const pid_t others = start_agents(address, keys, master_keys.open, scratch.path() + "/ends");
  TRY_ASSIGN(client, Client::connect(data.path));
  TRY(client->until([](const requests::Status& status) { return status.agents_up == agents; }));

  const Duration cpu_before = master.cpu_time();
  const auto begin = std::chrono::steady_clock::now();
  int submitted = 0;
  while (std::chrono::steady_clock::now() - begin < load_time) {
    const auto due = static_cast<int>(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() *
                                      tasks_a_second);
    if (submitted < due) {
      TRY(client->ask(std::vector<requests::Submit>(static_cast<std::size_t>(due - submitted), job_of({"true"}))));
      submitted = due;
    }
    std::this_thread::sleep_for(5ms);
  }
  TRY(client->until([&](const requests::Status& status) { return status.ended >= submitted; }));
  const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const double cpu = std::chrono::duration<double>(master.cpu_time() - cpu_before).count();
  ::kill(others, SIGTERM);
  ::waitpid(others, nullptr, 0);
  std::vector<double> ends;
  std::ifstream file(scratch.path() + "/ends");
  for (double ms = 0; file >> ms;) ends.push_back(ms);

  Figures figures{"control", {}};
  figures.rows.push_back({"cpu share of the master, 1,000 agents, 100 tasks/s", 100 * cpu / passed, "%", {}, {}});
  figures.rows.push_back({"tasks started and ended", submitted / passed, "1/s", {}, {}});
  TRY_ASSIGN(commits, row_beside_raw("", 1, "1/s", "sqlite_commit 1 " + scratch.path() + "/plain.db"));
  const double commit_ms = 1000 / *commits.limit;
  for (const auto& [name, share] : {std::pair{"event to commit, p50", 0.5}, std::pair{"event to commit, p99", 0.99}}) {
    const double ms = quantile(ends, share);
    figures.rows.push_back({name, ms, "ms", commit_ms, commit_ms / ms});
  }
  return figures;
}

}  // namespace cadre::bench
