// A master that is no longer the only one, on a real PostgreSQL.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

#include "database/database.h"
#include "tests/e2e/cluster/test_cluster.h"
#include "tests/servers/postgres.h"
#include "tests/servers/process.h"

namespace cadre::e2e {
namespace {

using testing::HasSubstr;

/// As when tests run on PostgreSQL.
struct OnPostgres {
  OnPostgres() { ::setenv("CADRE_TEST_ENGINE", "postgresql", 1); }
  ~OnPostgres() { ::unsetenv("CADRE_TEST_ENGINE"); }
};

TEST(Successor, EndsAMasterThatHasNothingToWrite) {
  const OnPostgres engine;
  TestCluster cluster({"6s", {}});
  cluster.start_agent("a1");
  const std::uint64_t job = cluster.submit({"--slots", "1", "--", "sleep", "600"});
  ASSERT_TRUE(TestCluster::until([&] { return cluster.runs_on(job, "a1"); }));

  ::kill(cluster.master(), SIGSTOP);  // cut off from its database, and its lock is free
  database::open(servers::shared_postgres().url())
      .value()
      ->query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
          " AND datname = current_database()")
      .value();
  const TestCluster::Background successor =
      cluster.start_cadre({"master", "--data", cluster.folder() + "/m2", "--database", cluster.database_url(), "--port",
                           "0", "--agent-timeout", "6s"});
  ASSERT_TRUE(TestCluster::until([&] {
    return read_text(successor.err).find("the master is up") != std::string::npos;
  })) << read_text(successor.err);
  ::kill(cluster.master(), SIGCONT);
  const int code = servers::wait_for(cluster.master());
  EXPECT_NE(code, 0);
  EXPECT_THAT(read_text(cluster.folder() + "/master.log"), HasSubstr("another master has begun"));
  ::kill(successor.pid, SIGTERM);
  successor.wait();
  cluster.forget_master();
}

}  // namespace
}  // namespace cadre::e2e
