// Who an agent is, what it may say, and how it leaves, with real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cluster/bulk.h"
#include "cluster/data_folder.h"
#include "cluster/joining.h"
#include "describe/describe.h"
#include "logs/record.h"
#include "loop/real_loop.h"
#include "net/zmq_network.h"
#include "tests/e2e/cluster/test_cluster.h"
#include "tests/servers/process.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace bulk = cluster::bulk;
namespace joining = cluster::joining;
using cluster::AgentId;
using cluster::JobStage;
using cluster::LeaseId;
using testing::HasSubstr;
using testing::Not;

/// Somebody who speaks to the sockets of a master by hand.
class Speaker {
 public:
  explicit Speaker(const std::string& data) : folder_{data} {
    network_ = net::ZmqNetwork::make(loop_, log_).value();
    master_ = net::parse_public_key(read_text(folder_.public_key_file())).value();
  }
  const net::Keys& keys() const { return keys_; }

  /// The answer to a message; nothing within a few seconds.
  template <class Answer, class Message>
  std::optional<Answer> ask(const std::string& address, const Message& message, Duration most = 10s) {
    std::optional<Answer> answer;
    net::LinkOptions options{address, keys_, master_, {}};
    options.unix_proof = net::UnixProof::keys;
    const auto link = network_
                          ->connect(options,
                                    [&](BytesView bytes) {
                                      answer = describe::read_msgpack<Answer>(bytes).value();
                                      loop_.stop();
                                    })
                          .value();
    EXPECT_TRUE(link->send(describe::write_msgpack(message)));
    const loop::Timer enough = loop_.after(most, [&] { loop_.stop(); });
    loop_.run();
    return answer;
  }
  bool join_as(const std::string& name) {
    const auto answer = ask<joining::Answer>(folder_.join_address(),
                                             joining::Join{AgentId(name), read_text(folder_.local_secret_file())});
    return answer && std::holds_alternative<joining::Joined>(*answer);
  }

 private:
  const cluster::DataFolder folder_;
  loop::RealLoop loop_;
  SilentLog log_;
  std::unique_ptr<net::ZmqNetwork> network_;
  const net::Keys keys_ = net::make_keys();
  net::PublicKey master_;
};

LeaseId lease_of(std::uint64_t job, std::uint64_t epoch = 1) {
  return {{cluster::JobId{job}, 0}, cluster::Epoch{epoch}};
}

bulk::ToMaster forged(LeaseId lease) {
  Bytes records;
  logs::encode({logs::Stream::out, false, TimePoint(std::chrono::hours(1)), "forged"}, records);
  return bulk::PutOutput{1, lease, 0, false, records};
}

TEST(Links, AnAgentWritesTheOutputOfItsOwnLeasesOnly) {
  TestCluster cluster;
  cluster.start_agent("a1");
  const std::uint64_t job = cluster.submit({"--slots", "1", "--", "sh", "-c", "echo mine; sleep 60"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.output(job) == "mine\n"; }));
  Speaker thief(cluster.data());
  ASSERT_TRUE(thief.join_as("thief"));
  const cluster::DataFolder folder{cluster.data()};
  for (const LeaseId lease : {lease_of(job), lease_of(job, 2), lease_of(job + 1)}) {
    const auto answer = thief.ask<bulk::FromMaster>(folder.bulk_address(), forged(lease));
    ASSERT_TRUE(answer);
    ASSERT_TRUE(std::holds_alternative<bulk::Refused>(*answer));
    EXPECT_EQ(std::get<bulk::Refused>(*answer).code, Errc::denied);
  }
  EXPECT_EQ(cluster.output(job), "mine\n");
  const std::uint64_t next = cluster.submit({"--slots", "1", "--", "echo", "next"});
  cluster.wait_for_end(next);
  EXPECT_EQ(cluster.output(next), "next\n");
  EXPECT_THAT(read_text(cluster.folder() + "/master.log"), HasSubstr("which this agent does not hold"));
}

TEST(Links, LocalSocketsWantAKey) {
  TestCluster cluster;
  cluster.start_agent("a1");
  const cluster::DataFolder folder{cluster.data()};
  Speaker stranger(cluster.data());
  cluster::messages::Hello hello;
  hello.protocols = protocol::own();
  hello.agent.id = AgentId("a1");
  hello.identity = "x";
  const auto say_hello = [&] {
    return stranger.ask<cluster::messages::FromMaster>(folder.agents_address(), cluster::messages::FromAgent{0, hello},
                                                       2s);
  };
  EXPECT_FALSE(say_hello()) << "its key is not known";
  EXPECT_FALSE(stranger.ask<bulk::FromMaster>(folder.bulk_address(), forged(lease_of(1)), 2s));
  ASSERT_TRUE(stranger.join_as("other"));
  const auto answer = say_hello();
  ASSERT_TRUE(answer);
  ASSERT_TRUE(std::holds_alternative<cluster::messages::Refused>(answer->body));
  EXPECT_THAT(std::get<cluster::messages::Refused>(answer->body).why, HasSubstr("its key belongs to agent 'other'"));
  EXPECT_FALSE(Speaker(cluster.data()).join_as("a1")) << "there is one, with another key";
  EXPECT_TRUE(cluster.is_up("a1"));
}

