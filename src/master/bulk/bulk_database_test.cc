#include "master/bulk/bulk_database.h"

#include <gmock/gmock.h>

namespace cadre::master {
namespace {

using database::Transaction;
using testing::HasSubstr;

struct BulkDatabaseTest : testing::Test {
  void SetUp() override {
    auto opened = database::open("sqlite::memory:");
    ASSERT_TRUE(opened);
    ASSERT_TRUE((*opened)->exec("CREATE TABLE master (boot BIGINT NOT NULL)"));
    ASSERT_TRUE((*opened)->exec("INSERT INTO master (boot) VALUES (7)"));
    ASSERT_TRUE((*opened)->exec("CREATE TABLE written (value BIGINT NOT NULL)"));
    database = std::make_unique<BulkDatabase>(*std::move(opened), [this] { return boot; });
  }
  Result<std::int64_t> write() {
    return database->transaction(
        [](Transaction& transaction) { return transaction.exec("INSERT INTO written (value) VALUES (1)"); });
  }
  std::int64_t written() { return (*database->query("SELECT count(*) FROM written"))[0].get<std::int64_t>(0).value(); }

  std::uint64_t boot = 7;
  std::unique_ptr<BulkDatabase> database;
};

TEST_F(BulkDatabaseTest, WritesAsLongAsNoOtherMasterHasBegun) {
  ASSERT_TRUE(write());
  EXPECT_EQ(written(), 1);
}

TEST_F(BulkDatabaseTest, WritesNothingOnceAnotherMasterHasBegun) {
  boot = 6;
  const Result<std::int64_t> refused = write();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_THAT(refused.error().message, HasSubstr("another master"));
  EXPECT_EQ(written(), 0);
  boot = 7;  // this one has begun again
  EXPECT_TRUE(write());
}

}  // namespace
}  // namespace cadre::master
