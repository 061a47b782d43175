#include <cmath>
#include <limits>

#include "database/backend_test.h"

namespace cadre::database {
namespace {

using testing::HasSubstr;

class ValuesContract : public BothEngines {
 protected:
  void SetUp() override {
    ASSERT_DONE(db_->exec("CREATE TABLE cells (id BIGINT PRIMARY KEY, i BIGINT, d DOUBLE PRECISION, t TEXT, b BYTEA)"));
  }
  std::int64_t next_ = 0;
};

constexpr auto insert = "INSERT INTO cells (id, i, d, t, b) VALUES ($1, $2, $3, $4, $5)";

Bytes all_bytes() {
  Bytes bytes;
  for (int b = 0; b < 256; ++b) bytes.push_back(static_cast<std::byte>(b));
  return bytes;
}

std::vector<Values> extremes() {
  using Double = std::numeric_limits<double>;
  std::string large = "ä\n'\"\\\t$1%;--/*x*/";
  while (large.size() < 1 << 20) large += large;
  return {
      {INT64_MIN, -Double::infinity(), "", Bytes{}},
      {INT64_MAX, Double::infinity(), "it's \"quoted\" \\ $1 -- /* ; */", all_bytes()},
      {0, 0.0, "\t\n\r\x01\x7f", Bytes(1 << 20, std::byte{0})},
      {-1, Double::max(), "grüße 😀 \xef\xbf\xbd", Bytes(1, std::byte{0x5c})},
      {1, Double::denorm_min(), large, Bytes(1 << 20, std::byte{0xff})},
      {9007199254740993, -Double::min(), "\\N", Bytes(3, std::byte{'\n'})},
      {42, 0.1 + 0.2, "\\.", Bytes(2, std::byte{'\t'})},
      {42, 1e300, "NULL", as_bytes("\\x00").empty() ? Bytes{} : Bytes(4, std::byte{'x'})},
      {Null{}, Null{}, Null{}, Null{}},
  };
}

TEST_P(ValuesContract, EveryKindAndItsExtremesComeBackUnchanged) {
  std::int64_t id = 0;
  for (Values row : extremes()) {
    row.insert(row.begin(), ++id);
    ASSERT_DONE(db_->exec(insert, row));
    const Rows rows = db_->query("SELECT id, i, d, t, b FROM cells WHERE id = $1", {id}).value();
    ASSERT_EQ(rows.size(), 1);
    EXPECT_TRUE(rows.cells()[0] == row) << "row " << id;
  }
}

TEST_P(ValuesContract, EveryKindAndItsExtremesComeBackUnchangedFromABulk) {
  std::vector<Values> rows = extremes();
  std::int64_t id = 0;
  for (Values& row : rows) row.insert(row.begin(), ++id);
  const std::vector<std::string> columns{"id", "i", "d", "t", "b"};
  ASSERT_DONE(db_->bulk_insert({"cells", columns, rows}));
  const Rows found = db_->query("SELECT id, i, d, t, b FROM cells ORDER BY id").value();
  ASSERT_EQ(found.size(), rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) EXPECT_TRUE(found.cells()[at] == rows[at]) << "row " << at;
}

TEST_P(ValuesContract, BothEnginesRefuseValuesThatOneCannotStore) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_ERROR(Errc::invalid, db_->exec("INSERT INTO cells (id, d) VALUES (1, $1)", {nan}));
  EXPECT_ERROR(Errc::invalid, db_->exec("INSERT INTO cells (id, t) VALUES (1, $1)", {std::string("a\0b", 3)}));
  for (const char* text : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    EXPECT_ERROR(Errc::invalid, db_->exec("INSERT INTO cells (id, t) VALUES (1, $1)", {std::string(text)}));
  }
  const std::vector<std::string> columns{"id", "d"};
  const std::vector<Values> rows{{1, 1.5}, {2, nan}};
  EXPECT_ERROR(Errc::invalid, db_->bulk_insert({"cells", columns, rows}));
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT count(*) FROM cells"), 0);
}

TEST_P(ValuesContract, ParametersMayRepeatAndComeInAnyOrder) {
  ASSERT_DONE(db_->exec("INSERT INTO cells (t, id, i) VALUES ($3, $2, $1)", {10, 1, "$1"}));
  const Rows rows = db_->query("SELECT id FROM cells WHERE i = $1 AND $1 > 5 AND t = $2", {10, "$1"}).value();
  EXPECT_EQ(rows.size(), 1);
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT count(*) FROM cells WHERE t = '$1'"), 1);
  EXPECT_EQ(cell<std::string>(*db_, "SELECT $1", {"x"}), "x");
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT $1", {INT64_MAX}), INT64_MAX);
}

TEST_P(ValuesContract, AWrongNumberOfParametersIsRefusedAlike) {
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT $1, $2", {1}));
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT $1", {1, 2}));
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT 1", {Null{}}));
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT ?", {}));
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT $1x", {1}));
}

TEST_P(ValuesContract, NullAndOtherKindsMayFollowEachOtherInOneStatement) {
  for (int round = 0; round < 2; ++round) {
    ASSERT_DONE(db_->exec(insert, {++next_, Null{}, 1.5, Null{}, Bytes{}}));
    ASSERT_DONE(db_->exec(insert, {++next_, 7, Null{}, "x", Null{}}));
  }
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT count(i) FROM cells"), 2);
}

TEST_P(ValuesContract, ExecGivesTheNumberOfChangedRows) {
  for (std::int64_t id = 0; id < 5; ++id) EXPECT_EQ(db_->exec("INSERT INTO cells (id) VALUES ($1)", {id}).value(), 1);
  EXPECT_EQ(db_->exec("UPDATE cells SET i = 1 WHERE id >= 2").value(), 3);
  EXPECT_EQ(db_->exec("CREATE TABLE other (id BIGINT)").value(), 0);
  EXPECT_EQ(db_->exec("UPDATE cells SET i = 1 WHERE id = 99").value(), 0);
  EXPECT_EQ(db_->exec("SELECT id FROM cells").value(), 0);
  EXPECT_EQ(db_->exec("DELETE FROM cells").value(), 5);
}

TEST_P(ValuesContract, SumsCountsAndComparisonsHaveTheSameKindsOnBoth) {
  ASSERT_DONE(db_->exec("INSERT INTO cells (id, i, d) VALUES (1, 4, 0.5), (2, 5, 1.5)"));
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT sum(i) FROM cells"), 9);
  EXPECT_EQ(cell<double>(*db_, "SELECT sum(d) FROM cells"), 2.0);
  EXPECT_EQ(cell<double>(*db_, "SELECT avg(i) FROM cells"), 4.5);
  EXPECT_EQ(cell<bool>(*db_, "SELECT i > 4 FROM cells WHERE id = 2"), true);
  EXPECT_EQ(cell<std::int64_t>(*db_, "SELECT count(*) FROM cells WHERE 'abc' LIKE 'A%'"), 0);
  EXPECT_ERROR(Errc::invalid, db_->query("SELECT \"no such name\" FROM cells"));
}

TEST_P(ValuesContract, AWrongReadSaysWhichColumnAndWhatItHolds) {
  ASSERT_DONE(db_->exec(insert, {1, 2, 3.0, "text", Null{}}));
  const Rows rows = db_->query("SELECT id, i, d, t, b FROM cells").value();
  const Row row = rows.one().value();
  EXPECT_EQ(row.get<std::int64_t>("i").value(), 2);
  EXPECT_EQ(row.get<std::string_view>("t").value(), "text");
  EXPECT_EQ(row.get<std::optional<Bytes>>("b").value(), std::nullopt);
  EXPECT_EQ(row.get<std::optional<double>>("d").value(), 3.0);
  const auto wrong = row.get<std::int64_t>("t");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, Errc::corrupt);
  EXPECT_EQ(wrong.error().message, "column 't' holds text where an integer was expected");
  EXPECT_THAT(row.get<std::string>("b").error().message, HasSubstr("holds null where text"));
  EXPECT_EQ(row.get<std::int64_t>(5).error().code, Errc::invalid);
  EXPECT_THAT(row.get<std::int64_t>("x").error().message, HasSubstr("id i d t b"));
  const auto cells = row.read<std::int64_t, std::int64_t, double, std::string, std::optional<Bytes>>();
  ASSERT_TRUE(cells);
  EXPECT_EQ(std::get<3>(*cells), "text");
  EXPECT_FALSE((row.read<std::int64_t, std::int64_t>()));
  EXPECT_FALSE((row.read<std::int64_t, std::int64_t, double, Bytes, std::string>()));
  EXPECT_EQ(db_->query("SELECT id FROM cells WHERE id = 7")->one().error().code, Errc::not_found);
}

INSTANTIATE_FOR_BOTH_ENGINES(ValuesContract);

}  // namespace
}  // namespace cadre::database
