// Plain SQLite: inserts COUNT points of TRIALS trials in turn, in durable transactions of BATCH points of one trial, in
// FILE; prints points a second.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const long count = std::atol(argv[1]), trials = std::atol(argv[2]), batch = std::atol(argv[3]);
  sqlite3* db = nullptr;
  sqlite3_stmt* insert = nullptr;
  if (sqlite3_open(argv[4], &db) != SQLITE_OK) return 1;
  sqlite3_exec(
      db,
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; DROP TABLE IF EXISTS points;"
      "CREATE TABLE points (trial BIGINT, steps BIGINT, value DOUBLE, PRIMARY KEY (trial, steps)) WITHOUT ROWID",
      nullptr, nullptr, nullptr);
  sqlite3_prepare_v2(db, "INSERT INTO points VALUES (?, ?, ?)", -1, &insert, nullptr);
  const auto begin = std::chrono::steady_clock::now();
  long done = 0;
  for (long first = 1; done < count; first += batch) {
    for (long trial = 0; trial < trials; ++trial) {
      sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
      for (long steps = first; steps < first + batch; ++steps, ++done) {
        sqlite3_bind_int64(insert, 1, trial);
        sqlite3_bind_int64(insert, 2, steps);
        sqlite3_bind_double(insert, 3, static_cast<double>(steps * 7919 % 1000));
        if (sqlite3_step(insert) != SQLITE_DONE) return 1;
        sqlite3_reset(insert);
      }
      if (sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return 1;
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f\n", static_cast<double>(done) / passed.count());
  sqlite3_finalize(insert);
  sqlite3_close(db);
}