TEST(Links, ARemovedAgentEndsAndCannotReconnect) {
  TestCluster cluster({"30s", {"--listen", "127.0.0.1:0"}});
  const auto start = [&](const std::string& name, const std::string& token) {
    std::vector<std::string> arguments{
        "agent", "--id", name, "--data", cluster.folder() + "/" + name, "--artificial-slots", "4"};
    if (!token.empty()) arguments.insert(arguments.end(), {"--join", token});
    return cluster.start_cadre(arguments);
  };
  const TestCluster::Background far = start("far", cluster.join_token());
  ASSERT_TRUE(TestCluster::until([&] { return cluster.is_up("far"); })) << read_text(far.err);
  const std::uint64_t job = cluster.submit({"--slots", "1", "--", "sleep", "600"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(job, "far"); }));
  ASSERT_FALSE(cluster.processes("far").empty());
  cluster.start_agent("a1");

  EXPECT_THAT(cluster.cadre({"agent", "describe", "far"}).out, HasSubstr("artificial"));
  EXPECT_EQ(cluster.cadre({"agent", "remove", "nobody"}).code, 1);
  const Said removed = cluster.cadre({"agent", "remove", "far"});
  EXPECT_EQ(removed.code, 0) << removed.err;
  const Said ended = far.wait();
  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.err, HasSubstr("was removed"));
  EXPECT_TRUE(TestCluster::until([&] { return cluster.processes("far").empty(); })) << "its tasks end with it";
  ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(job, "a1"); }));
  EXPECT_EQ(cluster.job(job).tasks[0].restarts, 0) << "it costs nothing";

  const Said again = start("far", "").wait();  // with its old key
  EXPECT_EQ(again.code, 3);
  EXPECT_THAT(again.err, HasSubstr("does not admit the key"));

  // A lost folder no longer blocks the name: the key of the next one is another.
  fs::remove_all(cluster.folder() + "/far");
  const TestCluster::Background next = start("far", cluster.join_token());
  ASSERT_TRUE(TestCluster::until([&] { return cluster.is_up("far"); })) << read_text(next.err);
  ::kill(next.pid, SIGTERM);
  next.wait();
  fs::remove_all(cluster.folder() + "/far");
  const Said blocked = start("far", cluster.join_token()).wait();
  EXPECT_EQ(blocked.code, 3);
  EXPECT_THAT(blocked.err, HasSubstr("cadre agent remove far"));
  EXPECT_EQ(cluster.cadre({"agent", "remove", "far"}).code, 0);
  const TestCluster::Background last = start("far", cluster.join_token());
  ASSERT_TRUE(TestCluster::until([&] { return cluster.is_up("far"); })) << read_text(last.err);
  ::kill(last.pid, SIGTERM);
  last.wait();
}

TEST(Links, ACopiedAgentFolderRunsNothing) {
  TestCluster cluster({"30s", {}});
  cluster.start_agent("a1");
  const std::uint64_t job = cluster.submit({"--slots", "1", "--", "sh", "-c", "echo began; exec sleep 600"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(job, "a1") && cluster.output(job) == "began\n"; }));
  const std::string copy = cluster.folder() + "/copy";
  ASSERT_EQ(std::system(("cp -a " + cluster.agent_folder("a1") + " " + copy).c_str()), 0);  // with its sockets
  const auto start_copy = [&] {
    return cluster
        .start_cadre({"agent", "--id", "a1", "--data", copy, "--master", cluster.data(), "--artificial-slots", "4"})
        .wait();
  };
  const auto expect_refused = [&](const Said& said) {
    EXPECT_EQ(said.code, 3);
    EXPECT_THAT(said.err, HasSubstr("a copy of its data folder"));
    EXPECT_TRUE(cluster.runs_on(job, "a1"));
  };
  expect_refused(start_copy());
  ::kill(cluster.agent("a1"), SIGSTOP);  // silent, but not lost
  std::this_thread::sleep_for(4s);
  expect_refused(start_copy());
  ::kill(cluster.agent("a1"), SIGCONT);
  EXPECT_TRUE(TestCluster::until([&] { return cluster.is_up("a1"); }));
  cluster.kill_agent("a1");
  expect_refused(start_copy());
  cluster.start_agent("a1");  // the true one takes over at once
  EXPECT_TRUE(cluster.runs_on(job, "a1"));
  EXPECT_EQ(cluster.job(job).tasks[0].epoch, 1U);
  EXPECT_EQ(cluster.output(job), "began\n");
}

