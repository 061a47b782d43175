// A cluster on four hosts: the master on the first, agents on the others; and what its network and its hosts may do to
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "tests/e2e/cluster/test_cluster.h"
#include "tests/servers/hosts.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using servers::Hosts;

class OnHosts : public testing::Test {
 protected:
  explicit OnHosts(const std::string& agent_timeout = "3s")
      : cluster_({agent_timeout, {"--listen", Hosts::address(1) + ":7300"}, std::nullopt, &hosts_}) {
    for (const int host : agents_) start_agent(host);
  }

  void start_agent(int host) {
    cluster_.start_agent_on(host, {"--artificial-slots", "4", "--label", "host=" + Hosts::name(host)});
  }

  /// The agents on which a job's tasks run; empty while one of them does not.
  std::set<std::string> agents_of(std::uint64_t id) const {
    std::set<std::string> agents;
    for (const auto& task : cluster_.job(id).tasks) {
      if (task.stage != cluster::lease::Stage::running) return {};
      agents.insert(task.agent.value);
    }
    return agents;
  }
  std::set<std::uint64_t> epochs_of(std::uint64_t id) const {
    std::set<std::uint64_t> epochs;
    for (const auto& task : cluster_.job(id).tasks) epochs.insert(task.epoch);
    return epochs;
  }
  std::size_t task_processes() const {
    std::size_t processes = 0;
    for (const int host : agents_) processes += cluster_.task_processes(Hosts::name(host)).size();
    return processes;
  }
  static int number_of(const std::string& name) { return name.back() - '0'; }

  /// Three tasks that run until they are told not to; two of them fit on one agent.
  std::uint64_t submit_gang() const {
    const std::uint64_t id =
        cluster_.submit({"--count", "3", "--slots", "2", "--", "sh", "-c", "echo epoch $CADRE_EPOCH; exec sleep 1000"});
    EXPECT_TRUE(TestCluster::until([&] { return !agents_of(id).empty() && task_processes() == 3; }));
    return id;
  }
  /// The job runs in its second epoch, without this agent.
  void expect_placed_elsewhere(std::uint64_t id, const std::string& lost) const {
    EXPECT_TRUE(TestCluster::until([&] {
      const std::set<std::string> agents = agents_of(id);
      return epochs_of(id) == std::set<std::uint64_t>{2} && !agents.empty() && !agents.contains(lost);
    }));
  }
  /// The agent is there again, nothing runs twice, and only the second epoch was heard.
  void expect_back_without_doubles(std::uint64_t id, const std::string& agent) const {
    EXPECT_TRUE(TestCluster::until([&] { return cluster_.is_up(agent); }));
    EXPECT_TRUE(TestCluster::until([&] { return task_processes() == 3; }));
    EXPECT_TRUE(cluster_.task_processes(agent).empty());
    EXPECT_EQ(epochs_of(id), std::set<std::uint64_t>{2});
    EXPECT_EQ(lines_of(id), (std::multiset<std::string>{"[0] epoch 2", "[1] epoch 2", "[2] epoch 2"}));
    expect_takes_work(agent);
  }
  void expect_takes_work(const std::string& agent) const {
    const Said said = cluster_.cadre({"run", "--slots", "1", "--selector", "host=" + agent, "--", "uname", "-n"});
    EXPECT_EQ(said.out, agent + "\n") << said.err;
  }
  std::multiset<std::string> lines_of(std::uint64_t id) const {
    std::multiset<std::string> lines;
    std::istringstream text(cluster_.output(id));
    for (std::string line; std::getline(text, line);) lines.insert(line);
    return lines;
  }

  const std::vector<int> agents_{2, 3, 4};
  Hosts hosts_{4};
  TestCluster cluster_;
};

TEST_F(OnHosts, AGangIsSpreadOverThem) {
  const std::uint64_t id =
      cluster_.submit({"--count", "3", "--slots", "3", "--", "sh", "-c", "echo $CADRE_AGENT is $(uname -n)"});
  EXPECT_EQ(cluster_.wait_for_end(id).code, 0);
  const std::multiset<std::string> all{"[0] host-2 is host-2", "[1] host-3 is host-3", "[2] host-4 is host-4"};
  EXPECT_TRUE(TestCluster::until([&] { return lines_of(id) == all; })) << cluster_.output(id);
}

TEST_F(OnHosts, OneThatIsCutOffLosesItsTasksAndComesBackClean) {
  const std::uint64_t id = submit_gang();
  const std::string lost = *agents_of(id).begin();
  hosts_.network().cut(number_of(lost));
  expect_placed_elsewhere(id, lost);
  EXPECT_FALSE(cluster_.is_up(lost));
  EXPECT_FALSE(cluster_.task_processes(lost).empty());  // it keeps what it had
  hosts_.network().heal(number_of(lost));
  expect_back_without_doubles(id, lost);
}

TEST_F(OnHosts, OneThatIsNotHeardIsLostAsIfItWereCutOff) {
  const std::uint64_t id = submit_gang();
  const std::string lost = *agents_of(id).begin();
  hosts_.network().drop(number_of(lost), 1);
  expect_placed_elsewhere(id, lost);
  hosts_.network().undrop(number_of(lost), 1);
  expect_back_without_doubles(id, lost);
}

