/// For the tests of this room: an empty database of either engine, and random rows. One thread at a time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/dice.h"
#include "base/log.h"
#include "records/records.h"
#include "tests/servers/postgres.h"
#include "tests/servers/scratch.h"

namespace cadre::records {

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
    options_ = "options=-csearch_path%3Drecords" + std::to_string(++made);
    url_ = servers::shared_postgres().url(options_);
    const auto database = database::open(servers::shared_postgres().url()).value();
    database->exec("CREATE SCHEMA records" + std::to_string(made)).value();
  }

  const std::string& url() const { return url_; }
  /// For PostgreSQL, by way of another port.
  std::string url_by(int port) const { return servers::shared_postgres().url_by(port, options_); }
  std::unique_ptr<database::Database> connect() const { return database::open(url_).value(); }

 private:
  servers::TempDir folder_;
  std::string options_;
  std::string url_;
};

inline SilentLog& silent_log() {
  static SilentLog log;
  return log;
}

class BothEngines : public testing::TestWithParam<Kind> {
 protected:
  static std::unique_ptr<Records> open(const std::string& url) { return Records::open(url, silent_log()).value(); }

  Backend backend_{GetParam()};
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

}  // namespace cadre::records
