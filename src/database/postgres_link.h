/// A libpq connection on which nothing waits longer than told: a server that says nothing ends in an error. One thread
/// at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "database/options.h"
#include "database/url.h"
#include "database/value.h"

struct pg_conn;
struct pg_result;

namespace cadre::database {

struct FreePostgres {
  void operator()(pg_conn* connection) const;
  void operator()(pg_result* result) const;
};
using PostgresResult = std::unique_ptr<pg_result, FreePostgres>;

/// Which server and database, for messages: host:port/name.
[[nodiscard]] Result<std::string> place_of(const PostgresUrl& url);

class PostgresLink {
 public:
  [[nodiscard]] static Result<std::unique_ptr<PostgresLink>> connect(const PostgresUrl& url, const std::string& place,
                                                                     const Options& options);

  /// Nothing more can be said on this link, and what was said last may have been done.
  bool lost() const { return lost_; }
  /// Whether the server has not yet said goodbye. Asks without waiting.
  bool alive();

  /// Several statements are allowed.
  [[nodiscard]] Result<PostgresResult> plain(const std::string& sql);
  [[nodiscard]] Result<void> prepare(const std::string& name, const std::string& sql, const Values& params);
  [[nodiscard]] Result<PostgresResult> run(const std::string& name, const Values& params);
  /// `sql` is a COPY … FROM STDIN; `next` gives its text piece by piece, an empty one at the end.
  template <class Next>
  [[nodiscard]] Result<void> copy(const std::string& sql, Next next) {
    TRY(start_copy(sql));
    for (std::string_view piece = next(); !piece.empty(); piece = next()) TRY(put(piece));
    return end_copy();
  }

 private:
  using Clock = std::chrono::steady_clock;

  PostgresLink(std::string place, const Options& options) : place_(std::move(place)), options_(options) {}
  Result<void> connect_once(const PostgresUrl& url, Clock::time_point deadline);
  Result<void> wait(short events, Clock::time_point deadline);
  Result<void> flush(Clock::time_point deadline);
  Result<PostgresResult> finish(Clock::time_point deadline);
  Result<PostgresResult> sent(int accepted);
  Result<void> start_copy(const std::string& sql);
  Result<void> put(std::string_view piece);
  Result<void> end_copy();
  Clock::time_point statement_deadline() const;
  Failure lose(std::string_view why);
  static void take_notice(void* self, const pg_result* notice);

  std::string place_;
  Options options_;
  std::unique_ptr<pg_conn, FreePostgres> connection_;
  Clock::time_point copy_deadline_{};
  bool lost_ = false;
  bool farewell_ = false;
};

}  // namespace cadre::database
