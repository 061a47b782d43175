#include "bench/light_agents.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include "app/parts.h"
#include "describe/describe.h"
#include "net/zmq_network.h"
#include "records/records.h"

namespace cadre::bench {
namespace {

using namespace std::chrono_literals;
namespace messages = cluster::messages;

std::string name_of_agent(std::size_t number) { return "agent-" + std::to_string(number); }

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

Result<void> LightAgent::connect(net::Network& network, net::LinkOptions options, Duration hello_after) {
  TRY_ASSIGN(link, network.connect(std::move(options), [this](BytesView bytes) { hear(bytes); }));
  link_ = std::move(link);
  timer_ = loop_.after(hello_after, [this] { say_hello(); });
  return {};
}

void LightAgent::say(messages::FromAgent message) { (void)link_->send(describe::write_msgpack(message)); }

void LightAgent::say_hello() {
  messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = cluster::AgentId(name_);
  hello.agent.slots = options_.slots;
  hello.slots.resize(static_cast<std::size_t>(options_.slots));
  hello.identity = name_;
  say({0, std::move(hello)});
  timer_ = loop_.after(1s, [this] { session_ == 0 ? say_hello() : beat(); });
}

void LightAgent::beat() {
  say({session_, messages::Beat{}});
  timer_ = loop_.after(1s, [this] { beat(); });
}

void LightAgent::hear(BytesView bytes) {
  const auto message = describe::read_msgpack<messages::FromMaster>(bytes);
  if (!message) return;
  if (std::holds_alternative<messages::Welcome>(message->body)) session_ = message->session;
  if (const auto* start = std::get_if<messages::Start>(&message->body)) run(*start);
  if (const auto* stop = std::get_if<messages::Stop>(&message->body)) {
    if (running_.contains(stop->lease)) stopped_.insert(stop->lease);
  }
  if (const auto* stored = std::get_if<messages::EndStored>(&message->body)) {
    const auto begun = ended_.find(stored->lease);
    if (begun == ended_.end()) return;
    ends_ms_.push_back(std::chrono::duration<double, std::milli>(loop_.now() - begun->second).count());
    ended_.erase(begun);
  }
}

void LightAgent::run(const messages::Start& start) {
  say({session_, messages::Started{start.lease}});
  if (!options_.program) return end(start.lease);
  programs_.spawn(run_to_end(*this, running_.emplace(start.lease, start).first->second));
}

loop::Task<void> LightAgent::run_to_end(LightAgent& self, const messages::Start& start) {
  const cluster::LeaseId lease = start.lease;
  co_await self.options_.program(self.loop_, self, start);
  self.running_.erase(lease);
  self.stopped_.erase(lease);
  self.end(lease);
}

void LightAgent::end(const cluster::LeaseId& lease) {
  ended_[lease] = loop_.now();
  say({session_, messages::Exited{lease, {}}});
}

Result<LightAgents> LightAgents::enrol(const cluster::DataFolder& data, int count, Log& log) {
  LightAgents agents(data.path + "/../ends");
  TRY(net::save_keys(agents.master_, data.keys_file()));
  TRY_ASSIGN(records, records::Records::open(data.database_url(), log, app::rows_of(app::parts_of({}))));
  TRY(records->begin_boot());
  for (int i = 0; i < count; ++i) {
    agents.keys_.push_back(net::make_keys());
    const std::string token = "bench-" + std::to_string(i);
    const cluster::AgentId id(name_of_agent(static_cast<std::size_t>(i)));
    TRY(records->add_join_token({token, {}, "default"}));
    TRY(records->use_join_token({token, id, agents.keys_.back().open.text(), TimePoint{} + 1s}));
  }
  return agents;
}

LightAgents::LightAgents(LightAgents&& other) noexcept
    : master_(std::move(other.master_)),
      keys_(std::move(other.keys_)),
      result_(std::move(other.result_)),
      pid_(std::exchange(other.pid_, -1)) {}

LightAgents::~LightAgents() { end(); }

Result<void> LightAgents::start(const std::string& master_log, const LightAgent::Options& options) {
  TRY_ASSIGN(address, address_in(master_log));
  pid_ = ::fork();
  if (pid_ == 0) run(address, options);
  return {};
}

void LightAgents::run(const std::string& address, const LightAgent::Options& options) const {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  static loop::RealLoop loop;
  std::signal(SIGTERM, [](int) { loop.stop(); });
  StderrLog log(Level::error);
  auto network = net::ZmqNetwork::make(loop, log);
  if (!network) ::_exit(1);
  std::vector<std::unique_ptr<LightAgent>> all;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    all.push_back(std::make_unique<LightAgent>(loop, name_of_agent(i), options));
    const Duration stagger = i * Duration(1s) / keys_.size();
    const auto done = all.back()->connect(**network, {address, keys_[i], master_.open, {}}, stagger);
    if (done) continue;
    log.error(name_of_agent(i) + ": " + done.error().message);
    ::_exit(1);
  }
  loop.run();
  std::ofstream file(result_);
  for (const auto& agent : all) {
    for (const double ms : agent->ends_ms()) file << ms << "\n";
  }
  file.close();
  ::_exit(0);
}

std::vector<double> LightAgents::end() {
  if (pid_ < 0) return {};
  ::kill(pid_, SIGTERM);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  std::vector<double> ends;
  std::ifstream file(result_);
  for (double ms = 0; file >> ms;) ends.push_back(ms);
  return ends;
}

}  // namespace cadre::bench
