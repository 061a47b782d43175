#include <stdexcept>

#include "database/backend_test.h"

namespace cadre::database {
namespace {

using testing::HasSubstr;

class TransactionContract : public BothEngines {
 protected:
  void SetUp() override {
    ASSERT_DONE(db_->exec("CREATE TABLE owners (id BIGINT PRIMARY KEY)"));
    ASSERT_DONE(
        db_->exec("CREATE TABLE things (id BIGINT PRIMARY KEY, owner BIGINT REFERENCES owners (id), "
                  "size BIGINT NOT NULL CHECK (size > 0))"));
    ASSERT_DONE(db_->exec("INSERT INTO owners (id) VALUES (1)"));
  }
  std::int64_t things() { return cell<std::int64_t>(*db_, "SELECT count(*) FROM things"); }
  std::int64_t things_seen_by_another() {
    return cell<std::int64_t>(*backend_.connect(), "SELECT count(*) FROM things");
  }
};

Result<std::int64_t> add(Transaction& transaction, std::int64_t id) {
  return transaction.exec("INSERT INTO things (id, owner, size) VALUES ($1, 1, 1)", {id});
}

TEST_P(TransactionContract, CommitsWhenTheFunctionGivesAValue) {
  const auto sum = db_->transaction([&](Transaction& transaction) -> Result<std::int64_t> {
    TRY(add(transaction, 1));
    TRY(add(transaction, 2));
    EXPECT_EQ(things_seen_by_another(), 0);
    return cell<std::int64_t>(transaction, "SELECT sum(id) FROM things");
  });
  EXPECT_EQ(sum.value(), 3);
  EXPECT_EQ(things_seen_by_another(), 2);
}

TEST_P(TransactionContract, RollsBackWhenTheFunctionFails) {
  const auto failed = db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(add(transaction, 1));
    return fail(Errc::denied, "not allowed");
  });
  EXPECT_EQ(failed.error(), (Error{Errc::denied, "not allowed"}));
  EXPECT_EQ(things(), 0);
  ASSERT_DONE(db_->transaction([](Transaction& transaction) { return add(transaction, 1); }));
  EXPECT_EQ(things_seen_by_another(), 1);
}

TEST_P(TransactionContract, RollsBackWhenTheScopeIsLeftByAnException) {
  const auto thrower = [](Transaction& transaction) -> Result<void> {
    TRY(add(transaction, 1));
    throw std::runtime_error("from the caller's own code");
  };
  EXPECT_THROW(static_cast<void>(db_->transaction(thrower)), std::runtime_error);
  EXPECT_EQ(things(), 0);
}

TEST_P(TransactionContract, AnErrorThatTheFunctionSwallowsStillPreventsTheCommit) {
  const auto result = db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(add(transaction, 1));
    EXPECT_FALSE(add(transaction, 1));
    EXPECT_FALSE(add(transaction, 2));
    return {};
  });
  EXPECT_ERROR(Errc::conflict, result);
  EXPECT_EQ(things(), 0);
}

TEST_P(TransactionContract, NestedUseIsAnErrorAndLeavesTheOuterTransactionAlone) {
  ASSERT_DONE(db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(add(transaction, 1));
    EXPECT_EQ(db_->transaction([](Transaction& inner) { return add(inner, 2); }).error().code, Errc::invalid);
    EXPECT_EQ(db_->exec("DELETE FROM things").error().code, Errc::invalid);
    EXPECT_EQ(db_->query("SELECT 1").error().code, Errc::invalid);
    return {};
  }));
  EXPECT_EQ(things_seen_by_another(), 1);
}

TEST_P(TransactionContract, TransactionsCannotBeControlledBySql) {
  for (const char* sql : {"BEGIN", "commit", " -- now\nROLLBACK", "END", "SAVEPOINT x", "START TRANSACTION"}) {
    EXPECT_ERROR(Errc::invalid, db_->exec(sql));
  }
  EXPECT_ERROR(Errc::invalid, db_->transaction([](Transaction& transaction) -> Result<void> {
    TRY(add(transaction, 1));
    return transaction.script("DELETE FROM things; COMMIT");
  }));
  EXPECT_EQ(things(), 0);
}

