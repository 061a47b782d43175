#include "records/claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace cadre::records {
namespace {

/// About two seconds in all: the server may still be busy with the last words of a master that was killed.
constexpr int attempts_max = 40;

/// The lock is the server's, of this database and schema; the setting tells later on whether this is the same session.
constexpr std::string_view take_sql =
    "SELECT CASE WHEN pg_try_advisory_lock(1667327090, hashtext(coalesce(current_schema(), '')))"
    " THEN set_config('cadre.claim', 'held', false) ELSE '' END";

Failure refused(std::string_view place, const std::string& by) {
  return fail(Errc::conflict, "the database " + std::string(place) + " belongs to another master that is running" + by +
                                  "; stop that master first, or use another database for this one");
}

Failure system_failure(const std::string& path) {
  const int number = errno;
  const Errc code = number == EACCES || number == EPERM || number == EROFS ? Errc::denied : Errc::unavailable;
  return fail(code, "the lock file " + path + ": " + std::strerror(number));
}

std::string read_process(int file) {
  std::array<char, 32> text{};
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (size <= 1) return "";
  return " (process " + std::string(text.data(), static_cast<std::size_t>(size) - 1) + ")";
}

}  // namespace

Claim::~Claim() {
  if (file_ >= 0) close(file_);
}

Result<Claim> Claim::take(std::string_view url, database::Database& database) {
  TRY_ASSIGN(parsed, database::parse_url(url));
  Claim claim;
  if (const auto* sqlite = std::get_if<database::SqliteUrl>(&parsed)) {
    if (sqlite->path != ":memory:") TRY(claim.take_file(sqlite->path));
  } else {
    TRY(take_on_server(database));
    claim.on_server_ = true;
  }
  return claim;
}

/// A file of its own beside the database, which SQLite locks in its own way. It stays: whoever removed it would let in
/// another master beside one that has it open.
Result<void> Claim::take_file(const std::string& path) {
  char* const real = realpath(path.c_str(), nullptr);  // by whatever name: one database, one lock
  const std::string beside = std::string(real == nullptr ? path : std::string(real)) + "-master";
  std::free(real);
  file_ = open(beside.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file_ < 0) return system_failure(beside);
  for (int attempt = 1; flock(file_, LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK && errno != EINTR) return system_failure(beside);
    if (attempt == attempts_max) return refused(path, read_process(file_));
    database::pause_before_repeating(attempt);
  }
  const std::string process = std::to_string(getpid()) + "\n";  // for people; a full disk need not stop the master
  if (ftruncate(file_, 0) == 0) static_cast<void>(!pwrite(file_, process.data(), process.size(), 0));
  return {};
}

Result<void> Claim::take_on_server(database::Database& database) {
  for (int attempt = 1;; ++attempt) {
    TRY_ASSIGN(rows, database.query(take_sql));
    TRY_ASSIGN(row, rows.one());
    TRY_ASSIGN(taken, row.get<std::string>(0));
    if (taken == "held") return {};
    if (attempt == attempts_max) return refused(database.place(), "");
    database::pause_before_repeating(attempt);
  }
}

std::string_view Claim::held_sql() const {
  if (!on_server_) return "1";
  return "CASE WHEN current_setting('cadre.claim', true) = 'held' THEN 1 ELSE 0 END";
}

Result<void> Claim::renew(database::Transaction& transaction) const {
  if (!on_server_) return {};
  TRY(transaction.query(take_sql));
  return {};
}

}  // namespace cadre::records
