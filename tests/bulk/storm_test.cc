// Shippers on some hosts, the master's bulk side on another, and readers at its service, while hosts are cut off from
// each other, processes are killed, and readers come and go.
#include <gmock/gmock.h>

#include <map>
#include <set>

#include "agent/shipper.h"
#include "base/overloaded.h"
#include "base/seeds.h"
#include "describe/describe.h"
#include "logs/lines_for_tests.h"
#include "logs/spool.h"
#include "loop/simulated_loop.h"
#include "master/bulk_service.h"
#include "net/memory_network.h"
#include "tests/servers/scratch.h"

namespace cadre {
namespace {

namespace bulk = cluster::bulk;
using cluster::LeaseId;
using Asker = api::CallId;
using std::chrono::seconds;

constexpr const char* bulk_address = "tcp://master:7000";

/// The master's side, which may be killed and started again.
class MasterSide {
 public:
  MasterSide(loop::Loop& loop, net::MemoryNetwork& network, std::string folder, Dice dice)
      : loop_(loop), network_(network), folder_(std::move(folder)), keys_(net::draw_keys(dice)) {
    start();
  }

  void start() {
    logs_ = logs::LogStore::open(folder_ + "/output", {ByteSize{20'000}}).value();
    blobs_ = objects::FileStore::open({folder_ + "/code"}).value();
    net::HubOptions options{{bulk_address}, keys_, net::Admission::only({}), {}};
    service_ = master::BulkService::make(
                   {loop_, network_.host("master"), *logs_, *blobs_, calendar_, log_, metrics_, holders_}, options,
                   limits, [this](Asker asker, const bulk::FromMaster& message) { tell(asker, message); })
                   .value();
    for (const auto& [key, agent] : agents_) service_->allow(key, agent);
    for (const master::LeaseFact& fact : facts_) holders_.learn(fact);
  }

  /// As the control loop would: known before, and after, every start.
  void know(const net::PublicKey& key, const std::string& agent) {
    agents_.emplace_back(key, cluster::AgentId(agent));
    if (service_) service_->allow(key, cluster::AgentId(agent));
  }
  void know(LeaseId lease, const std::string& agent) {
    facts_.push_back({lease, cluster::AgentId(agent), true});
    if (service_) holders_.learn(facts_.back());
  }

  void kill() {
    network_.crash("master");
    service_.reset();
    logs_.reset();
    blobs_.reset();
  }

  using Hear = std::function<void(const bulk::FromMaster&)>;
  /// A reader sends a request with its own number to the service; while the service is down, there is no reply.
  Asker ask(const bulk::ToMaster& message, Hear hear) {
    waiting_.emplace(++last_asker_, std::move(hear));
    if (service_) service_->ask(last_asker_, message);
    return last_asker_;
  }
  void forget(Asker asker) {
    waiting_.erase(asker);
    if (service_) service_->forget(asker);
  }

  std::int64_t end(LeaseId lease) const { return logs_ ? logs_->end(to_string(lease)) : -1; }
  logs::LogStore& logs() { return *logs_; }
  const net::PublicKey& key() const { return keys_.open; }

  master::BulkLimits limits;

 private:
  void tell(Asker asker, const bulk::FromMaster& message) {
    const auto waiting = waiting_.find(asker);
    ASSERT_NE(waiting, waiting_.end()) << "the reader already got a reply, or was dropped";
    const Hear hear = std::move(waiting->second);
    waiting_.erase(waiting);
    hear(message);
  }

  loop::Loop& loop_;
  net::MemoryNetwork& network_;
  const std::string folder_;
  const net::Keys keys_;
  SilentLog log_;
  loop::Calendar calendar_ = loop::Calendar::of_simulation(loop_);
  master::BulkMetrics metrics_;
  master::LeaseHolders holders_;
  std::unique_ptr<logs::LogStore> logs_;
  std::unique_ptr<objects::FileStore> blobs_;
  std::map<Asker, Hear> waiting_;
  Asker last_asker_ = 0;
  std::vector<std::pair<net::PublicKey, cluster::AgentId>> agents_;
  std::vector<master::LeaseFact> facts_;
  std::unique_ptr<master::BulkService> service_;
};

/// A task's output as its supervisor keeps it, and all lines it ever wrote.
struct Task {
  Task(LeaseId l, std::string f, const logs::SpoolOptions& o)
      : lease(l), folder(std::move(f)), options(o), writer(logs::SpoolWriter::open(folder, options).value()) {}

  LeaseId lease;
  std::string folder;
  logs::SpoolOptions options;
  logs::SpoolWriter writer;
  std::vector<std::string> lines;
  bool ended = false;
  bool finished = false;
};

/// An agent, which may be killed and started again; its tasks go on.
class AgentSide {
 public:
  AgentSide(loop::Loop& loop, net::MemoryNetwork& network, MasterSide& master, std::string name, Dice dice)
      : loop_(loop), network_(network), master_(master), name_(std::move(name)), keys_(net::draw_keys(dice)) {
    master_.know(keys_.open, name_);
    start();
  }

  void start() {
    link_ = std::make_unique<agent::BulkLink>(network_.host(name_), log_);
    ASSERT_TRUE(link_->connect({bulk_address, keys_, master_.key(), {}}));
    shipper_ = std::make_unique<agent::Shipper>(
        loop_, *link_, log_,
        agent::Shipper::Listener{[this](LeaseId lease, std::int64_t end) { stored(lease, end); },
                                 [this](LeaseId lease) { finished(lease); }});
    for (auto& [lease, task] : tasks) {
      if (task.finished) continue;
      shipper_->add(lease, agent::open_spool(task.folder));
      if (task.ended) shipper_->ended(lease, task.writer.end());
    }
  }

  void kill() {
    network_.crash(name_);
    shipper_.reset();
    link_.reset();
  }

  void begin(LeaseId lease, const std::string& folder, const logs::SpoolOptions& options) {
    master_.know(lease, name_);
    tasks.try_emplace(lease, lease, folder, options);
    if (shipper_) shipper_->add(lease, agent::open_spool(folder));
  }

  void write(Task& task, const std::string& line) {
    if (task.writer.full()) return;
    task.lines.push_back("out: " + line);
    task.writer.append(logs::Stream::out, line + "\n", loop_.now());
    if (shipper_) shipper_->grown(task.lease, task.writer.end());
  }

  void end(Task& task) {
    task.ended = true;
    if (shipper_) shipper_->ended(task.lease, task.writer.end());
  }

  bool runs() const { return shipper_ != nullptr; }
  const std::string& name() const { return name_; }
  std::map<LeaseId, Task> tasks;

 private:
  void stored(LeaseId lease, std::int64_t end) {
    Task& task = tasks.at(lease);
    EXPECT_FALSE(task.finished);
    const std::int64_t there = master_.end(lease);
    if (there >= 0) {
      EXPECT_LE(end, there);
    }
    task.writer.stored(end);
  }
  void finished(LeaseId lease) {
    EXPECT_TRUE(tasks.at(lease).ended && !tasks.at(lease).finished);
    tasks.at(lease).finished = true;
  }

  loop::Loop& loop_;
  net::MemoryNetwork& network_;
  MasterSide& master_;
  const std::string name_;
  const net::Keys keys_;
  SilentLog log_;
  std::unique_ptr<agent::BulkLink> link_;
  std::unique_ptr<agent::Shipper> shipper_;
};

/// Follows one log from its beginning.
class Follower {
 public:
  Follower(loop::Loop& loop, MasterSide& master, LeaseId lease) : loop_(loop), master_(master), lease_(lease) { ask(); }
  std::int64_t next() const { return next_; }
  std::vector<std::string> lines() const { return logs::shown(records_); }

  /// Waits no more, and comes back.
  void leave() {
    master_.forget(asker_);
    again_ = loop_.after(seconds(1), [this] { ask(); });
  }

 private:
  void ask() {
    master_.forget(asker_);
    asker_ = master_.ask(bulk::ReadOutput{++number_, lease_, next_, 0, true},
                         [this](const bulk::FromMaster& message) { hear(message); });
    if (is_waiting()) again_ = loop_.after(seconds(30), [this] { ask(); });
  }
  bool is_waiting() const { return heard_ < number_; }
  void hear(const bulk::FromMaster& message) {
    const auto* output = std::get_if<bulk::Output>(&message);
    ASSERT_NE(output, nullptr);
    ASSERT_EQ(output->number, number_);
    ASSERT_GE(output->offset, next_);
    ASSERT_EQ(output->next, output->offset + static_cast<std::int64_t>(output->records.size()));
    next_ = output->next;
    records_.insert(records_.end(), output->records.begin(), output->records.end());
    heard_ = number_;
    again_ = loop_.after(Duration{0}, [this] { ask(); });  // as over a thread: not inside of what is told
  }

  loop::Loop& loop_;
  MasterSide& master_;
  const LeaseId lease_;
  Asker asker_ = 0;
  std::uint64_t number_ = 0;
  std::uint64_t heard_ = 0;
  std::int64_t next_ = 0;
  Bytes records_;
  loop::Timer again_;
};

class Storm {
 public:
  explicit Storm(Dice& dice)
      : dice_(dice),
        loop_({.seed = dice.bits()}),
        network_(loop_, {dice.bits()}),
        master_(loop_, network_, folder_.path() + "/master", dice.split()) {
    for (int i = 0; i < 2; ++i) {
      agents_.push_back(
          std::make_unique<AgentSide>(loop_, network_, master_, "agent" + std::to_string(i), dice.split()));
    }
  }

  void rage() {
    for (int step = 0; step < 150; ++step) {
      disturb();
      pass(Duration(dice_.magnitude(1'000, 2'000'000'000)));
    }
  }

  void calm() {
    if (!master_runs_) master_.start();
    for (auto& agent : agents_) {
      if (!agent->runs()) agent->start();
      network_.heal("master", agent->name());
      for (auto& [lease, task] : agent->tasks) {
        if (!task.ended) agent->end(task);
      }
    }
    pass(std::chrono::minutes(3));
  }

  void check() {
    for (auto& agent : agents_) {
      for (auto& [lease, task] : agent->tasks) check(task);
    }
  }

 private:
  void check(const Task& task) {
    EXPECT_TRUE(task.finished) << to_string(task.lease);
    EXPECT_EQ(master_.end(task.lease), task.writer.end());
    const Follower& follower = *followers_.at(task.lease);
    EXPECT_EQ(follower.next(), task.writer.end());
    std::vector<std::string> lines;
    for (std::int64_t at = 0; at < task.writer.end();) {
      const logs::Chunk chunk = master_.logs().read(to_string(task.lease), at, 5'000).value();
      for (std::string& line : logs::shown(chunk.bytes)) lines.push_back(std::move(line));
      ASSERT_GT(chunk.next(), at);
      at = chunk.next();
    }
    EXPECT_EQ(follower.lines(), lines);
    if (task.options.full == logs::SpoolOptions::Full::block) {
      EXPECT_EQ(lines, task.lines);
      return;
    }
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("note: "); });
    auto wrote = task.lines.begin();  // what is left is in order and nothing is there twice
    for (const std::string& line : lines) {
      wrote = std::find(wrote, task.lines.end(), line);
      ASSERT_NE(wrote, task.lines.end());
      ++wrote;
    }
  }

  void pass(Duration time) { ASSERT_TRUE(loop_.run_until(loop_.now() + time)); }

  AgentSide& any_agent() { return *agents_[dice_.below(agents_.size())]; }

  void disturb() {
    AgentSide& agent = any_agent();
    switch (dice_.below(22)) {
      case 0: return network_.cut("master", agent.name());
      case 1:
      case 2: return network_.heal("master", agent.name());
      case 3: return agent.runs() ? agent.kill() : agent.start();
      case 4:
        if (!agent.runs()) agent.start();
        return;
      case 5:
        master_runs_ ? master_.kill() : master_.start();
        master_runs_ = !master_runs_;
        return;
      case 6:
        if (!master_runs_) master_.start();
        master_runs_ = true;
        return;
      case 7:
      case 8: return begin(agent);
      case 9:
        for (auto& [lease, follower] : followers_) {
          if (dice_.percent(50)) follower->leave();
        }
        return;
      default: return write(agent);
    }
  }

  void begin(AgentSide& agent) {
    if (agent.tasks.size() >= 6) return;
    const LeaseId lease{{cluster::JobId{++leases_}, 0}, cluster::Epoch{1}};
    logs::SpoolOptions options{ByteSize{200'000}, ByteSize{5'000}, logs::SpoolOptions::Full::block};
    if (dice_.percent(30)) {
      options = {ByteSize{4'000}, ByteSize{1'000}, logs::SpoolOptions::Full::drop_oldest};
    }
    agent.begin(lease, folder_.path() + "/spool" + std::to_string(leases_), options);
    followers_.emplace(lease, std::make_unique<Follower>(loop_, master_, lease));
  }

  void write(AgentSide& agent) {
    if (agent.tasks.empty()) return;
    auto task = agent.tasks.begin();
    std::advance(task, dice_.below(agent.tasks.size()));
    if (task->second.ended) return;
    for (std::int64_t left = dice_.magnitude(1, 60); left > 0; --left) {
      agent.write(task->second, std::to_string(++lines_) + std::string(dice_.below(100), 'x'));
    }
    if (dice_.percent(3)) agent.end(task->second);
  }

  Dice& dice_;
  servers::TempDir folder_;
  loop::SimulatedLoop loop_;
  net::MemoryNetwork network_;
  MasterSide master_;
  bool master_runs_ = true;
  std::vector<std::unique_ptr<AgentSide>> agents_;
  std::map<LeaseId, std::unique_ptr<Follower>> followers_;
  std::uint64_t leases_ = 0;
  std::uint64_t lines_ = 0;
};

TEST(OutputInAStorm, IsStoredOnceInOrderAndReadByAllWhateverBreaks) {
  FOR_SEEDS(60, [](Dice& dice) {
    Storm storm(dice);
    storm.rage();
    storm.calm();
    storm.check();
  });
}

}  // namespace
}  // namespace cadre
