// Disks that are full, and then not any more: nothing is lost, and everybody is told why nothing happens.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using cluster::JobStage;
using cluster::lease::Reason;
using testing::HasSubstr;

constexpr std::int64_t megabyte = 1 << 20;

/// Takes all that is left of a file system, as long as it lives.
class Filler {
 public:
  explicit Filler(const std::string& folder) : path_(folder + "/filler") {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    const std::vector<char> bytes(4096, 'x');
    while (::write(file, bytes.data(), bytes.size()) > 0) {
    }
    ::close(file);
  }
  Filler(const Filler&) = delete;
  Filler& operator=(const Filler&) = delete;
  ~Filler() { std::filesystem::remove(path_); }

 private:
  std::string path_;
};

TEST(FullDisk, OfTheMasterHoldsEverythingUpAndLosesNothing) {
  WITH_OWN_MOUNTS();
  TestCluster cluster({"3s", {}, 16 * megabyte});
  cluster.start_agent("a1");
  const std::uint64_t before = cluster.submit({"--slots", "1", "--", "sh", "-c", "sleep 1; echo here; exit 4"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.job(before).stage == JobStage::running; }));
  const bool holds_records = cluster.database_url().starts_with("sqlite:");
  if (!holds_records) {
    const Filler filler(cluster.data());
    EXPECT_EQ(cluster.wait_for_end(before).code, 4);
    EXPECT_EQ(cluster.output(before), "");
  } else {
    const Filler filler(cluster.data());
    // Beats change nothing and need no room; the first that does is the end of the task, or this.
    ASSERT_TRUE(TestCluster::until([&] {
      const Said said = cluster.cadre({"run", "--detach", "--", "true"});
      return said.code != 0 && said.err.find("the master cannot write to its database") != std::string::npos;
    }));
    const Said said = cluster.cadre({"status"});
    EXPECT_NE(said.code, 0);
    EXPECT_THAT(said.err, HasSubstr("the disk is full"));
  }
  ASSERT_TRUE(TestCluster::until([&] { return cluster.cadre({"status"}).code == 0; }));
  const auto job = cluster.wait_for_end(before);
  EXPECT_EQ(job.code, 4);
  EXPECT_TRUE(TestCluster::until([&] { return cluster.output(before) == "here\n"; }));
  EXPECT_EQ(cluster.cadre({"run", "--slots", "1", "--", "echo", "again"}).out, "again\n");
  EXPECT_THAT(read_text(cluster.folder() + "/master.log"),
              HasSubstr(holds_records ? "cannot write to the database, so no requests are handled"
                                      : "output cannot be stored"));
}

/// A cluster with one agent whose data folder is a file system of some megabytes.
struct SmallAgent {
  SmallAgent() {
    std::filesystem::create_directory(folder);
    disk = std::make_unique<servers::SmallDisk>(folder, 4 * megabyte);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    cluster.start_agent("a1");
  }
  /// With notes, which are printed on standard error.
  std::string log(std::uint64_t id) const {
    const Said said = cluster.cadre({"task", "logs", std::to_string(id)});
    return said.out + said.err;
  }

  TestCluster cluster{{"30s", {}}};
  std::string folder = cluster.agent_folder("a1");
  std::unique_ptr<servers::SmallDisk> disk;
};

