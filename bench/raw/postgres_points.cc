// Plain libpq: inserts COUNT points of TRIALS trials in turn, in statements of 1,000 rows and transactions of BATCH
// points of one trial, into the database URL; prints points a second.
#include <libpq-fe.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

bool run(PGconn* db, const std::string& sql) {
  PGresult* result = PQexec(db, sql.c_str());
  const bool is_done = PQresultStatus(result) == PGRES_COMMAND_OK;
  PQclear(result);
  return is_done;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const long count = std::atol(argv[1]), trials = std::atol(argv[2]), batch = std::atol(argv[3]);
  constexpr long rows = 1'000;
  PGconn* db = PQconnectdb(argv[4]);
  if (PQstatus(db) != CONNECTION_OK) return 1;
  if (!run(db, "SET client_min_messages = warning") || !run(db, "DROP TABLE IF EXISTS points") ||
      !run(db,
           "CREATE TABLE points (trial BIGINT, steps BIGINT, value DOUBLE PRECISION, PRIMARY KEY (trial, steps))")) {
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  long done = 0;
  for (long first = 1; done < count; first += batch) {
    for (long trial = 0; trial < trials; ++trial) {
      if (!run(db, "BEGIN")) return 1;
      for (long from = first; from < first + batch; from += rows) {
        std::string sql = "INSERT INTO points VALUES ";
        for (long steps = from; steps < from + rows; ++steps, ++done) {
          sql += (steps == from ? "(" : ",(") + std::to_string(trial) + "," + std::to_string(steps) + "," +
                 std::to_string(steps * 7919 % 1000) + ")";
        }
        if (!run(db, sql)) return 1;
      }
      if (!run(db, "COMMIT")) return 1;
    }
  }
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  std::printf("%.1f\n", static_cast<double>(done) / passed.count());
  PQfinish(db);
}
