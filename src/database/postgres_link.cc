#include "database/postgres_link.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "database/postgres_errors.h"
#include "database/postgres_values.h"

namespace cadre::database {
namespace {

using std::chrono::milliseconds;

std::string in_ms(Duration wait) {  // 0 would mean no limit
  return std::to_string(std::clamp<std::int64_t>(std::chrono::duration_cast<milliseconds>(wait).count(), 1, INT32_MAX));
}

std::string settings(const Options& options) {
  return "SET client_min_messages = error; SET default_transaction_isolation = 'serializable';"
         "SET bytea_output = 'hex'; SET extra_float_digits = 1; SET standard_conforming_strings = on;"
         "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
         "SET lock_timeout = " +
         in_ms(options.busy_wait) + "; SET statement_timeout = " + in_ms(options.statement_wait);
}

bool is_error(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE || status == PGRES_NONFATAL_ERROR;
}

bool is_copy(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COPY_IN || status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

int poll_once(int socket, short events, std::chrono::steady_clock::time_point deadline) {
  pollfd watched{socket, events, 0};
  const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, INT32_MAX)));
}

}  // namespace

void FreePostgres::operator()(pg_conn* connection) const { PQfinish(connection); }
void FreePostgres::operator()(pg_result* result) const { PQclear(result); }

Result<std::string> place_of(const PostgresUrl& url) {
  char* why = nullptr;
  PQconninfoOption* options = PQconninfoParse(url.text.c_str(), &why);
  PQfreemem(why);  // it may quote a part of the password
  if (options == nullptr) {
    return fail(Errc::invalid,
                "the PostgreSQL URL cannot be read; write postgresql://user:password@host:port/name?option=value, a % "
                "in any part as %25");
  }
  std::string host = "localhost", port = "5432", name;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string_view keyword = option->keyword;
    if (keyword == "host") host = option->val;
    if (keyword == "port") port = option->val;
    if (keyword == "dbname") name = option->val;
  }
  PQconninfoFree(options);
  return host + ":" + port + "/" + name;
}

Result<std::unique_ptr<PostgresLink>> PostgresLink::connect(const PostgresUrl& url, const std::string& place,
                                                            const Options& options) {
  std::unique_ptr<PostgresLink> link(new PostgresLink(place, options));
  TRY(link->connect_once(url, Clock::now() + options.connect_wait));
  TRY(link->plain(settings(options)));
  return link;
}

/// Once is until the server, if it is starting up, has started.
Result<void> PostgresLink::connect_once(const PostgresUrl& url, Clock::time_point deadline) {
  const std::string silence_ms = in_ms(options_.statement_wait);
  const std::array<const char*, 8> keys{
      "keepalives_idle", "keepalives_interval",       "keepalives_count", "tcp_user_timeout",
      "dbname",          "fallback_application_name", "client_encoding",  nullptr};
  const std::array<const char*, 8> values{"10",    "5",    "3",    silence_ms.c_str(), url.text.c_str(),
                                          "cadre", "UTF8", nullptr};
  for (int attempt = 1;; ++attempt) {
    connection_.reset(PQconnectStartParams(keys.data(), values.data(), 1));
    if (!connection_) return fail(Errc::unavailable, "no memory for a PostgreSQL connection");
    PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);  // only so does a refusal carry its code
    PQsetNoticeReceiver(connection_.get(), take_notice, this);
    PostgresPollingStatusType state = PGRES_POLLING_WRITING;
    while (PQstatus(connection_.get()) != CONNECTION_BAD && state != PGRES_POLLING_OK &&
           state != PGRES_POLLING_FAILED) {
      TRY(wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline));
      state = PQconnectPoll(connection_.get());
    }
    if (state == PGRES_POLLING_OK) break;
    Refusal refusal = postgres_refusal(PQerrorMessage(connection_.get()), place_);
    if (!refusal.starting || Clock::now() >= deadline) return Failure(std::move(refusal.error));
    std::this_thread::sleep_for(milliseconds(std::min(10 * attempt, 200)));
  }
  if (PQsetnonblocking(connection_.get(), 1) != 0) return lose("it cannot be made non-blocking");
  return {};
}

void PostgresLink::take_notice(void* self, const pg_result* notice) {
  const char* state = PQresultErrorField(notice, PG_DIAG_SQLSTATE);
  if (state != nullptr && std::strncmp(state, "57P", 3) == 0) static_cast<PostgresLink*>(self)->farewell_ = true;
}

