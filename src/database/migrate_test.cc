#include "database/migrate.h"

#include <thread>

#include "database/backend_test.h"
#include "tests/servers/process.h"

namespace cadre::database {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::vector<Migration> steps{
    {1, "users",
     "CREATE TABLE users (id BIGINT PRIMARY KEY, name TEXT NOT NULL); INSERT INTO users VALUES (1, 'admin');"},
    {2, "tokens", "CREATE TABLE tokens (id BIGINT PRIMARY KEY, owner BIGINT REFERENCES users (id), secret BYTEA)"},
    {3, "user sizes", "ALTER TABLE users ADD COLUMN size DOUBLE PRECISION; UPDATE users SET size = 1.5;"},
};

std::span<const Migration> up_to(std::size_t version) { return std::span(steps).first(version); }

class MigrateContract : public BothEngines {
 protected:
  SilentLog log_;
};

TEST_P(MigrateContract, AppliesWhatIsMissingAndOnlyThat) {
  EXPECT_EQ(schema_version(*db_).value(), 0);
  ASSERT_DONE(migrate(*db_, "", up_to(1), log_));
  EXPECT_EQ(schema_version(*db_).value(), 1);
  for (int round = 0; round < 2; ++round) {
    ASSERT_DONE(migrate(*db_, "", steps, log_));
    EXPECT_EQ(schema_version(*db_).value(), 3);
    EXPECT_EQ(cell<double>(*db_, "SELECT size FROM users"), 1.5);
  }
}

TEST_P(MigrateContract, ADatabaseNewerThanTheProgramIsRefusedWithBothVersionsAndTheRemedy) {
  ASSERT_DONE(migrate(*db_, "", steps, log_));
  const auto older = migrate(*backend_.connect(), "", up_to(2), log_);
  EXPECT_ERROR(Errc::invalid, older);
  EXPECT_THAT(older.error().message,
              AllOf(HasSubstr("schema version 3"), HasSubstr("up to 2"), HasSubstr("newer release")));
  EXPECT_EQ(schema_version(*db_).value(), 3);
}

TEST_P(MigrateContract, AStepThatDiffersFromTheOneAppliedIsRefused) {
  ASSERT_DONE(migrate(*db_, "", up_to(2), log_));
  std::vector<Migration> changed = steps;
  changed[1].sql = "CREATE TABLE tokens (id BIGINT)";
  const auto refused = migrate(*db_, "", changed, log_);
  EXPECT_ERROR(Errc::invalid, refused);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("version 2"), HasSubstr("'tokens'")));
  EXPECT_EQ(schema_version(*db_).value(), 2);
}

TEST_P(MigrateContract, AFailedStepLeavesTheVersionBeforeIt) {
  std::vector<Migration> broken = steps;
  broken[2].sql = "ALTER TABLE users ADD COLUMN size DOUBLE PRECISION; UPDATE users SET nothing = 1;";
  const auto failed = migrate(*db_, "", broken, log_);
  EXPECT_ERROR(Errc::invalid, failed);
  EXPECT_THAT(failed.error().message, HasSubstr("migration 3 ('user sizes')"));
  EXPECT_EQ(schema_version(*db_).value(), 2);
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT size FROM users"));
  ASSERT_DONE(migrate(*db_, "", steps, log_));
}

TEST_P(MigrateContract, StepsAreNumberedWithoutGaps) {
  const std::vector<Migration> gap{steps[0], steps[2]};
  EXPECT_ERROR(Errc::invalid, migrate(*db_, "", gap, log_));
  EXPECT_EQ(schema_version(*db_).value(), 0);
}

TEST_P(MigrateContract, ManyProcessesAtOnceApplyEachStepOnce) {
  std::vector<pid_t> children;
  db_.reset();
  for (int child = 0; child < 6; ++child) {
    children.push_back(servers::fork_child([&] {
      const auto db = open(backend_.url());
      const auto done = db ? migrate(**db, "", steps, log_) : Result<void>(Failure(db.error()));
      if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
      return done ? 0 : 1;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(servers::wait_for(child), 0);
  db_ = backend_.connect();
  EXPECT_EQ(schema_version(*db_).value(), 3);
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT count(*) FROM users"), 1);
}

INSTANTIATE_FOR_BOTH_ENGINES(MigrateContract);

}  // namespace
}  // namespace cadre::database
