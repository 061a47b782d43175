#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "bench/bench.h"
#include "database/database.h"

namespace cadre::bench {
namespace {

struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "cadre-bench-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

}  // namespace

Result<Figures> bench_database() {
  const Folder folder;
  TRY_ASSIGN(db, database::open("sqlite://" + (folder.path / "ours.db").string()));
  TRY(db->exec("CREATE TABLE events (id BIGINT PRIMARY KEY, text TEXT)"));
  Figures figures{"database", {}};

  std::int64_t id = 0;
  Result<void> problem;
  const auto commit = [&] {
    auto done = db->transaction([&](database::Transaction& transaction) -> Result<void> {
      TRY(transaction.exec("INSERT INTO events VALUES ($1, $2)", {++id, std::string(100, 'x')}));
      return {};
    });
    if (!done) problem = done;
  };
  const double commits = rate(commit, 1);
  TRY(problem);
  TRY_ASSIGN(one, row_beside_raw("SQLite, durable commits of one row", commits, "1/s",
                                 "sqlite_commit 1 " + (folder.path / "raw1.db").string()));
  figures.rows.push_back(std::move(one));

  const std::vector<std::string> columns{"id", "text"};
  const auto bulk = [&] {
    std::vector<database::Values> rows;
    for (int i = 0; i < 10'000; ++i) rows.push_back({++id, std::string(100, 'x')});
    if (auto done = db->bulk_insert({"events", columns, rows}); !done) problem = done;
  };
  const double inserted = rate(bulk, 10'000);
  TRY(problem);
  TRY_ASSIGN(many, row_beside_raw("SQLite, rows in bulks of 10,000", inserted, "1/s",
                                  "sqlite_commit 10000 " + (folder.path / "raw2.db").string()));
  figures.rows.push_back(std::move(many));
  return figures;
}

}  // namespace cadre::bench