Failure PostgresLink::lose(std::string_view why) {
  lost_ = true;
  while (why.ends_with("\n")) why.remove_suffix(1);
  std::string message = "PostgreSQL " + place_ + ": the connection was lost: ";
  for (const char c : why) message += c == '\n' || c == '\t' ? ' ' : c;
  return fail(Errc::unavailable, std::move(message));
}

PostgresLink::Clock::time_point PostgresLink::statement_deadline() const {
  // The server ends a slow statement itself, in good order; only its silence is ended from here.
  return Clock::now() + options_.statement_wait + std::min<Duration>(options_.statement_wait, std::chrono::seconds(5));
}

bool PostgresLink::alive() {
  while (!lost_ && !farewell_ && poll_once(PQsocket(connection_.get()), POLLIN, Clock::now()) > 0) {
    if (PQconsumeInput(connection_.get()) == 0) lost_ = true;
    PQisBusy(connection_.get());  // reads what came
  }
  lost_ = lost_ || farewell_ || PQstatus(connection_.get()) != CONNECTION_OK;
  return !lost_;
}

Result<void> PostgresLink::wait(short events, Clock::time_point deadline) {
  for (;;) {
    const int ready = poll_once(PQsocket(connection_.get()), events, deadline);
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return lose(std::strerror(errno));
    if (Clock::now() >= deadline) return lose("the server does not answer");
  }
}

Result<void> PostgresLink::flush(Clock::time_point deadline) {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) return {};
    if (left < 0) return {};  // what the server said last is still to be read; finish() finds out
    TRY(wait(POLLIN | POLLOUT, deadline));
    if (PQconsumeInput(connection_.get()) == 0) return {};
  }
}

Result<PostgresResult> PostgresLink::finish(Clock::time_point deadline) {
  TRY(flush(deadline));
  PostgresResult kept;
  for (;;) {
    while (PQisBusy(connection_.get()) != 0) {
      TRY(wait(POLLIN, deadline));
      if (PQconsumeInput(connection_.get()) == 0) break;  // the result says why
    }
    PostgresResult next(PQgetResult(connection_.get()));
    if (!next) break;
    if (is_copy(next.get())) return next;
    if (!kept || !is_error(kept.get())) kept = std::move(next);  // the first error, or else the last result
  }
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    return lose(kept && is_error(kept.get()) ? PQresultErrorMessage(kept.get()) : PQerrorMessage(connection_.get()));
  }
  if (!kept) return lose("no result arrived");
  if (is_error(kept.get())) return Failure(postgres_error(kept.get(), place_, options_));
  return kept;
}

Result<PostgresResult> PostgresLink::sent(int accepted) {
  if (accepted == 0) return lose(PQerrorMessage(connection_.get()));
  return finish(statement_deadline());
}

Result<PostgresResult> PostgresLink::plain(const std::string& sql) {
  return sent(PQsendQuery(connection_.get(), sql.c_str()));
}

Result<void> PostgresLink::prepare(const std::string& name, const std::string& sql, const Values& params) {
  const Arguments arguments(params);
  TRY(sent(PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), arguments.count(), arguments.types())));
  return {};
}

Result<PostgresResult> PostgresLink::run(const std::string& name, const Values& params) {
  const Arguments arguments(params);
  return sent(PQsendQueryPrepared(connection_.get(), name.c_str(), arguments.count(), arguments.values(),
                                  arguments.lengths(), arguments.formats(), 0));
}

Result<void> PostgresLink::start_copy(const std::string& sql) {
  copy_deadline_ = statement_deadline();
  TRY_ASSIGN(result, plain(sql));
  if (PQresultStatus(result.get()) == PGRES_COPY_IN) return {};
  return fail(Errc::invalid, "not a COPY FROM STDIN");
}

Result<void> PostgresLink::put(std::string_view piece) {
  for (;;) {
    const int accepted = PQputCopyData(connection_.get(), piece.data(), static_cast<int>(piece.size()));
    if (accepted == 1) return flush(copy_deadline_);
    if (accepted < 0) return lose(PQerrorMessage(connection_.get()));
    TRY(wait(POLLIN | POLLOUT, copy_deadline_));
    if (PQconsumeInput(connection_.get()) == 0) return lose(PQerrorMessage(connection_.get()));
  }
}

Result<void> PostgresLink::end_copy() {
  for (;;) {
    const int accepted = PQputCopyEnd(connection_.get(), nullptr);
    if (accepted == 1) break;
    if (accepted < 0) return lose(PQerrorMessage(connection_.get()));
    TRY(wait(POLLIN | POLLOUT, copy_deadline_));
  }
  TRY(finish(copy_deadline_));
  return {};
}

}  // namespace cadre::database
