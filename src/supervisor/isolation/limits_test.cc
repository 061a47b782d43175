// What a task may use at most: memory, processes, processor time; with control groups and without.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <sstream>

#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using namespace cluster::supervision;
using cluster::Isolation;
using cluster::lease::Reason;

constexpr rlim_t files_min = 2048;  // below that tasks keep the limit of their agent
constexpr const char* more_files = "raise the hard limit of open files (ulimit -Hn) to 2048 or more";

class Limits : public Rig {
 protected:
  ~Limits() override {
    end_all();
    remove_cgroups(groups_);
  }

  Launch glutton() const {
    Launch launch = program({"/usr/bin/python3", "-c",
                             "import time\nx = []\n"
                             "for i in range(200): x.append(bytearray(b'1' * (4 << 20))); time.sleep(0.01)\n"});
    launch.limits.memory = ByteSize{std::int64_t{96} << 20};
    launch.cgroup = groups_;
    return launch;
  }
  static bool has_words(const Status& status, const std::string& words) {
    for (const std::string& line : status.isolation) {
      if (line.find(words) != std::string::npos) return true;
    }
    return false;
  }

  CgroupParent groups_;
};

/// With the control groups that this host has.
class LimitsByCgroup : public Limits, public ::testing::WithParamInterface<int> {
 protected:
  LimitsByCgroup() { groups_ = prepare_cgroups("cadre-test-" + new_mark()); }
};

TEST_P(LimitsByCgroup, Memory) {
  const auto ending = run(glutton());
  EXPECT_EQ(ending.reason, Reason::out_of_memory);
  EXPECT_EQ(ending.code, SIGKILL);
  EXPECT_EQ(ending.detail, "used 96MiB of 96MiB of memory");
}

TEST_P(LimitsByCgroup, MemoryOfAChildEndsTheTask) {
  Launch launch = glutton();
  launch.command.argv = {"/bin/sh",          "-c", "\"$@\"; sleep 1000",      "sh",
                         "/usr/bin/python3", "-c", launch.command.argv.back()};
  EXPECT_EQ(run(launch).reason, Reason::out_of_memory);
}

TEST_P(LimitsByCgroup, HoldWithoutIsolation) {
  isolation = Isolation::off;
  EXPECT_EQ(run(glutton()).detail, "used 96MiB of 96MiB of memory");
  Launch launch = script("exec sleep 1000");
  launch.cgroup = groups_;
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  const auto status = agent.running();
  ASSERT_TRUE(status);
  const std::string group = groups_.folders.at("pids") + "/" + cgroup_name(launch.lease);
  EXPECT_EQ(read_file(group + "/cgroup.procs").value_or(""), std::to_string(status->pid) + "\n")
      << "also without limits, so that all of it can be killed";
}

TEST_F(Limits, MemoryByWatchingWithIsolation) {
  const auto ending = run(glutton());
  EXPECT_EQ(ending.reason, Reason::out_of_memory);
  EXPECT_TRUE(ending.detail.ends_with("of 96MiB of memory")) << ending.detail;
  EXPECT_GT(ending.usage.memory_most, ByteSize{std::int64_t{96} << 20});
}

TEST_F(Limits, MemoryByWatchingThePlainTree) {
  isolation = Isolation::off;
  Launch launch = glutton();
  launch.command.argv = {"/bin/sh",          "-c", "setsid \"$@\" & sleep 1000", "sh",
                         "/usr/bin/python3", "-c", launch.command.argv.back()};
  EXPECT_EQ(run(launch).reason, Reason::out_of_memory);
}

TEST_F(Limits, SharedMemoryCountsOnceWhenItIsWatched) {
  Launch launch = program({"/usr/bin/python3", "-c",
                           "import os, time\n"
                           "x = bytearray(b'1' * (40 << 20))\n"
                           "for i in range(5):\n"
                           "    if os.fork() == 0: time.sleep(1000)\n"
                           "time.sleep(1.5)\n"});
  launch.limits.memory = ByteSize{std::int64_t{96} << 20};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::exited) << ending.detail;
}