TEST(Links, ANewDatabaseNeverMeetsOldOutput) {
  TestCluster cluster;
  cluster.start_agent("a1");
  const std::uint64_t old = cluster.submit({"--", "echo", "of the old cluster"});
  cluster.wait_for_end(old);
  ASSERT_TRUE(TestCluster::until([&] { return cluster.output(old) == "of the old cluster\n"; }));
  cluster.stop_agent("a1");
  cluster.kill_master();
  const std::string database = cluster.folder() + "/new.db";
  std::vector<std::string> arguments{"master", "--data",     cluster.data(),        "--port", "0", "--agent-timeout",
                                     "3s",     "--database", "sqlite://" + database};
  const Said refused = cluster.start_cadre(arguments).wait();
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("--adopt"));

  arguments.push_back("--adopt");
  const TestCluster::Background adopted = cluster.start_cadre(arguments);
  ASSERT_TRUE(TestCluster::until([&] { return cluster.cadre({"status"}).code == 0; })) << read_text(adopted.err);
  // The agent's folder is of the old cluster, too.
  std::vector<std::string> agent{
      "agent", "--id", "a1", "--data", cluster.agent_folder("a1"), "--master", cluster.data(), "--artificial-slots",
      "4"};
  const Said foreign = cluster.start_cadre(agent).wait();
  EXPECT_EQ(foreign.code, 3);
  EXPECT_THAT(foreign.err, HasSubstr("belongs to cluster"));
  agent.push_back("--adopt");
  const TestCluster::Background joined = cluster.start_cadre(agent);
  ASSERT_TRUE(TestCluster::until([&] { return cluster.is_up("a1"); })) << read_text(joined.err);
  const std::uint64_t job = cluster.submit({"--", "echo", "new"});
  EXPECT_EQ(job, old) << "the same number again";
  cluster.wait_for_end(job);
  EXPECT_TRUE(TestCluster::until([&] { return cluster.output(job) == "new\n"; })) << cluster.output(job);
  bool is_aside = false;
  for (const fs::directory_entry& entry : fs::directory_iterator(cluster.data())) {
    is_aside = is_aside || entry.path().filename().string().starts_with("output.");
  }
  EXPECT_TRUE(is_aside);
  for (const pid_t pid : {joined.pid, adopted.pid}) {
    ::kill(pid, SIGTERM);
    servers::wait_for(pid);
  }
}

TEST(Links, ADatabaseOfABackupIsRefused) {
  TestCluster cluster;
  cluster.start_agent("a1");
  cluster.wait_for_end(cluster.submit({"--", "echo", "first"}));
  const auto copy_database = [&](const std::string& from, const std::string& to) {
    for (const char* end : {"", "-wal", "-shm"}) {
      fs::remove(to + end);
      if (fs::exists(from + end)) fs::copy_file(from + end, to + end);
    }
  };
  const std::string database = cluster.data() + "/cadre.db";
  const std::string backup = cluster.folder() + "/backup.db";
  cluster.kill_master();
  copy_database(database, backup);
  cluster.start_master();
  const std::uint64_t later = cluster.submit({"--", "echo", "after the backup"});
  cluster.wait_for_end(later);
  ASSERT_TRUE(TestCluster::until([&] { return cluster.output(later) == "after the backup\n"; }));
  cluster.kill_master();
  copy_database(backup, database);
  const std::vector<std::string> arguments{"master", "--data", cluster.data(), "--port", "0"};
  const Said refused = cluster.start_cadre(arguments).wait();
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("restored from a backup"));
  EXPECT_THAT(refused.err, HasSubstr("--adopt"));
}