TEST_F(OnHosts, OneThatHearsNothingIsLostAsIfItWereCutOff) {
  const std::uint64_t id = submit_gang();
  const std::string lost = *agents_of(id).begin();
  hosts_.network().drop(1, number_of(lost));
  expect_placed_elsewhere(id, lost);
  hosts_.network().undrop(1, number_of(lost));
  expect_back_without_doubles(id, lost);
}

TEST_F(OnHosts, OneThatLosesPowerLosesItsTasksAndMayBeStartedAgain) {
  const std::uint64_t id = submit_gang();
  const std::string lost = *agents_of(id).begin();
  cluster_.kill_host(lost);
  EXPECT_TRUE(cluster_.processes(lost).empty());
  expect_placed_elsewhere(id, lost);
  hosts_.boot(number_of(lost));
  start_agent(number_of(lost));
  expect_back_without_doubles(id, lost);
}

/// Its agents are given a long time: whatever is lost is not lost for that.
class OnHostsThatBootSoon : public OnHosts {
 protected:
  OnHostsThatBootSoon() : OnHosts("60s") {}
};

TEST_F(OnHostsThatBootSoon, TasksOfOneThatLostPowerRunAgainAtNoCost) {
  const std::uint64_t id = submit_gang();
  const std::string lost = *agents_of(id).begin();
  cluster_.kill_host(lost);
  hosts_.boot(number_of(lost));
  start_agent(number_of(lost));
  ASSERT_TRUE(TestCluster::until([&] {
    return cluster_.job(id).stage == cluster::JobStage::ended ||
           (epochs_of(id) == std::set<std::uint64_t>{2} && !agents_of(id).empty());
  }));
  const auto job = cluster_.job(id);
  EXPECT_EQ(job.stage, cluster::JobStage::running) << job.detail;
  EXPECT_EQ(job.runs, 2);
  for (const auto& task : job.tasks) EXPECT_EQ(task.restarts, 0);
  EXPECT_TRUE(TestCluster::until([&] { return task_processes() == 3; }));
  EXPECT_EQ(cluster_.cadre({"kill", std::to_string(id)}).code, 0) << "it may hold all slots of that host";
  expect_takes_work(lost);
}

TEST_F(OnHosts, TasksGoOnWhenTheMasterLosesPower) {
  const std::uint64_t id = submit_gang();
  const std::set<std::string> agents = agents_of(id);
  cluster_.kill_master_host();
  EXPECT_EQ(task_processes(), 3U);
  hosts_.boot(1);
  cluster_.start_master();
  for (const int host : agents_) {
    EXPECT_TRUE(TestCluster::until([&] { return cluster_.is_up(Hosts::name(host)); })) << host;
  }
  EXPECT_EQ(agents_of(id), agents);
  EXPECT_EQ(epochs_of(id), std::set<std::uint64_t>{1});
  EXPECT_EQ(task_processes(), 3U);
  expect_takes_work("host-4");
}

/// A program on the master's host, whose actors are on the others.
class Actors : public OnHosts {
 protected:
  servers::Command program(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), CADRE_ACTORS);
    return {std::move(arguments), "", said(), 9, {"CADRE_MASTER=" + cluster_.data()}, hosts_.on(1)};
  }
  std::string said() const { return cluster_.folder() + "/actors.log"; }
  std::string what_it_said() const {
    std::ifstream file(said());
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(Actors, AreCalledAcrossHosts) { EXPECT_EQ(servers::run(program({})), 0) << what_it_said(); }

TEST_F(Actors, OfAHostThatLosesItsPowerAreMissed) {
  const pid_t holding = servers::start(program({"hold"}));
  ASSERT_TRUE(TestCluster::until([&] { return what_it_said() == "ready\n"; })) << what_it_said();
  for (const int host : agents_) hosts_.kill(host);
  EXPECT_EQ(servers::wait_for(holding), 0);
  EXPECT_THAT(what_it_said(), testing::HasSubstr("told: "));
}

/// Loses every tenth frame, and takes 20 ms for the others. Many losses in a row must not look like a dead host.
class OnAPoorNetwork : public OnHosts {
 protected:
  OnAPoorNetwork() : OnHosts("15s") {
    for (const int host : agents_) {
      hosts_.network().loss(host, 0.1, static_cast<std::uint64_t>(host));
      hosts_.network().delay(host, 20ms);
    }
  }
};

TEST_F(OnAPoorNetwork, NothingIsLost) {
  const std::string script =
      "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo $i; test $((i % 50)) != 0 || sleep 0.1; done; exit "
      "5";
  const std::uint64_t id = cluster_.submit({"--count", "3", "--slots", "3", "--", "sh", "-c", script});
  const auto job = cluster_.wait_for_end(id);
  EXPECT_EQ(job.code, 5);
  EXPECT_EQ(epochs_of(id), std::set<std::uint64_t>{1});
  for (const int host : agents_) expect_takes_work(Hosts::name(host));
  std::multiset<std::string> all;
  for (int rank = 0; rank < 3; ++rank) {
    for (int i = 1; i <= 1000; ++i) all.insert("[" + std::to_string(rank) + "] " + std::to_string(i));
  }
  EXPECT_TRUE(TestCluster::until([&] { return lines_of(id) == all; })) << cluster_.output(id);
  EXPECT_GT(hosts_.network().counts().dropped, 0U);
}

}  // namespace
}  // namespace cadre::e2e