TEST_F(Limits, FilesInSharedMemoryCountWhenItIsWatched) {
  Launch launch = script("stat -f -c '%b %S' /dev/shm; head -c 200M /dev/zero > /dev/shm/file; sleep 1000");
  launch.limits.memory = ByteSize{std::int64_t{96} << 20};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::out_of_memory);
  EXPECT_TRUE(ending.detail.ends_with("of 96MiB of memory")) << ending.detail;
  std::istringstream said(output(last_folder));
  std::int64_t blocks = 0;
  std::int64_t block_bytes = 0;
  said >> blocks >> block_bytes;
  EXPECT_EQ(ByteSize{blocks * block_bytes}, launch.limits.memory);
}

TEST_F(Limits, FilesInSharedMemoryThatAreMappedCountOnceWhenItIsWatched) {
  Launch launch = program({"/usr/bin/python3", "-c",
                           "import mmap, time\n"
                           "file = open('/dev/shm/file', 'wb+')\n"
                           "file.truncate(60 << 20)\n"
                           "x = mmap.mmap(file.fileno(), 0)\n"
                           "for i in range(60): x[i << 20:(i + 1) << 20] = b'1' * (1 << 20)\n"
                           "time.sleep(1.5)\n"});
  launch.limits.memory = ByteSize{std::int64_t{96} << 20};
  const auto ending = run(launch);
  EXPECT_EQ(ending.reason, Reason::exited) << ending.detail;
}

TEST_F(Limits, TheKernelKillsATaskBeforeAnAgent) {
  const std::string folder = begin(script("cat /proc/self/oom_score_adj"));
  wait_for_ending(folder);
  EXPECT_EQ(output(folder), "500\n");
}

TEST_F(Limits, ATaskMayOpenHalfAsManyFilesAsItsAgent) {
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
  ASSERT_GE(own.rlim_max, files_min) << more_files;
  const std::string folder = begin(script("ulimit -Hn"));
  wait_for_ending(folder);
  EXPECT_EQ(output(folder), std::to_string(own.rlim_max / 2) + "\n");
}

TEST_F(Limits, DescriptorsThatATaskSendsDoNotKeepOthersFromStarting) {
  rlimit own{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &own), 0);
  if (::geteuid() == 0) return;  // root may send any number; the run as an ordinary user does this
  ASSERT_GE(own.rlim_max, files_min) << more_files;
  const rlimit raised{own.rlim_max, own.rlim_max};  // as agents do
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &raised), 0);
  const std::string flood = begin(program({"/usr/bin/python3", "-c",
                                           "import array, resource, socket, time\n"
                                           "most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
                                           "resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))\n"
                                           "kept = []\n"
                                           "try:\n"
                                           "    while True:\n"
                                           "        kept.append(socket.socketpair())\n"
                                           "        kept[-1][0].setblocking(False)\n"
                                           "        fds = array.array('i', [0] * 250)\n"
                                           "        try:\n"
                                           "            while True: kept[-1][0].sendmsg([b'x'], [(socket.SOL_SOCKET, "
                                           "socket.SCM_RIGHTS, fds)])\n"
                                           "        except BlockingIOError: pass\n"
                                           "except OSError as error: print(error.errno, flush=True)\n"
                                           "time.sleep(1000)\n"}));
  wait_for("its end of sending", [&] { return !output(flood).empty(); });
  EXPECT_EQ(output(flood), std::to_string(ETOOMANYREFS) + "\n");
  EXPECT_EQ(run(program({"true"})).code, 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &own), 0);
}

