// Plain SQLite: reads the rows of the largest tree of metrics in FILE from which a chart of POINTS points is made: all
// summaries from the top down to the last level with at most four of them for a point; prints milliseconds.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) return 1;
  const auto number = [&](const char* sql, long tree, long most) {
    sqlite3_stmt* query = nullptr;
    sqlite3_prepare_v2(db, sql, -1, &query, nullptr);
    sqlite3_bind_int64(query, 1, tree);
    sqlite3_bind_int64(query, 2, most);
    const long value = sqlite3_step(query) == SQLITE_ROW ? sqlite3_column_int64(query, 0) : -1;
    sqlite3_finalize(query);
    return value;
  };
  const long tree = number("SELECT tree FROM metric_nodes GROUP BY tree ORDER BY count(*) DESC LIMIT 1", 0, 0);
  const long level = number(
      "SELECT min(level) FROM (SELECT level FROM metric_nodes WHERE tree = ?1 GROUP BY level HAVING count(*) <= ?2)",
      tree, 4 * std::atol(argv[2]));
  const auto begin = std::chrono::steady_clock::now();
  sqlite3_stmt* query = nullptr;
  sqlite3_prepare_v2(db,
                     "SELECT start_steps, end_steps, reports, summary FROM metric_nodes "
                     "WHERE tree = ? AND level >= ? ORDER BY level DESC, start_steps",
                     -1, &query, nullptr);
  sqlite3_bind_int64(query, 1, tree);
  sqlite3_bind_int64(query, 2, level);
  long bytes = 0;
  while (sqlite3_step(query) == SQLITE_ROW) {
    for (int i = 0; i < 3; ++i) bytes += sqlite3_column_int64(query, i) > 0 ? 8 : 0;
    if (sqlite3_column_blob(query, 3) != nullptr) bytes += sqlite3_column_bytes(query, 3);
  }
  sqlite3_finalize(query);
  const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - begin;
  sqlite3_close(db);
  if (bytes <= 0) return 1;
  std::printf("%.3f\n", passed.count());
}
