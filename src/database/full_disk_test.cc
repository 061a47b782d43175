// Fills real, small file systems through the interface: the error must name the remedy, and nothing acknowledged is
// lost.
#include <sys/stat.h>

#include <fstream>
#include <set>

#include "base/dice.h"
#include "database/backend_test.h"
#include "tests/servers/small_disk.h"

namespace cadre::database {
namespace {

using servers::PostgresServer;
using servers::SmallDisk;
using testing::HasSubstr;

constexpr std::int64_t megabyte = 1 << 20;

Bytes noise(Dice& dice, std::size_t size) {  // does not compress
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(dice.bits());
  return bytes;
}

struct Filling {
  std::set<std::int64_t> acknowledged, unknown;
  Error error;
};

/// Writes until an error comes.
Filling fill(Database& db, std::int64_t first) {
  Filling filling;
  Dice dice(static_cast<std::uint64_t>(first));
  for (std::int64_t id = first; id < first + 10'000; ++id) {
    const auto done = db.transaction([&](Transaction& transaction) {
      return transaction.exec("INSERT INTO kept (id, body) VALUES ($1, $2)", {id, noise(dice, 20'000)});
    });
    if (done) {
      filling.acknowledged.insert(id);
      continue;
    }
    if (done.error().code == Errc::timed_out) filling.unknown.insert(id);
    filling.error = done.error();
    return filling;
  }
  return filling;
}

/// Takes the last byte of space.
void take_all_space(const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  const std::string block(4'096, 'x');
  while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) continue;
}

/// All that was acknowledged is there, and nothing else but what may be.
void expect_kept(Database& db, const Filling& filling) {
  std::set<std::int64_t> found;
  const Rows rows = db.query("SELECT id, body FROM kept WHERE id >= 0").value();
  for (const Row row : rows) {
    found.insert(row.get<std::int64_t>(0).value());
    EXPECT_EQ(row.get<BytesView>(1)->size(), 20'000);
  }
  for (const std::int64_t id : filling.unknown) found.erase(id);
  EXPECT_EQ(found, filling.acknowledged);
  EXPECT_FALSE(found.empty());
}

TEST(FullDisk, SqliteSaysSoKeepsAllAndGoesOnWhenThereIsSpace) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  SmallDisk disk(folder.path(), 8 * megabyte);
  const auto db = open("sqlite://" + folder.path() + "/test.db").value();
  ASSERT_DONE(db->exec("CREATE TABLE kept (id BIGINT PRIMARY KEY, body BYTEA NOT NULL)"));
  const Filling filling = fill(*db, 0);
  EXPECT_EQ(to_string(filling.error.code), to_string(Errc::unavailable));
  EXPECT_THAT(filling.error.message, HasSubstr(folder.path() + "/test.db: the disk is full"));
  EXPECT_THAT(filling.error.message, HasSubstr("Free space"));

  const std::vector<std::string> columns{"id", "body"};
  Dice dice(1);
  std::vector<Values> rows;
  for (std::int64_t id = 1; id <= 200; ++id) rows.push_back({-id, noise(dice, 20'000)});
  EXPECT_ERROR(Errc::unavailable, db->bulk_insert({"kept", columns, rows}));
  expect_kept(*db, filling);
  expect_kept(*open("sqlite://" + folder.path() + "/test.db").value(), filling);
  EXPECT_EQ(cell<std::string>(*db, "PRAGMA integrity_check"), "ok");

  disk.resize(16 * megabyte);
  ASSERT_DONE(db->exec("INSERT INTO kept (id, body) VALUES (-1, $1)", {noise(dice, 1'000'000)}));
  expect_kept(*db, filling);
}

TEST(FullDisk, SqliteThatCannotEvenOpenSaysSoAndOpensWhenThereIsSpace) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  SmallDisk disk(folder.path(), 2 * megabyte);
  const std::string url = "sqlite://" + folder.path() + "/test.db";
  ASSERT_DONE(open(url).value()->exec("CREATE TABLE kept (id BIGINT PRIMARY KEY)"));
  take_all_space(folder.path() + "/ballast");
  for (const std::string& full : {url, "sqlite://" + folder.path() + "/new.db"}) {
    const auto db = open(full);
    EXPECT_ERROR(Errc::unavailable, db);
    EXPECT_THAT(db.error().message, HasSubstr("the disk is full"));
  }
  ASSERT_EQ(std::remove((folder.path() + "/ballast").c_str()), 0);
  ASSERT_DONE(open(url).value()->exec("INSERT INTO kept (id) VALUES (1)"));
}

TEST(FullDisk, PostgresForTablesSaysSoKeepsAllAndGoesOnWhenThereIsSpace) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder;
  SmallDisk disk(folder.path(), 4 * megabyte);
  const std::string place = folder.path() + "/tables";
  ASSERT_EQ(mkdir(place.c_str(), 0700), 0);
  servers::give_to_server(place);
  const auto db = open(servers::shared_postgres().url()).value();
  ASSERT_DONE(db->exec("CREATE TABLESPACE small LOCATION '" + place + "'"));
  ASSERT_DONE(db->exec("CREATE TABLE kept (id BIGINT PRIMARY KEY, body BYTEA NOT NULL) TABLESPACE small"));
  const Filling filling = fill(*db, 0);
  EXPECT_EQ(to_string(filling.error.code), to_string(Errc::unavailable));
  EXPECT_THAT(filling.error.message, HasSubstr("the disk of the server is full"));
  EXPECT_THAT(filling.error.message, HasSubstr("Free space"));
  expect_kept(*db, filling);

  disk.resize(16 * megabyte);
  Dice dice(1);
  ASSERT_DONE(db->exec("INSERT INTO kept (id, body) VALUES (-1, $1)", {noise(dice, 1'000'000)}));
  expect_kept(*db, filling);
  ASSERT_DONE(db->exec("DROP TABLE kept"));
}

TEST(FullDisk, PostgresForItsLogIsALostConnectionAndNothingAcknowledgedIsLost) {
  WITH_OWN_MOUNTS();
  const servers::TempDir folder, small;
  SmallDisk disk(small.path(), 12 * megabyte);
  ASSERT_EQ(mkdir((small.path() + "/log").c_str(), 0700), 0);
  PostgresServer server({folder.path(), small.path() + "/log", {"max_wal_size=1GB", "min_wal_size=2MB"}});
  const auto db = open(server.url()).value();
  ASSERT_DONE(db->exec("CREATE TABLE kept (id BIGINT PRIMARY KEY, body BYTEA NOT NULL)"));
  const Filling filling = fill(*db, 0);
  EXPECT_THAT((std::set<Errc>{Errc::unavailable, Errc::timed_out}), testing::Contains(filling.error.code));
  EXPECT_THAT(server.log(), HasSubstr("No space left on device"));

  disk.resize(64 * megabyte);
  ASSERT_TRUE(server.start_again()) << server.log();
  expect_kept(*db, filling);
  Dice dice(1);
  ASSERT_DONE(db->exec("INSERT INTO kept (id, body) VALUES (-1, $1)", {noise(dice, 1'000'000)}));
  expect_kept(*db, filling);
}

}  // namespace
}  // namespace cadre::database