TEST_P(LimitsByCgroup, DoNotAffectAProcessBelowThem) {
  Launch launch = program({"/usr/bin/python3", "-c", "x = bytearray(b'1' * (8 << 20))"});
  launch.limits.memory = ByteSize{std::int64_t{96} << 20};
  launch.limits.processes = 8;
  launch.limits.cpus.milli = 500;
  launch.cgroup = groups_;
  const std::string folder = begin(launch);
  const auto ending = wait_for_ending(folder);
  EXPECT_EQ(ending.reason, Reason::exited) << ending.detail;
  EXPECT_EQ(ending.code, 0);
  EXPECT_GT(ending.usage.memory_most, ByteSize{8 << 20});
}

const char* const bomb =
    "import os, time\n"
    "n = refused = 0\n"
    "for i in range(2000):\n"
    "    try:\n"
    "        if os.fork() == 0: time.sleep(1000)\n"
    "        n += 1\n"
    "    except OSError: refused += 1\n"
    "print(n, refused, flush=True)\n"
    "time.sleep(1000)\n";

TEST_P(LimitsByCgroup, AForkBombIsContained) {
  Launch launch = program({"/usr/bin/python3", "-c", bomb});
  launch.limits.processes = 20;
  launch.cgroup = groups_;
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  const auto status = agent.status([](const Status& seen) { return seen.output_end > 0 && seen.usage.processes > 0; });
  ASSERT_TRUE(status);
  EXPECT_EQ(output(folder), "19 1981\n");
  EXPECT_EQ(status->usage.processes, 20);
  EXPECT_TRUE(has_words(*status, "cgroup version " + std::to_string(GetParam()) + ": at most 20 processes"));
  agent.send(Stop{Reason::killed_by_user, Duration{0}});
  EXPECT_EQ(wait_for_ending(folder).code, SIGKILL);
}

TEST_F(Limits, AForkBombIsContainedByTheUserNamespace) {
  if (!nursery().features().user_namespace) return;  // root is not limited by it; the run as an ordinary user does this
  Launch launch = program({"/usr/bin/python3", "-c", bomb});
  launch.limits.processes = 20;
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  const auto status = agent.status([](const Status& seen) { return seen.output_end > 0; });
  ASSERT_TRUE(status);
  EXPECT_EQ(output(folder), "19 1981\n");
  EXPECT_TRUE(has_words(*status, "processes are limited by the user namespace"));
}

TEST_F(Limits, ReportsMissingFeatures) {
  isolation = Isolation::off;
  Launch launch = script("sleep 1000");
  launch.limits.processes = 20;
  launch.limits.cpus.milli = 100;
  launch.limits.memory = ByteSize{1 << 30};
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  const auto status = agent.running();
  ASSERT_TRUE(status);
  EXPECT_TRUE(has_words(*status, "memory is monitored"));
  EXPECT_TRUE(has_words(*status, "cpus are not limited"));
  EXPECT_TRUE(has_words(*status, "processes are not limited"));
}

TEST_P(LimitsByCgroup, Cpus) {
  Launch launch = script("while :; do :; done");
  launch.limits.cpus.milli = 250;
  launch.cgroup = groups_;
  const std::string folder = begin(launch);
  FakeAgent agent(folder);
  const auto status = agent.running();
  ASSERT_TRUE(status);
  EXPECT_TRUE(has_words(*status, "at most 0.25 cpus"));
  const std::string group = groups_.folders.at("cpu") + "/" + cgroup_name(launch.lease);
  if (GetParam() == 2) {
    EXPECT_EQ(read_file(group + "/cpu.max").value_or(""), "25000 100000\n");
  } else {
    EXPECT_EQ(read_file(group + "/cpu.cfs_quota_us").value_or(""), "25000\n");
    EXPECT_EQ(read_file(group + "/cpu.cfs_period_us").value_or(""), "100000\n");
  }
  EXPECT_EQ(read_file(group + "/cgroup.procs").value_or(""), std::to_string(status->pid) + "\n");
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LimitsByCgroup);
INSTANTIATE_TEST_SUITE_P(Version, LimitsByCgroup, ::testing::ValuesIn(live_cgroups()),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace cadre::supervisor
