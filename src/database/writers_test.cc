#include <atomic>
#include <thread>

#include "database/backend_test.h"
#include "tests/servers/process.h"

namespace cadre::database {
namespace {

using testing::HasSubstr;

constexpr int writers = 4;
constexpr int increments = 40;
constexpr int attempts_max = 200;

class WritersContract : public BothEngines {
 protected:
  void SetUp() override {
    ASSERT_DONE(db_->exec("CREATE TABLE counters (id BIGINT PRIMARY KEY, value BIGINT NOT NULL)"));
    ASSERT_DONE(db_->exec("INSERT INTO counters (id, value) VALUES (1, 0), (2, 0)"));
  }
  std::int64_t counter(std::int64_t id) {
    return cell<std::int64_t>(*db_, "SELECT value FROM counters WHERE id = $1", {id});
  }
};

/// Reads, then writes what it has read plus one: loses updates where transactions are not serialisable.
Result<void> increment(Transaction& transaction, std::int64_t id) {
  TRY_ASSIGN(rows, transaction.query("SELECT value FROM counters WHERE id = $1", {id}));
  TRY_ASSIGN(value, rows[0].get<std::int64_t>(0));
  TRY(transaction.exec("UPDATE counters SET value = $1 WHERE id = $2", {value + 1, id}));
  return {};
}

/// Both counters; the number of increments that did not end well.
int increment_often(Database& db) {
  int failures = 0;
  for (int n = 0; n < increments; ++n) {
    const auto done = repeat_on_conflict(db, attempts_max, [](Transaction& transaction) -> Result<void> {
      TRY(increment(transaction, 1));
      return increment(transaction, 2);
    });
    if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
    failures += done ? 0 : 1;
  }
  return failures;
}

TEST_P(WritersContract, ThreadsLoseNoUpdate) {
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int writer = 0; writer < writers; ++writer) {
    threads.emplace_back([&] {
      const auto db = backend_.connect();
      failures += increment_often(*db);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(counter(1), writers * increments);
  EXPECT_EQ(counter(2), writers * increments);
}

TEST_P(WritersContract, ProcessesLoseNoUpdate) {
  db_.reset();
  std::vector<pid_t> children;
  for (int writer = 0; writer < writers; ++writer) {
    children.push_back(servers::fork_child([&] { return increment_often(*backend_.connect()); }));
  }
  for (const pid_t child : children) EXPECT_EQ(servers::wait_for(child), 0);
  db_ = backend_.connect();
  EXPECT_EQ(counter(1), writers * increments);
  EXPECT_EQ(counter(2), writers * increments);
}

TEST_P(WritersContract, ABlockedWriterTimesOutWithTheCause) {
  Options hasty;
  hasty.busy_wait = std::chrono::milliseconds(50);
  const auto other = backend_.connect(hasty);
  ASSERT_DONE(db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(increment(transaction, 1));
    const auto blocked = other->transaction([](Transaction& late) { return increment(late, 1); });
    EXPECT_FALSE(blocked);
    EXPECT_EQ(to_string(blocked.error().code), to_string(Errc::unavailable)) << blocked.error().message;
    EXPECT_THAT(blocked.error().message, HasSubstr("longer than 50 ms"));
    EXPECT_EQ(to_string(other->exec("UPDATE counters SET value = 9 WHERE id = 1").error().code),
              to_string(Errc::unavailable));
    EXPECT_EQ(cell<std::int64_t>(*other, "SELECT value FROM counters WHERE id = 1"), 0);  // readers are not blocked
    return {};
  }));
  ASSERT_DONE(other->transaction([](Transaction& late) { return increment(late, 1); }));
  EXPECT_EQ(counter(1), 2);
}

TEST_P(WritersContract, ALockedTableRefusesOtherWriters) {
  Options hasty;
  hasty.busy_wait = std::chrono::milliseconds(50);
  const auto other = backend_.connect(hasty);
  ASSERT_DONE(db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(transaction.lock("counters"));
    EXPECT_EQ(to_string(other->exec("UPDATE counters SET value = 9").error().code), to_string(Errc::unavailable));
    return increment(transaction, 1);
  }));
  EXPECT_ERROR(Errc::invalid, db_->transaction([](Transaction& t) { return t.lock("coun\"ters"); }));
}

TEST_P(WritersContract, RepetitionsEndAfterTheirNumber) {
  int calls = 0;
  EXPECT_ERROR(Errc::conflict, repeat_on_conflict(*db_, 3, [&](Transaction& transaction) {
                 ++calls;
                 return transaction.exec("INSERT INTO counters (id, value) VALUES (1, 0)");
               }));
  EXPECT_EQ(calls, 3);
  calls = 0;
  EXPECT_ERROR(Errc::denied, repeat_on_conflict(*db_, 3, [&](Transaction&) -> Result<void> {
                 ++calls;
                 return fail(Errc::denied, "no");
               }));
  EXPECT_EQ(calls, 1);
}

INSTANTIATE_FOR_BOTH_ENGINES(WritersContract);

TEST(PostgresWriters, CrossedWritesEndInAConflictAndNotInALostUpdate) {
  const Backend backend(Kind::postgresql);
  const auto one = backend.connect(), two = backend.connect();
  ASSERT_DONE(one->exec("CREATE TABLE counters (id BIGINT PRIMARY KEY, value BIGINT NOT NULL)"));
  ASSERT_DONE(one->exec("INSERT INTO counters (id, value) VALUES (1, 0)"));
  EXPECT_ERROR(Errc::conflict, one->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(transaction.query("SELECT value FROM counters"));
    TRY(two->transaction([](Transaction& other) { return increment(other, 1); }));
    return increment(transaction, 1);
  }));
  EXPECT_EQ(cell<std::int64_t>(*one, "SELECT value FROM counters"), 1);
}

}  // namespace
}  // namespace cadre::database
