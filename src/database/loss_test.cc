// What happens when the connection to a PostgreSQL server is lost: by the server's end, by the network, by silence.
#include "database/backend_test.h"
#include "tests/servers/proxy.h"

namespace cadre::database {
namespace {

using servers::Proxy;
using servers::shared_postgres;
using testing::HasSubstr;
using Fault = Proxy::Fault;
using Moment = Proxy::Moment;

class Loss : public testing::Test {
 protected:
  void SetUp() override { ASSERT_DONE(direct_->exec("CREATE TABLE kept (id BIGINT PRIMARY KEY)")); }

  std::unique_ptr<Database> by_proxy(Fault expected) {
    Options options;
    if (expected == Fault::silence) options.statement_wait = std::chrono::seconds(1);  // all of it will be waited
    return open(backend_.url_by(proxy_.port()), options).value();
  }
  std::int64_t kept() { return cell<std::int64_t>(*direct_, "SELECT count(*) FROM kept"); }
  /// Ends the server's side of a connection, and returns when it has ended.
  void terminate(std::int64_t backend) {
    ASSERT_DONE(direct_->query("SELECT pg_terminate_backend($1::int, 10000)", {backend}));
  }

  Backend backend_{Kind::postgresql};
  std::unique_ptr<Database> direct_ = backend_.connect();
  Proxy proxy_{shared_postgres().port()};
};

Result<std::int64_t> insert(Transaction& transaction, std::int64_t id) {
  return transaction.exec("INSERT INTO kept (id) VALUES ($1)", {id});
}

std::int64_t backend_of(Database& db) { return cell<std::int64_t>(db, "SELECT pg_backend_pid()"); }

TEST_F(Loss, OfAnIdleConnectionIsNoticedBeforeAnythingIsSent) {
  const auto db = backend_.connect();
  for (std::int64_t id = 1; id <= 5; ++id) {
    terminate(backend_of(*db));
    ASSERT_DONE(db->exec("INSERT INTO kept (id) VALUES ($1)", {id}));
    terminate(backend_of(*db));
    ASSERT_DONE(db->transaction([&](Transaction& transaction) { return insert(transaction, -id); }));
  }
  EXPECT_EQ(kept(), 10);
}

TEST_F(Loss, InATransactionFailsItAsAWholeAndTheNextCallConnectsAnew) {
  const auto db = backend_.connect();
  const auto lost = db->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(insert(transaction, 1));
    terminate(cell<std::int64_t>(transaction, "SELECT pg_backend_pid()"));
    EXPECT_EQ(insert(transaction, 2).error().code, Errc::unavailable);
    EXPECT_EQ(insert(transaction, 3).error().code, Errc::unavailable);  // and not on another connection
    return {};
  });
  EXPECT_ERROR(Errc::unavailable, lost);
  EXPECT_EQ(kept(), 0);
  ASSERT_DONE(db->transaction([&](Transaction& transaction) { return insert(transaction, 1); }));
  EXPECT_EQ(kept(), 1);
}

TEST_F(Loss, BeforeTheCommitIsSentWritesNothingAndSaysSo) {
  const auto db = backend_.connect();
  const auto lost = db->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(insert(transaction, 1));
    terminate(cell<std::int64_t>(transaction, "SELECT pg_backend_pid()"));
    return {};
  });
  EXPECT_ERROR(Errc::unavailable, lost);
  EXPECT_THAT(lost.error().message, HasSubstr("nothing was written"));
  EXPECT_EQ(kept(), 0);
}

TEST_F(Loss, OfTheWholeServerIsAnErrorUntilItIsBackAndWhatWasCommittedIsThere) {
  const auto db = backend_.connect();
  ASSERT_DONE(db->exec("INSERT INTO kept (id) VALUES (1)"));
  const auto lost = db->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(insert(transaction, 2));
    shared_postgres().kill();
    TRY(insert(transaction, 3));
    return {};
  });
  EXPECT_ERROR(Errc::unavailable, lost);
  EXPECT_ERROR(Errc::unavailable, db->exec("INSERT INTO kept (id) VALUES (4)"));
  EXPECT_ERROR(Errc::unavailable, db->query("SELECT id FROM kept"));
  ASSERT_TRUE(shared_postgres().start_again()) << shared_postgres().log();
  ASSERT_DONE(db->exec("INSERT INTO kept (id) VALUES (5)"));
  const Rows rows = db->query("SELECT id FROM kept ORDER BY id").value();
  EXPECT_EQ(rows.cells(), (std::vector<Values>{{1}, {5}}));
}