TEST(FullDisk, OfAnAgentStopsItFromTakingWorkAndHoldsOutputBack) {
  WITH_OWN_MOUNTS();
  SmallAgent small;
  TestCluster& cluster = small.cluster;
  const std::string go = cluster.folder() + "/go";
  const std::uint64_t writer = cluster.submit(TestCluster::on_the_host(
      {"--slots", "1"}, {"sh", "-c", "while [ ! -e " + go + " ]; do sleep 0.05; done; seq 1 100000; exit 3"}));
  ASSERT_TRUE(TestCluster::until([&] { return cluster.job(writer).stage == JobStage::running; }));
  std::vector<std::uint64_t> waiting;
  {
    const Filler filler(small.folder);
    write_text(go, "");
    for (int i = 0; i < 5; ++i) waiting.push_back(cluster.submit({"--slots", "1", "--", "true"}));
    ASSERT_TRUE(TestCluster::until([&] {
      return cluster.cadre({"why", std::to_string(waiting[0])}).out.find("the disk is full") != std::string::npos;
    })) << cluster.cadre({"why", std::to_string(waiting[0])}).out;
    EXPECT_THAT(cluster.cadre({"status"}).out, HasSubstr("the disk is full"));
    EXPECT_THAT(cluster.cadre({"agent", "list"}).out, HasSubstr("the disk is full"));
    for (const std::uint64_t id : waiting) {
      EXPECT_EQ(cluster.job(id).stage, JobStage::queued) << "an empty queue would be worse";
    }
    EXPECT_EQ(cluster.job(writer).stage, JobStage::running) << "it waits until it can write";
  }
  EXPECT_EQ(cluster.wait_for_end(writer).code, 3);
  std::string all;
  for (int i = 1; i <= 100'000; ++i) all += std::to_string(i) + "\n";
  EXPECT_TRUE(TestCluster::until([&] { return cluster.output(writer) == all; }))
      << "of " << all.size() << " there are " << cluster.output(writer).size();
  for (const std::uint64_t id : waiting) {
    const auto job = cluster.wait_for_end(id);
    EXPECT_EQ(job.reason, Reason::exited) << job.detail;
    EXPECT_EQ(job.code, 0);
  }
  EXPECT_EQ(cluster.cadre({"run", "--slots", "1", "--", "echo", "again"}).out, "again\n");
}

/// Fills what is left of the disk with a file of its own, and the rest with single bytes.
const char* const fill =
    "cat /dev/zero > filler 2>/dev/null; while printf x >> filler 2>/dev/null; do :; done; echo filled >&2; ";

TEST(FullDisk, LetsATaskThatFilledItEndAndMarksWhatIsLost) {
  WITH_OWN_MOUNTS();
  SmallAgent small;
  const std::uint64_t id =
      small.cluster.submit({"--slots", "1", "--", "sh", "-c", std::string(fill) + "seq 1 1000; exit 3"});
  const auto job = small.cluster.wait_for_end(id);
  EXPECT_EQ(job.reason, Reason::exited) << job.detail;
  EXPECT_EQ(job.code, 3);
  EXPECT_TRUE(TestCluster::until([&] {
    return small.log(id).find(" bytes of output are lost here: they could not be written") != std::string::npos;
  })) << small.log(id);
  EXPECT_GT(job.tasks.at(0).ending->output_lost, 0);
  // Its files went with it.
  EXPECT_EQ(small.cluster.wait_for_end(small.cluster.submit({"--slots", "1", "--", "sh", "-c", "exit 4"})).code, 4);
}

TEST(FullDisk, LetsATaskThatFilledItBeStoppedAndKilled) {
  WITH_OWN_MOUNTS();
  SmallAgent small;
  for (const char* how : {"stop", "kill"}) {
    const std::string full = small.cluster.folder() + "/full-" + how;
    const std::uint64_t id =
        small.cluster.submit({"--slots", "1", "--isolation", "off", "--grace", "1s", "--", "sh", "-c",
                              std::string(fill) + "touch " + full + "; seq 1 100000; sleep 1000"});
    ASSERT_TRUE(TestCluster::until([&] { return std::filesystem::exists(full); }));
    EXPECT_EQ(small.cluster.cadre({"task", how, std::to_string(id)}).code, 0);
    EXPECT_EQ(small.cluster.wait_for_end(id).reason, Reason::killed_by_user) << how;
    EXPECT_TRUE(TestCluster::until([&] { return small.cluster.processes("a1").empty(); })) << how;
    EXPECT_EQ(small.cluster.wait_for_end(small.cluster.submit({"--slots", "1", "--", "sh", "-c", "exit 4"})).code, 4);
  }
}

}  // namespace
}  // namespace cadre::e2e
