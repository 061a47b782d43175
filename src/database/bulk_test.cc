#include "database/backend_test.h"

namespace cadre::database {
namespace {

class BulkContract : public BothEngines {
 protected:
  void SetUp() override {
    ASSERT_DONE(db_->exec("CREATE TABLE points (id BIGINT PRIMARY KEY, name TEXT, size BIGINT)"));
  }
  std::int64_t count() { return cell<std::int64_t>(*db_, "SELECT count(*) FROM points"); }
  std::vector<std::string> columns_{"id", "name", "size"};
};

std::vector<Values> many(std::int64_t count) {
  const std::vector<Value> names{"plain", "tab\tin it", "new\nline", "back\\slash", "\\N", "\r", "", "ünï", Null{}};
  std::vector<Values> rows;
  for (std::int64_t id = 0; id < count; ++id) {
    rows.push_back({id, names[static_cast<std::size_t>(id) % names.size()], id % 3 == 0 ? Value(Null{}) : Value(id)});
  }
  return rows;
}

TEST_P(BulkContract, AHundredThousandRowsArriveAsTheyWere) {
  const std::vector<Values> rows = many(100'000);
  ASSERT_DONE(db_->bulk_insert({"points", columns_, rows}));
  const Rows found = db_->query("SELECT id, name, size FROM points ORDER BY id").value();
  ASSERT_EQ(found.size(), rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) ASSERT_TRUE(found.cells()[at] == rows[at]) << "row " << at;
}

TEST_P(BulkContract, AFailureWritesNothing) {
  ASSERT_DONE(db_->exec("INSERT INTO points (id) VALUES (5000)"));
  const std::vector<Values> rows = many(20'000);
  EXPECT_ERROR(Errc::conflict, db_->bulk_insert({"points", columns_, rows}));
  EXPECT_EQ(count(), 1);
  ASSERT_DONE(db_->exec("DELETE FROM points"));
  ASSERT_DONE(db_->bulk_insert({"points", columns_, rows}));
  EXPECT_EQ(count(), 20'000);
}

TEST_P(BulkContract, IsPartOfTheTransactionItIsIn) {
  const std::vector<Values> rows = many(10);
  const auto kept_out = db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(transaction.bulk_insert({"points", columns_, rows}));
    EXPECT_EQ(cell<std::int64_t>(transaction, "SELECT count(*) FROM points"), 10);
    return fail(Errc::denied, "no");
  });
  EXPECT_ERROR(Errc::denied, kept_out);
  EXPECT_EQ(count(), 0);
  ASSERT_DONE(db_->transaction([&](Transaction& transaction) -> Result<void> {
    TRY(transaction.bulk_insert({"points", columns_, rows}));
    TRY(transaction.exec("DELETE FROM points WHERE id = 3"));
    return {};
  }));
  EXPECT_EQ(count(), 9);
}

TEST_P(BulkContract, NoRowsAreFineAndRaggedOnesAreRefused) {
  ASSERT_DONE(db_->bulk_insert({"points", columns_, {}}));
  const std::vector<Values> ragged{{1, "a", 1}, {2, "b"}};
  EXPECT_ERROR(Errc::invalid, db_->bulk_insert({"points", columns_, ragged}));
  EXPECT_EQ(count(), 0);
}

TEST_P(BulkContract, NamesAreNamesAndNeverSql) {
  const std::vector<Values> rows{{1}};
  const std::vector<std::string> id{"id"}, evil{"id) VALUES (1); --"}, none;
  EXPECT_ERROR(Errc::invalid, db_->bulk_insert({"points\"; --", id, rows}));
  EXPECT_ERROR(Errc::invalid, db_->bulk_insert({"points", evil, rows}));
  EXPECT_ERROR(Errc::invalid, db_->bulk_insert({"points", none, {}}));
  EXPECT_ERROR(Errc::invalid, db_->bulk_insert({"nothing", id, rows}));
  ASSERT_DONE(db_->exec("CREATE TABLE \"order\" (\"user\" BIGINT)"));
  const std::vector<std::string> reserved{"user"};
  ASSERT_DONE(db_->bulk_insert({"order", reserved, rows}));
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT \"user\" FROM \"order\""), 1);
}

INSTANTIATE_FOR_BOTH_ENGINES(BulkContract);

}  // namespace
}  // namespace cadre::database