TEST(Links, ABackupOfTheSameStartIsRefusedForItsOutput) {
  TestCluster cluster;
  cluster.start_agent("a1");
  cluster.wait_for_end(cluster.submit({"--", "echo", "first"}));
  const std::string database = cluster.data() + "/cadre.db";
  const std::string backup = cluster.folder() + "/backup.db";
  ASSERT_EQ(::system(("sqlite3 --version >/dev/null 2>&1 && sqlite3 " + database + " '.backup " + backup +
                      "' || /usr/bin/python3 -c \"import sqlite3; sqlite3.connect('" + database +
                      "').backup(sqlite3.connect('" + backup + "'))\"")
                         .c_str()),
            0);
  const std::uint64_t later = cluster.submit({"--", "echo", "after the backup"});
  cluster.wait_for_end(later);
  ASSERT_TRUE(TestCluster::until([&] { return cluster.output(later) == "after the backup\n"; }));
  cluster.kill_master();
  for (const char* end : {"", "-wal", "-shm"}) fs::remove(database + end);
  fs::copy_file(backup, database);
  std::vector<std::string> arguments{"master", "--data", cluster.data(), "--port", "0", "--agent-timeout", "3s"};
  const Said refused = cluster.start_cadre(arguments).wait();
  EXPECT_THAT(refused.err, HasSubstr("which the database has never given"));
  EXPECT_NE(refused.code, 0);
  arguments.push_back("--adopt");
  const TestCluster::Background adopted = cluster.start_cadre(arguments);
  ASSERT_TRUE(TestCluster::until([&] { return cluster.is_up("a1"); })) << read_text(adopted.err);
  const std::uint64_t again = cluster.submit({"--", "echo", "again"});
  EXPECT_EQ(again, later);
  cluster.wait_for_end(again);
  EXPECT_TRUE(TestCluster::until([&] { return cluster.output(again) == "again\n"; })) << cluster.output(again);
  ::kill(adopted.pid, SIGTERM);
  servers::wait_for(adopted.pid);
}

TEST(Links, FoldersAreClosedToOthersWhateverWasThereBefore) {
  TestCluster cluster;
  cluster.start_agent("a1");
  cluster.stop_agent("a1");
  cluster.kill_master();
  for (const std::string& folder : {cluster.data(), cluster.agent_folder("a1")}) {
    ::chmod(folder.c_str(), 0755);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file()) ::chmod(entry.path().c_str(), 0644);
      if (entry.is_directory()) ::chmod(entry.path().c_str(), 0755);
    }
  }
  cluster.start_master();
  cluster.start_agent("a1");
  const Said mask = cluster.cadre({"run", "--", "sh", "-c", "umask"});
  EXPECT_EQ(mask.out, "0022\n") << "tasks have the usual one" << mask.err;
  for (const std::string& folder : {cluster.data(), cluster.agent_folder("a1")}) {
    EXPECT_EQ(fs::status(folder).permissions(), fs::perms::owner_all) << folder;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      struct stat about {};
      ASSERT_EQ(::lstat(entry.path().c_str(), &about), 0);
      EXPECT_EQ(about.st_mode & 077, 0U) << entry.path();
    }
  }
  EXPECT_THAT(read_text(cluster.folder() + "/master.log"), HasSubstr("cadre.db was accessible to other users"));
}

TEST(Links, AStoppedAgentGetsNoMoreWork) {
  TestCluster cluster({"30s", {}});
  cluster.start_agent("a1");
  cluster.stop_agent("a1");
  const std::uint64_t job = cluster.submit({"--slots", "1", "--", "true"});
  const auto state = [&] {
    for (const cluster::requests::AgentView& agent : cluster.agents()) {
      if (agent.id.value == "a1") return agent.state;
    }
    return std::string();
  };
  EXPECT_EQ(state(), "stopped");
  EXPECT_EQ(cluster.job(job).stage, JobStage::queued);
  cluster.start_agent("a2");
  EXPECT_EQ(cluster.wait_for_end(job).tasks[0].agent.value, "a2");
}

TEST(Links, TasksOfAStoppedAgentGoOnUntilItIsBack) {
  TestCluster cluster({"30s", {}});
  cluster.start_agent("a1");
  const std::uint64_t job = cluster.submit({"--slots", "1", "--", "sleep", "600"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(job, "a1"); }));
  cluster.stop_agent("a1");
  const std::uint64_t waiting = cluster.submit({"--slots", "1", "--", "true"});
  EXPECT_EQ(cluster.job(waiting).stage, JobStage::queued);
  cluster.start_agent("a1");
  cluster.wait_for_end(waiting);
  EXPECT_TRUE(cluster.runs_on(job, "a1"));
  EXPECT_EQ(cluster.job(job).tasks[0].epoch, 1U);
}

TEST(Links, JoiningIsLimitedAndCostsTheMasterNothing) {
  TestCluster cluster({"3s", {"--listen", "127.0.0.1:0"}});
  cluster.start_agent("a1");
  const joining::Ticket ticket = joining::parse_token(cluster.join_token()).value();
  Speaker stranger(cluster.data());
  std::string why;
  for (int i = 0; i < 60; ++i) {
    const auto answer =
        stranger.ask<joining::Answer>(ticket.address, joining::Join{AgentId("x"), std::string(40, 'x')});
    ASSERT_TRUE(answer);
    why = std::get<joining::Refused>(*answer).why;
    if (why.find("too many attempts") != std::string::npos) break;
  }
  EXPECT_THAT(why, HasSubstr("too many attempts"));
  EXPECT_EQ(cluster.cadre({"run", "--", "true"}).code, 0);
}

}  // namespace
}  // namespace cadre::e2e
