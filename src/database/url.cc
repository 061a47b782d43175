#include "database/url.h"

#include <algorithm>

namespace cadre::database {
namespace {

constexpr std::string_view forms =
    "write sqlite:///absolute/path.db, sqlite:relative.db, sqlite::memory:, or "
    "postgresql://user:password@host:port/name";

Failure bad_url(std::string why) { return fail(Errc::invalid, why.append("; ").append(forms)); }

Result<Url> parse_sqlite(std::string_view rest) {
  if (rest == ":memory:") return SqliteUrl{std::string(rest)};
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    if (!rest.starts_with("/")) return bad_url("an SQLite URL with // needs an absolute path after it");
  }
  if (rest.empty() || rest.ends_with("/")) return bad_url("the SQLite URL has no file name");
  if (rest.find('\0') != std::string_view::npos) return bad_url("the SQLite URL holds a NUL byte");
  // "./" keeps SQLite from reading a meaning into names such as file:x or :memory:x
  return SqliteUrl{rest.starts_with("/") ? std::string(rest) : "./" + std::string(rest)};
}

Result<Url> parse_postgres(std::string_view text, std::string_view rest) {
  if (!rest.starts_with("//")) return bad_url("a PostgreSQL URL needs // after its scheme");
  if (rest.find('\0') != std::string_view::npos) return bad_url("the PostgreSQL URL holds a NUL byte");
  // A password with a bare @ / or ? would be taken for a part of the host, and then shown in messages about it.
  const std::string_view authority = rest.substr(2, std::min(rest.find_first_of("/?", 2), rest.size()) - 2);
  const auto ats = std::count(rest.begin(), rest.end(), '@');
  if (ats > 1 || (ats == 1 && authority.find('@') == std::string_view::npos)) {
    return bad_url("the user or password holds a bare @ / or ?: write it %40, %2F or %3F");
  }
  return PostgresUrl{std::string(text)};
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view scheme = text.substr(0, colon);
  if (colon == std::string_view::npos) return bad_url("this is not a database URL");
  const std::string_view rest = text.substr(colon + 1);
  if (scheme == "sqlite") return parse_sqlite(rest);
  if (scheme == "postgresql" || scheme == "postgres") return parse_postgres(text, rest);
  return bad_url("the scheme of the database URL is not known");
}

}  // namespace cadre::database
