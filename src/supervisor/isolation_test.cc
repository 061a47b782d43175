// What an isolated task sees, and what it does not.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::Mount;
using cluster::lease::Reason;

class Isolated : public Rig {
 protected:
  Isolated() : host("/dev/shm/cadre-test-" + new_mark()) {
    std::filesystem::create_directories(host + "/data");
    std::ofstream(host + "/data/file") << "of the host\n";
  }
  ~Isolated() override {
    end_all();
    std::error_code ignored;
    std::filesystem::remove_all(host, ignored);
  }
  std::string said_by(const Launch& launch) {
    const std::string folder = begin(launch);
    const auto ending = wait_for_ending(folder);
    EXPECT_EQ(ending.code, 0) << ending.detail << output(folder, 2);
    return output(folder);
  }

  std::string host;  ///< a folder outside /tmp
};

TEST_F(Isolated, TmpIsItsOwn) {
  const std::string other = "/tmp/cadre-visible-" + new_mark();
  std::ofstream(other) << "x";
  const std::string folder =
      begin(script("ls -A /tmp | grep -v cadre-test; echo mine > /tmp/mine; cat /var/tmp/mine; pwd"));
  wait_for_ending(folder);
  EXPECT_EQ(output(folder), "mine\n" + folder + "/work\n");
  EXPECT_EQ(read_file(folder + "/tmp/mine").value_or(""), "mine\n");
  EXPECT_FALSE(std::filesystem::exists("/tmp/mine"));
  std::filesystem::remove(other);
}

TEST_F(Isolated, OtherTasksAreHiddenFromIt) {
  root = host + "/tasks";
  std::filesystem::create_directories(root + "/other");
  std::ofstream(root + "/other/secret") << "x";
  ::chmod(root.c_str(), 0700);
  const std::string folder = begin(script("ls $(dirname $(dirname $PWD)); ls ..; echo kept > ../work/kept"));
  wait_for_ending(folder);
  const std::string text = output(folder);
  EXPECT_TRUE(text.starts_with(std::filesystem::path(folder).filename().string() + "\n")) << text;
  EXPECT_EQ(text.find("other"), std::string::npos);
  EXPECT_NE(text.find("task.sock"), std::string::npos);
  EXPECT_EQ(read_file(folder + "/work/kept").value_or(""), "kept\n");
}

TEST_F(Isolated, OtherProcessesAreHiddenFromIt) {
  EXPECT_EQ(said_by(script("ls /proc | grep -c '^[0-9]'; ls -d /proc/1")), "4\n/proc/1\n") << "init, sh, ls, grep";
}

TEST_F(Isolated, ZombiesAreReapedThere) {
  const std::string text = said_by(
      script("for i in 1 2 3 4 5; do (sleep 0.01 &) ; done; sleep 0.5; cat /proc/*/stat | grep -c ' Z ' || true"));
  EXPECT_EQ(text, "0\n");
}

TEST_F(Isolated, SignalsToTheFirstProcessDoNothing) {
  EXPECT_EQ(said_by(script("kill -TERM 1; kill -KILL 1; sleep 0.1; echo on")), "on\n");
}

TEST_F(Isolated, MountsAreThere) {
  Launch launch = script(
      "cat /tmp/a/b/file; cat ../work/here/file; echo new > /tmp/a/b/new; cat /tmp/one; "
      "echo x > here/no 2>/dev/null || echo read only");
  launch.command.mounts = {
      {host + "/data", "/tmp/a/b", false}, {host + "/data", "here", true}, {host + "/data/file", "/tmp/one", false}};
  EXPECT_EQ(said_by(launch), "of the host\nof the host\nof the host\nread only\n");
  EXPECT_EQ(read_file(host + "/data/new").value_or(""), "new\n");
}

TEST_F(Isolated, AMountOverAFolderOfTheHostIsSeenByTheTaskOnly) {
  std::filesystem::create_directories(host + "/point");
  Launch launch = script("cat " + host + "/point/file");
  launch.command.mounts = {{host + "/data", host + "/point", true}};
  EXPECT_EQ(said_by(launch), "of the host\n");
  EXPECT_FALSE(std::filesystem::exists(host + "/point/file"));
}

TEST_F(Isolated, AMissingSourceIsNamed) {
  Launch launch = program({"true"});
  launch.command.mounts = {{"/no/such/data", "/tmp/data", false}};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail, "cannot mount '/no/such/data', which this agent lacks: No such file or directory");
}

TEST_F(Isolated, AMissingTargetIsNamedAndNotMade) {
  Launch launch = program({"true"});
  launch.command.mounts = {{host + "/data", host + "/nowhere", false}};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::failed_to_start);
  EXPECT_EQ(ending.detail, "cannot mount '" + host + "/data' at '" + host + "/nowhere': No such file or directory");
  EXPECT_FALSE(std::filesystem::exists(host + "/nowhere"));
}

TEST_F(Isolated, MountsWithoutIsolationAreRefusedInWords) {
  isolation = cluster::Isolation::off;
  Launch launch = program({"true"});
  launch.command.mounts = {{host + "/data", "/tmp/data", false}};
  EXPECT_EQ(run(launch).detail, "mounts need isolation, which is off for this task");
  launch.manners.isolation = cluster::Isolation::on;
  launch.lease.task.job.value += 1'000'000;
  EXPECT_EQ(wait_for_ending(begin_in(nursery(Means{}), launch)).detail,
            "mounts need a mount namespace, which this agent cannot make");
}

TEST_F(Isolated, ItIsWhoItsAgentIs) {
  EXPECT_EQ(said_by(script("id -u; touch owned; stat -c %u owned")),
            std::to_string(::geteuid()) + "\n" + std::to_string(::geteuid()) + "\n");
}

TEST_F(Isolated, WhatIsInForceIsSaid) {
  const Means means = nursery().means();
  EXPECT_TRUE(means.mount_namespace && means.pid_namespace);
  EXPECT_EQ(means.user_namespace, ::geteuid() != 0);
  const std::string folder = begin(script("sleep 1000"));
  FakeAgent agent(folder);
  std::vector<std::string> words = {"a session of its own"};
  if (means.user_namespace) words.emplace_back("a user namespace");
  words.emplace_back("a mount namespace: private /tmp, other tasks hidden");
  words.emplace_back("a pid namespace");
  EXPECT_EQ(agent.running()->isolation, words);
  EXPECT_EQ(in_words(means, {}).back().substr(0, 9), "processes");
}

}  // namespace
}  // namespace cadre::supervisor
