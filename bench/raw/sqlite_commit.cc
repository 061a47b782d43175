// Plain SQLite: durable transactions of COUNT rows of 100 bytes in FILE; prints rows a second.
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const int count = std::atoi(argv[1]);
  sqlite3* db = nullptr;
  sqlite3_stmt* insert = nullptr;
  if (sqlite3_open(argv[2], &db) != SQLITE_OK) return 1;
  sqlite3_exec(db,
               "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
               "CREATE TABLE events (id BIGINT PRIMARY KEY, text TEXT)",
               nullptr, nullptr, nullptr);
  sqlite3_prepare_v2(db, "INSERT INTO events VALUES (?, ?)", -1, &insert, nullptr);
  const std::string text(100, 'x');
  long id = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{};
  do {
    sqlite3_exec(db, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
    for (int i = 0; i < count; ++i) {
      sqlite3_bind_int64(insert, 1, ++id);
      sqlite3_bind_text(insert, 2, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
      if (sqlite3_step(insert) != SQLITE_DONE) return 1;
      sqlite3_reset(insert);
    }
    if (sqlite3_exec(db, "COMMIT", nullptr, nullptr, nullptr) != SQLITE_OK) return 1;
    passed = std::chrono::steady_clock::now() - begin;
  } while (passed.count() < 0.5);
  std::printf("%.1f\n", static_cast<double>(id) / passed.count());
  sqlite3_finalize(insert);
  sqlite3_close(db);
}
