// Clients that keep their jobs alive, and what becomes of these when their client or the master is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "bench/cluster_for_bench.h"
#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
using cluster::JobStage;
using testing::HasSubstr;
namespace requests = cluster::requests;

/// A client that attends until it is stopped, whatever becomes of the master in between.
class AttendingClient {
 public:
  AttendingClient(const TestCluster& cluster, std::string session)
      : cluster_(cluster), session_(std::move(session)), client_(bench::Client::connect(cluster.data()).value()) {
    EXPECT_TRUE(attend(*client_, 0s));
    thread_ = std::thread([this] {
      const auto own = bench::Client::connect(cluster_.data()).value();
      while (!is_silent_) {
        if (!attend(*own, 1s)) std::this_thread::sleep_for(50ms);
      }
    });
  }
  AttendingClient(const AttendingClient&) = delete;
  AttendingClient& operator=(const AttendingClient&) = delete;
  ~AttendingClient() { fall_silent(); }

  void fall_silent() {
    is_silent_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::vector<std::uint64_t> submit(std::size_t count) {
    requests::Submit actor = bench::job_of({"sleep", "1000"});
    actor.job.session = cluster::SessionId(session_);
    actor.job.actor = "Sleeper";
    actor.job.members[0].slots = 1;
    const std::vector<requests::JobView> jobs = client_->ask(std::vector(count, actor)).value();
    std::vector<std::uint64_t> ids;
    for (const requests::JobView& job : jobs) ids.push_back(job.id.value);
    return ids;
  }
  /// Jobs of which it was told that a task of theirs runs.
  std::size_t running() {
    const std::lock_guard lock(mutex_);
    return running_.size();
  }
  bench::Client& client() { return *client_; }

 private:
  /// A master that is not there is asked anew soon.
  static loop::Task<void> ask(bench::Client& client, const requests::KeepSession& request,
                              Result<requests::SessionNews>& news) {
    news = co_await client.connection().ask(request, 2s);
  }
  bool attend(bench::Client& client, Duration wait) {
    const requests::KeepSession request{cluster::SessionId(session_), "here", 1, "test", seen_, wait};
    Result<requests::SessionNews> news;
    std::vector<loop::Task<void>> tasks;
    tasks.push_back(ask(client, request, news));
    client.run_all(std::move(tasks));
    if (!news) return false;
    seen_ = news->version;
    const std::lock_guard lock(mutex_);
    for (const requests::JobView& job : news->jobs) {
      const bool runs = !job.tasks.empty() && job.tasks.front().stage == cluster::lease::Stage::running;
      runs ? void(running_.insert(job.id.value)) : void(running_.erase(job.id.value));
    }
    return true;
  }

  const TestCluster& cluster_;
  const std::string session_;
  std::unique_ptr<bench::Client> client_;
  std::uint64_t seen_ = 0;
  std::atomic<bool> is_silent_ = false;
  std::mutex mutex_;
  std::set<std::uint64_t> running_;
  std::thread thread_;
};

TEST(Sessions, TakeTheirJobsWithThemWhenTheirClientIsSilent) {
  TestCluster cluster;
  cluster.start_agent("a1");
  AttendingClient client(cluster, "s1");
  AttendingClient other(cluster, "s2");
  const auto ids = client.submit(3);
  const auto kept = other.submit(1);
  ASSERT_TRUE(TestCluster::until([&] { return client.running() == 3 && other.running() == 1; }));
  EXPECT_THAT(cluster.cadre({"session", "list"}).out, HasSubstr("s1"));
  EXPECT_THAT(cluster.cadre({"actor", "list", "--session", "s1"}).out, HasSubstr("Sleeper"));
  client.fall_silent();
  for (const std::uint64_t id : ids) {
    const requests::JobView job = cluster.wait_for_end(id);
    EXPECT_EQ(job.reason, cluster::lease::Reason::killed_by_user);
    EXPECT_EQ(job.detail, "its client sent no heartbeat for 5 s");
  }
  EXPECT_TRUE(TestCluster::until([&] { return cluster.task_processes("a1").size() == 1; }));  // the other's
  EXPECT_EQ(cluster.job(kept.front()).stage, JobStage::running);
  EXPECT_EQ(other.submit(3).size(), 3U);  // the places are free
  EXPECT_TRUE(TestCluster::until([&] { return other.running() == 4; }));
  EXPECT_THAT(cluster.cadre({"session", "list"}).out, testing::Not(HasSubstr("s1")));
  EXPECT_EQ(cluster.cadre({"session", "end", "s2"}).code, 0);
  EXPECT_EQ(cluster.wait_for_end(kept.front()).detail, "its client ended the session");
}

TEST(Sessions, GoOnThroughTheDeathOfTheMaster) {
  TestCluster cluster;
  cluster.start_agent("a1");
  AttendingClient client(cluster, "s1");
  AttendingClient gone(cluster, "s2");
  const auto ids = client.submit(2);
  const auto lost = gone.submit(1);
  ASSERT_TRUE(TestCluster::until([&] { return client.running() == 2 && gone.running() == 1; }));
  cluster.kill_master();
  gone.fall_silent();
  cluster.start_master();
  EXPECT_EQ(cluster.wait_for_end(lost.front()).detail, "its client sent no heartbeat for 5 s");
  for (const std::uint64_t id : ids) {
    EXPECT_EQ(cluster.job(id).stage, JobStage::running);
    EXPECT_EQ(cluster.job(id).runs, 1);
  }
  EXPECT_EQ(client.submit(1).size(), 1U);
  EXPECT_TRUE(TestCluster::until([&] { return client.running() == 3; }));
  EXPECT_EQ(cluster.cadre({"actor", "kill", std::to_string(ids.front())}).code, 0);
  EXPECT_TRUE(TestCluster::until([&] { return client.running() == 2; }));
}

TEST(Sessions, GoOnThroughAPauseOfTheMaster) {
  TestCluster cluster;
  cluster.start_agent("a1");
  AttendingClient client(cluster, "s1");
  const auto ids = client.submit(1);
  ASSERT_TRUE(TestCluster::until([&] { return client.running() == 1; }));
  ::kill(cluster.master(), SIGSTOP);
  std::this_thread::sleep_for(7s);  // longer than a client may be silent
  ::kill(cluster.master(), SIGCONT);
  EXPECT_EQ(client.submit(1).size(), 1U);
  EXPECT_TRUE(TestCluster::until([&] { return client.running() == 2; }));
  EXPECT_TRUE(TestCluster::until([&] { return cluster.job(ids.front()).stage == JobStage::running; }));
  EXPECT_EQ(cluster.job(ids.front()).runs, 1);
}

}  // namespace
}  // namespace cadre::e2e
