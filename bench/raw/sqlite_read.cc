// Plain SQLite: reads all rows of the jobs of FILE that have not ended, with their columns, and the newest COUNT that
// have, as a master at its start; prints milliseconds.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {

long read_all(sqlite3* db, const char* sql, int count) {
  sqlite3_stmt* query = nullptr;
  if (sqlite3_prepare_v2(db, sql, -1, &query, nullptr) != SQLITE_OK) return -1;
  if (sqlite3_bind_parameter_count(query) == 1) sqlite3_bind_int(query, 1, count);
  long bytes = 0;
  while (sqlite3_step(query) == SQLITE_ROW) {
    for (int i = 0; i < sqlite3_column_count(query); ++i) {
      if (sqlite3_column_text(query, i) != nullptr) bytes += sqlite3_column_bytes(query, i);
    }
  }
  sqlite3_finalize(query);
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  const auto begin = std::chrono::steady_clock::now();
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(argv[2], &db, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) return 1;
  const long queued = read_all(db, "SELECT * FROM jobs WHERE stage <> 'ended'", 0);
  const long ended =
      read_all(db, "SELECT * FROM jobs WHERE stage = 'ended' ORDER BY ended DESC, id DESC LIMIT ?", count);
  sqlite3_close(db);
  if (queued <= 0 || ended < 0) return 1;
  std::printf("%.3f\n", std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
}