TEST_F(Loss, OfTheCommitsAnswerMayOrMayNotHaveBeenDone) {
  std::int64_t id = 0, done = 0;
  for (const Fault fault : {Fault::cut, Fault::silence}) {
    for (const Moment moment : {Moment::before, Moment::after}) {
      const auto db = by_proxy(fault);
      proxy_.spoil_when_client_says("COMMIT", moment, fault);
      const auto lost = db->transaction([&](Transaction& transaction) { return insert(transaction, ++id); });
      EXPECT_ERROR(Errc::timed_out, lost);
      EXPECT_THAT(lost.error().message, HasSubstr("may or may not have been executed"));
      done += moment == Moment::after ? 1 : 0;
      EXPECT_EQ(kept(), done);
      ASSERT_DONE(db->query("SELECT id FROM kept"));  // on a new connection
    }
  }
}

TEST_F(Loss, OfTheAnswerToASingleWriteMayOrMayNotHaveBeenDone) {
  std::int64_t done = 0;
  for (const Moment moment : {Moment::before, Moment::after}) {
    const auto db = by_proxy(Fault::cut);
    const std::string sql = "INSERT INTO kept (id) VALUES ($1)";
    ASSERT_DONE(db->exec(sql, {100 + done}));  // prepared: from here on only values are sent
    proxy_.spoil_when_client_says("s1", moment, Fault::cut);
    EXPECT_ERROR(Errc::timed_out, db->exec(sql, {200 + done}));
    done += moment == Moment::after ? 2 : 1;
    EXPECT_EQ(kept(), done);
  }
}

TEST_F(Loss, OfTheAnswerToAReadingStatementLosesNothing) {
  for (const Fault fault : {Fault::cut, Fault::silence}) {
    const auto db = by_proxy(fault);
    proxy_.spoil_when_client_says("SELECT", Moment::after, fault);
    EXPECT_ERROR(Errc::unavailable, db->query("SELECT id FROM kept"));
    ASSERT_DONE(db->query("SELECT id FROM kept"));
  }
}

TEST_F(Loss, WithinATransactionByCutOrSilenceWritesNothing) {
  for (const Fault fault : {Fault::cut, Fault::silence}) {
    const auto db = by_proxy(fault);
    EXPECT_ERROR(Errc::unavailable, db->transaction([&](Transaction& transaction) -> Result<void> {
      TRY(insert(transaction, 1));
      proxy_.spoil(fault);
      TRY(insert(transaction, 2));
      return {};
    }));
    proxy_.heal();
    EXPECT_EQ(kept(), 0);
    ASSERT_DONE(db->query("SELECT id FROM kept"));
  }
}

TEST_F(Loss, WithinABulkWritesNothing) {
  const std::vector<std::string> columns{"id"};
  std::vector<Values> rows;
  for (std::int64_t id = 0; id < 60'000; ++id) rows.push_back({id});
  for (const Fault fault : {Fault::cut, Fault::silence}) {
    const auto db = by_proxy(fault);
    proxy_.spoil_when_client_says("\n30000\n", Moment::before, fault);
    EXPECT_ERROR(Errc::unavailable, db->bulk_insert({"kept", columns, rows}));
    EXPECT_EQ(kept(), 0);
    ASSERT_DONE(db->query("SELECT id FROM kept"));
  }
}

TEST_F(Loss, AServerThatAcceptsAndSaysNothingEndsInAnError) {
  proxy_.spoil(Fault::silence);
  Options options;
  options.connect_wait = std::chrono::milliseconds(200);
  EXPECT_ERROR(Errc::unavailable, open(backend_.url_by(proxy_.port()), options));
  proxy_.heal();
  ASSERT_DONE(open(backend_.url_by(proxy_.port())));
}

TEST_F(Loss, OfATransactionsClientLeavesNoLockBehind) {
  const auto db = by_proxy(Fault::cut);
  EXPECT_ERROR(Errc::unavailable, db->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(insert(transaction, 1));
    proxy_.spoil(Fault::cut);
    TRY(insert(transaction, 2));
    return {};
  }));
  ASSERT_DONE(direct_->exec("INSERT INTO kept (id) VALUES (1)"));
  EXPECT_EQ(kept(), 1);
}

}  // namespace
}  // namespace cadre::database
