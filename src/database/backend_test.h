/// For the tests of this room: an empty database of either engine, and short ways to ask it. One thread at a time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "database/database.h"
#include "tests/servers/postgres.h"
#include "tests/servers/scratch.h"

namespace cadre::database {

enum class Kind { sqlite, postgresql };

/// A file of its own, or a schema of its own on the server that the test program shares.
class Backend {
 public:
  explicit Backend(Kind kind) {
    if (kind == Kind::sqlite) {
      url_ = "sqlite://" + folder_.path() + "/test.db";
      return;
    }
    static int made = 0;
    options_ = "options=-csearch_path%3Dtest" + std::to_string(++made);
    url_ = servers::shared_postgres().url(options_);
    const auto database = open(servers::shared_postgres().url()).value();
    database->exec("CREATE SCHEMA test" + std::to_string(made)).value();
  }

  const std::string& url() const { return url_; }
  /// For PostgreSQL, by way of another port.
  std::string url_by(int port) const { return servers::shared_postgres().url_by(port, options_); }
  /// For SQLite.
  std::string path() const { return folder_.path() + "/test.db"; }
  const std::string& folder() const { return folder_.path(); }

  std::unique_ptr<Database> connect(const Options& options = {}) const { return open(url_, options).value(); }

 private:
  servers::TempDir folder_;
  std::string options_;
  std::string url_;
};

/// The only cell of the only row.
template <class T, class Connection>
T cell(Connection& connection, std::string_view sql, const Values& params = {}) {
  const Rows rows = connection.query(sql, params).value();
  return rows.one().value().template get<T>(0).value();
}

inline Values texts(std::vector<std::string> list) { return {list.begin(), list.end()}; }

/// A contract that both engines keep.
class BothEngines : public testing::TestWithParam<Kind> {
 protected:
  Backend backend_{GetParam()};
  std::unique_ptr<Database> db_ = backend_.connect();
};

inline std::string name_of(const testing::TestParamInfo<Kind>& info) {
  return info.param == Kind::sqlite ? "Sqlite" : "Postgresql";
}

#define INSTANTIATE_FOR_BOTH_ENGINES(suite) \
  INSTANTIATE_TEST_SUITE_P(Both, suite, testing::Values(Kind::sqlite, Kind::postgresql), name_of)

#define EXPECT_ERROR(code_, expression)                                                      \
  do {                                                                                       \
    const auto& result_ = (expression);                                                      \
    ASSERT_FALSE(result_.has_value()) << "it succeeded";                                     \
    EXPECT_EQ(to_string(result_.error().code), to_string(code_)) << result_.error().message; \
  } while (false)

#define ASSERT_DONE(expression)                                  \
  do {                                                           \
    const auto& result_ = (expression);                          \
    ASSERT_TRUE(result_.has_value()) << result_.error().message; \
  } while (false)

}  // namespace cadre::database