TEST_P(TransactionContract, ViolatedKeysAreConflictsAndTheConnectionStaysUsable) {
  ASSERT_DONE(db_->exec("INSERT INTO things (id, size) VALUES (1, 1)"));
  EXPECT_ERROR(Errc::conflict, db_->exec("INSERT INTO things (id, size) VALUES (1, 1)"));
  EXPECT_ERROR(Errc::conflict, db_->exec("INSERT INTO things (id, owner, size) VALUES (2, 99, 1)"));
  EXPECT_ERROR(Errc::conflict, db_->transaction([](Transaction& transaction) { return add(transaction, 1); }));
  EXPECT_EQ(things(), 1);
}

TEST_P(TransactionContract, OtherConstraintsAndBadSqlAreInvalidAndTheConnectionStaysUsable) {
  EXPECT_ERROR(Errc::invalid, db_->exec("INSERT INTO things (id, size) VALUES (1, 0)"));
  EXPECT_ERROR(Errc::invalid, db_->exec("INSERT INTO things (id) VALUES (1)"));
  EXPECT_ERROR(Errc::invalid, db_->exec("INSERT INTO nothing (id) VALUES (1)"));
  EXPECT_ERROR(Errc::invalid, db_->exec("INSRT INTO things (id) VALUES (1)"));
  EXPECT_ERROR(Errc::invalid, db_->exec("DELETE FROM things; DELETE FROM things"));
  EXPECT_ERROR(Errc::invalid, db_->exec(""));
  EXPECT_ERROR(Errc::invalid, db_->exec(std::string_view("SELECT 1\0", 9)));
  EXPECT_EQ(db_->exec("DELETE FROM things; -- all of them").value(), 0);
}

TEST_P(TransactionContract, AScriptIsAppliedAsAWholeOrNotAtAll) {
  ASSERT_DONE(db_->transaction([](Transaction& transaction) {
    return transaction.script(
        "CREATE TABLE a (id BIGINT); /* ; */ INSERT INTO a (id) VALUES (1);\nUPDATE a SET id = 2;");
  }));
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT id FROM a"), 2);
  EXPECT_ERROR(Errc::invalid, db_->transaction([](Transaction& transaction) {
    return transaction.script("CREATE TABLE b (id BIGINT); INSERT INTO b (no) VALUES (1)");
  }));
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT id FROM b"));
}

TEST_P(TransactionContract, MoreStatementsThanAreKeptReadyAreNoProblem) {
  Options options;
  options.statements_max = 3;
  const auto db = backend_.connect(options);
  for (int round = 0; round < 3; ++round) {
    for (std::int64_t n = 0; n < 10; ++n) {
      EXPECT_EQ(cell<std::int64_t>(*db, "SELECT $1 + " + std::to_string(n), {n}), 2 * n);
    }
  }
}

TEST_P(TransactionContract, ATableAlteredByAnotherConnectionIsSeenAtLatestByARepetition) {
  const auto ask = [&](Transaction& transaction) { return transaction.query("SELECT * FROM owners"); };
  EXPECT_EQ(db_->transaction(ask)->columns().size(), 1);
  ASSERT_DONE(backend_.connect()->exec("ALTER TABLE owners ADD COLUMN name TEXT"));
  EXPECT_EQ(repeat_on_conflict(*db_, 2, ask)->columns().size(), 2);
}

TEST_P(TransactionContract, AStatementThatRunsTooLongIsEndedAndTheConnectionStaysUsable) {
  Options options;
  options.statement_wait = std::chrono::seconds(1);
  const auto db = backend_.connect(options);
  const auto endless = db->query(
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i > 0) "
      "SELECT count(*) FROM n WHERE i < 0");
  ASSERT_FALSE(endless);
  EXPECT_THAT(endless.error().message, HasSubstr("longer than 1 s"));
  EXPECT_EQ(cell<std::int64_t>(*db, "SELECT count(*) FROM things"), 0);
}

INSTANTIATE_FOR_BOTH_ENGINES(TransactionContract);

}  // namespace
}  // namespace cadre::database
