// Finding and filling control groups: version 2 on a folder that looks like one, version 1 as it is on this host.
#include "supervisor/isolation/cgroup.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/rig.h"

namespace cadre::supervisor {
namespace {

using cluster::supervision::CgroupParent;

class FakeVersion2 : public Rig {
 protected:
  FakeVersion2() {
    sources.own = file("own", "0::/user.slice/agent.service\n");
    sources.mounts =
        file("mounts", "30 23 0:26 / " + root + "/fs rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    own = root + "/fs/user.slice/agent.service";
    std::filesystem::create_directories(own + "/cadre");
    file("fs/user.slice/agent.service/cgroup.controllers", "cpuset cpu io memory pids\n");
    file("fs/user.slice/agent.service/cgroup.subtree_control", "");
    file("fs/user.slice/agent.service/cadre/cgroup.subtree_control", "");
  }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(root + "/" + name) << text;
    return root + "/" + name;
  }
  std::string in(const std::string& path) const { return read_file(path).value_or("no such file"); }
  /// The files that the kernel would put into a new group.
  std::string make_group(const std::string& name) const {
    const std::string folder = own + "/cadre/" + name;
    std::filesystem::create_directories(folder);
    for (const char* each :
         {"memory.max", "memory.swap.max", "memory.oom.group", "cpu.max", "pids.max", "cgroup.procs", "cgroup.kill",
          "memory.current", "memory.peak", "memory.stat", "memory.events", "cpu.stat", "pids.current"}) {
      std::ofstream(folder + "/" + each) << "";
    }
    return folder;
  }

