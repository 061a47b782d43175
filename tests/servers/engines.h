/// An empty database of either engine, for tests that both must pass. One thread at a time.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "database/database.h"
#include "tests/servers/postgres.h"
#include "tests/servers/scratch.h"

namespace cadre::servers {

enum class Engine { sqlite, postgresql };

/// A file of its own, or a schema of its own on the server that the test program shares.
class Backend {
 public:
  explicit Backend(Engine engine) {
    if (engine == Engine::sqlite) {
      url_ = "sqlite://" + path();
      return;
    }
    static int made = 0;
    options_ = "options=-csearch_path%3Dtest" + std::to_string(++made);
    url_ = shared_postgres().url(options_);
    const auto database = database::open(shared_postgres().url()).value();
    database->exec("CREATE SCHEMA test" + std::to_string(made)).value();
  }

  const std::string& url() const { return url_; }
  /// For PostgreSQL, by way of another port.
  std::string url_by(int port) const { return shared_postgres().url_by(port, options_); }
  /// For SQLite.
  std::string path() const { return folder_.path() + "/test.db"; }
  const std::string& folder() const { return folder_.path(); }

  std::unique_ptr<database::Database> connect(const database::Options& options = {}) const {
    return database::open(url_, options).value();
  }

 private:
  TempDir folder_;
  std::string options_;
  std::string url_;
};

inline std::string name_of_engine(const testing::TestParamInfo<Engine>& info) {
  return info.param == Engine::sqlite ? "Sqlite" : "Postgresql";
}

}  // namespace cadre::servers

#define INSTANTIATE_FOR_BOTH_ENGINES(suite)                                                                     \
  INSTANTIATE_TEST_SUITE_P(Both, suite,                                                                         \
                           testing::Values(cadre::servers::Engine::sqlite, cadre::servers::Engine::postgresql), \
                           cadre::servers::name_of_engine)
