// Rows that a master of each minor version has left in a database, as checked-in SQL: this version opens them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "base/protocol.h"
#include "records/records_for_tests.h"
#include "records/rows_test.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre {
namespace {

namespace fs = std::filesystem;
namespace control = cluster::control;
using records::Records;

const fs::path golden = fs::path(CADRE_SOURCE_DIR) / "tests/golden/wire";
constexpr std::uint64_t seed = 17;
constexpr std::size_t jobs = 6;

/// A SQLite file as plain SQLite sees it.
class Sqlite {
 public:
  explicit Sqlite(const fs::path& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK); }
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;
  ~Sqlite() { sqlite3_close(handle_); }

  std::vector<std::vector<std::string>> query(const std::string& sql) {
    std::vector<std::vector<std::string>> rows;
    const auto take = [](void* to, int count, char** cells, char**) {
      auto& row = static_cast<decltype(rows)*>(to)->emplace_back();
      for (int i = 0; i < count; ++i) row.emplace_back(cells[i] == nullptr ? "" : cells[i]);
      return 0;
    };
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), take, &rows, &error), SQLITE_OK) << sql << ": " << error;
    return rows;
  }

  /// The statements that make the same tables with the same rows.
  std::string dump() {
    std::ostringstream text;
    const auto tables = query("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name");
    for (const auto& table : tables) text << one_line(table[1]) << ";\n";
    for (const auto& index : query("SELECT sql FROM sqlite_master WHERE type <> 'table' AND sql <> '' ORDER BY name")) {
      text << one_line(index[0]) << ";\n";
    }
    for (const auto& table : tables) {
      std::string cells;
      for (const auto& column : query("PRAGMA table_info(" + table[0] + ")")) {
        cells += (cells.empty() ? "" : " || ',' || ") + ("quote(" + column[1] + ")");
      }
      std::string order = "SELECT " + cells + " FROM " + table[0] + " ORDER BY 1";
      for (const auto& row : query(order)) text << "INSERT INTO " << table[0] << " VALUES(" << row[0] << ");\n";
    }
    return text.str();
  }

 private:
  static std::string one_line(std::string sql) {
    std::replace(sql.begin(), sql.end(), '\n', ' ');
    return sql;
  }

  sqlite3* handle_ = nullptr;
};

/// What a master might have written.
control::Writes rows_of_this_version() {
  Dice dice(seed);
  control::Writes writes;
  for (std::uint64_t id = 1; id <= jobs; ++id) {
    control::JobRow job = records::random_job(dice, {id});
    writes.new_jobs.push_back(job);
    writes.tasks.push_back(records::random_task(dice, {{id}, 0}));
  }
  for (const char* name : {"a1", "a2"}) writes.agents.push_back(records::random_agent(dice, cluster::AgentId(name)));
  writes.groups.push_back(records::random_group(dice, "default", cluster::GroupId("g")));
  for (std::uint64_t number = 1; number <= 3; ++number) writes.changes.push_back(records::random_change(dice, number));
  return writes;
}

access::Writes access_of_this_version() {
  Dice dice(seed);
  access::Writes writes;
  writes.users.push_back(records::random_user(dice, "ann"));
  writes.tokens.push_back(records::random_token(dice, "t1", "ann"));
  writes.workspaces.push_back(records::random_workspace(dice, "lab"));
  writes.audit.push_back(records::random_audit(dice, 1));
  return writes;
}

records::EndedMost everything() { return {1'000'000, std::numeric_limits<std::int64_t>::max()}; }

std::unique_ptr<Records> open(const fs::path& path) {
  static SilentLog log;
  return records::open_for_tests("sqlite://" + path.string(), log).value();
}

TEST(WireRows, OfThisVersionAreTheCheckedInRows) {
  const servers::TempDir scratch;
  const fs::path file = fs::path(scratch.path()) / "cadre.db";
  {
    const auto store = open(file);
    ASSERT_DONE(store->begin_boot());
    ASSERT_DONE(store->commit(records::rows_of(rows_of_this_version(), access_of_this_version())));
  }
  const std::string text = Sqlite(file).dump();
  const fs::path path = golden / (std::string(version().substr(0, version().rfind('.'))) + ".sql");
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream golden_file(path);
  EXPECT_TRUE(std::string(std::istreambuf_iterator<char>(golden_file), {}) == text)
      << "the rows of this version have changed; if a migration brings old rows to this form, run with "
         "CADRE_UPDATE_GOLDEN=1";
}

TEST(WireRows, OfAllVersionsAreOpened) {
  int files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(golden)) {
    if (entry.path().extension() != ".sql") continue;
    SCOPED_TRACE(entry.path().filename().string());
    ++files;
    const servers::TempDir scratch;
    const fs::path file = fs::path(scratch.path()) / "cadre.db";
    std::ifstream sql(entry.path());
    Sqlite(file).query(std::string(std::istreambuf_iterator<char>(sql), {}));
    const auto store = open(file);
    const auto rows = store->load(everything());
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_EQ(rows->jobs.size(), jobs);
    EXPECT_EQ(rows->tasks.size(), jobs);
    EXPECT_EQ(rows->agents.size(), 2U);
    const auto access = records::load_access(*store);
    ASSERT_TRUE(access) << access.error().message;
    EXPECT_EQ(access->users.size(), 1U);
    EXPECT_EQ(access->tokens.size(), 1U);
  }
  EXPECT_GE(files, 1);
}

}  // namespace
}  // namespace cadre