  CgroupSources sources;
  std::string own;
};

TEST_F(FakeVersion2, IsTakenWhereControllersAreDelegated) {
  const CgroupParent parent = prepare_cgroups("cadre", sources);
  EXPECT_EQ(parent.version, 2);
  EXPECT_EQ(parent.folders.size(), 3U);
  EXPECT_EQ(parent.folders.at("memory"), own + "/cadre");
  EXPECT_EQ(in(own + "/cgroup.subtree_control"), "+memory +cpu +pids");
  EXPECT_EQ(in(own + "/cadre/cgroup.subtree_control"), "+memory +cpu +pids");
}

TEST_F(FakeVersion2, IsNotTakenWithoutControllers) {
  file("fs/user.slice/agent.service/cgroup.controllers", "\n");
  EXPECT_EQ(prepare_cgroups("cadre", sources).version, 0);
}

TEST_F(FakeVersion2, LimitsAreWrittenAsTheKernelReadsThem) {
  const CgroupParent parent = prepare_cgroups("cadre", sources);
  const std::string folder = make_group("17.0-3");
  cluster::TaskLimits limits;
  limits.memory = ByteSize{std::int64_t{512} << 20};
  limits.cpus.milli = 1500;
  limits.processes = 40;
  const Cgroup group = Cgroup::make(parent, "17.0-3", limits, Cgroup::Purpose::limits);
  EXPECT_EQ(in(folder + "/memory.max"), "536870912");
  EXPECT_EQ(in(folder + "/memory.swap.max"), "0");
  EXPECT_EQ(in(folder + "/memory.oom.group"), "1");
  EXPECT_EQ(in(folder + "/cpu.max"), "150000 100000");
  EXPECT_EQ(in(folder + "/pids.max"), "40");
  EXPECT_EQ(group.in_words(), "cgroup version 2: at most 1.5 cpus, at most 512MiB of memory, at most 40 processes");
  ASSERT_TRUE(group.enter());
  EXPECT_EQ(in(folder + "/cgroup.procs"), "0");
  group.kill();
  EXPECT_EQ(in(folder + "/cgroup.kill"), "1");
}

TEST_F(FakeVersion2, UseIsReadAsTheKernelWritesIt) {
  const CgroupParent parent = prepare_cgroups("cadre", sources);
  const std::string folder = make_group("17.0-3");
  const Cgroup group = Cgroup::existing(parent, "17.0-3");
  std::ofstream(folder + "/memory.current") << "1000000\n";
  std::ofstream(folder + "/memory.peak") << "3000000\n";
  std::ofstream(folder + "/memory.stat") << "anon 5\ninactive_file 400000\nactive_file 7\n";
  std::ofstream(folder + "/memory.events") << "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
  std::ofstream(folder + "/cpu.stat") << "usage_usec 2500000\nuser_usec 1\n";
  std::ofstream(folder + "/pids.current") << "7\n";
  const GroupUse use = group.use();
  EXPECT_EQ(use.memory, ByteSize{600'000});
  EXPECT_EQ(use.memory_most, ByteSize{3'000'000});
  EXPECT_EQ(use.cpu_time, std::chrono::milliseconds(2500));
  EXPECT_EQ(use.processes, 7);
  EXPECT_EQ(group.oom_kills(), 2);
}

TEST_F(FakeVersion2, NoGroupIsMadeForATaskWithoutLimits) {
  const CgroupParent parent = prepare_cgroups("cadre", sources);
  const Cgroup group = Cgroup::make(parent, "18.0-1", {}, Cgroup::Purpose::limits);
  EXPECT_FALSE(group.can_kill());
  EXPECT_EQ(group.in_words(), "");
  EXPECT_FALSE(std::filesystem::exists(own + "/cadre/18.0-1"));
}

TEST_F(FakeVersion2, AContainerThatSeesOnlyItsPart) {
  sources.own = file("own", "0::/docker/abc\n");
  sources.mounts = file("mounts", "30 23 0:26 /docker/abc " + own + " rw - cgroup2 cgroup2 rw\n");
  EXPECT_EQ(prepare_cgroups("cadre", sources).folders.at("pids"), own + "/cadre");
}

TEST_F(FakeVersion2, NonsenseIsNoGroup) {
  for (const char* text : {"", "garbage", "0:", "::::\n\n:", "1:memory\n2", "0::/x\n"}) {
    sources.own = file("own", text);
    for (const char* mounts :
         {"", "a b c", "1 2 3 / /nowhere rw - cgroup2", "1 2 3 / /nowhere rw - cgroup cgroup rw"}) {
      sources.mounts = file("mounts", mounts);
      EXPECT_EQ(prepare_cgroups("cadre", sources).version, 0);
    }
  }
}

class LiveGroups : public Rig, public ::testing::WithParamInterface<int> {};

TEST_P(LiveGroups, AreMadeBelowOurOwn) {
  const CgroupParent parent = prepare_cgroups("cadre-test-" + new_mark());
  EXPECT_EQ(parent.version, GetParam());
  for (const char* controller : {"memory", "cpu", "pids"}) {
    ASSERT_TRUE(parent.folders.contains(controller)) << controller;
    EXPECT_TRUE(std::filesystem::exists(parent.folders.at(controller) + "/cgroup.procs"));
  }
  remove_cgroups(parent);
  EXPECT_FALSE(std::filesystem::exists(parent.folders.at("memory")));
}

TEST_P(LiveGroups, OfKilledAgentsAreRemovedAndThoseOfOthersAreNot) {
  const std::string mark = "cadre-test-" + new_mark();
  const CgroupParent ours = prepare_cgroups(mark + "-ours");
  const CgroupParent dead = prepare_cgroups(mark + "-dead");
  const CgroupParent alive = prepare_cgroups(mark + "-alive");
  const CgroupParent other = prepare_cgroups(mark.substr(0, 5) + "other-" + new_mark());
  for (const auto& [controller, folder] : dead.folders) std::filesystem::create_directory(folder + "/1.0-1");
  {
    const CgroupHold hold(alive);
    remove_abandoned_cgroups(ours, mark);
    for (const auto& [controller, folder] : dead.folders) EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
    for (const CgroupParent& kept : {ours, alive, other}) {
      for (const auto& [controller, folder] : kept.folders) EXPECT_TRUE(std::filesystem::exists(folder)) << folder;
    }
  }
  remove_abandoned_cgroups(ours, mark);
  for (const auto& [controller, folder] : alive.folders) EXPECT_FALSE(std::filesystem::exists(folder)) << folder;
  remove_cgroups(ours);
  remove_cgroups(other);
}

/// Where no group can be made, LiveGroups, LimitsByCgroup, AdoptionByCgroup and SupervisorKilledInGroups have no
/// instances and would be missed by nobody. To root that is a failure; for an ordinary user it is said, and what a task
/// then has in their place is checked.
TEST(CgroupsOfThisHost, AreWritableForRootAndTheirAbsenceIsHandled) {
  if (!live_cgroups().empty()) return;  // the tests named above run
  ASSERT_NE(::geteuid(), 0U)
      << "no control group can be made here, so the tests of control groups did not run; run them "
         "where /sys/fs/cgroup is writable";
  std::fprintf(stderr, "control groups are not writable for this user: tests of live groups do not run\n");
  const CgroupParent parent = prepare_cgroups("cadre-test-none");
  EXPECT_EQ(parent.version, 0);
  EXPECT_TRUE(parent.folders.empty());
  cluster::TaskLimits limits;
  limits.memory = ByteSize{64 << 20};
  limits.processes = 10;
  Cgroup group = Cgroup::make(parent, "1.0-1", limits, Cgroup::Purpose::limits_and_killing);
  for (const char* controller : {"memory", "cpu", "pids"}) EXPECT_FALSE(group.holds(controller)) << controller;
  EXPECT_FALSE(group.can_kill());
  EXPECT_EQ(group.in_words(), "");
  EXPECT_TRUE(group.enter());
  EXPECT_EQ(group.oom_kills(), 0);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LiveGroups);
INSTANTIATE_TEST_SUITE_P(Version, LiveGroups, ::testing::ValuesIn(live_cgroups()), ::testing::PrintToStringParamName());

}  // namespace
}  // namespace cadre::supervisor
