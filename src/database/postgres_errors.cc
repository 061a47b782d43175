#include "database/postgres_errors.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>

#include "base/rounded.h"

namespace cadre::database {
namespace {

struct Meaning {
  std::string_view state;  // or its beginning; the first that fits
  Errc code;
  std::string_view remedy;
};

constexpr std::array<Meaning, 23> meanings{{
    {"23505", Errc::conflict, ""},
    {"23503", Errc::conflict, ""},
    {"23P01", Errc::conflict, ""},
    {"42710", Errc::conflict, ""},  // it is there already, made by one who was at it at the same time
    {"42P07", Errc::conflict, ""},
    {"40003", Errc::timed_out, "; it may or may not have been executed: check before you repeat it"},
    {"40", Errc::conflict, "; it conflicted with another transaction: repeat it"},
    {"26000", Errc::conflict, "; repeat it"},
    {"25006", Errc::unavailable, "; the server is read-only (a standby?)"},
    {"28", Errc::denied, "; check user and password"},
    {"42501", Errc::denied, ""},
    {"3D000", Errc::not_found, "; create the database first"},
    {"53100", Errc::unavailable,
     "; the disk of the server is full, nothing was written. Free space on it, then repeat"},
    {"53", Errc::unavailable, ""},
    {"55P03", Errc::unavailable, ""},
    {"57014", Errc::unavailable, ""},
    {"57", Errc::unavailable, ""},
    {"08P01", Errc::invalid, ""},
    {"08", Errc::unavailable, ""},
    {"58", Errc::unavailable, "; the disk or the system of the server failed: see its log"},
    {"XX001", Errc::corrupt, ""},
    {"XX002", Errc::corrupt, ""},
    {"XX", Errc::unavailable, ""},
}};

Meaning meaning_of(std::string_view state) {
  for (const Meaning& meaning : meanings) {
    if (state.starts_with(meaning.state)) return meaning;
  }
  return {state, Errc::invalid, ""};
}

std::string_view field(const pg_result* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

/// Finds the code in text such as `FATAL:  28P01: password authentication failed`.
std::string_view find_state(std::string_view message) {
  const auto in_code = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  for (std::size_t at = message.find(":  "); at != std::string_view::npos; at = message.find(":  ", at + 1)) {
    const std::string_view state = message.substr(at + 3, 5);
    if (state.size() == 5 && std::all_of(state.begin(), state.end(), in_code) &&
        message.substr(at + 8).starts_with(": ")) {
      return state;
    }
  }
  return {};
}

}  // namespace

Error postgres_error(const pg_result* result, std::string_view place, const Options& options) {
  const std::string_view state = field(result, PG_DIAG_SQLSTATE);
  std::string_view primary = field(result, PG_DIAG_MESSAGE_PRIMARY);
  if (primary.empty()) primary = PQresultErrorMessage(result);
  while (primary.ends_with("\n")) primary.remove_suffix(1);
  std::string message = "PostgreSQL ";
  message.append(place).append(": ").append(primary);
  if (const std::string_view detail = field(result, PG_DIAG_MESSAGE_DETAIL); !detail.empty()) {
    message.append(" (").append(detail).append(")");
  }
  if (state == "0A000" && primary.starts_with("cached plan")) {  // a table was altered under a prepared statement
    return {Errc::conflict, message + "; repeat it"};
  }
  if (state == "55P03") message += "; another writer has held the lock longer than " + rounded(options.busy_wait);
  if (state == "57014") message += "; the statement ran longer than " + rounded(options.statement_wait);
  const Meaning meaning = meaning_of(state);
  return {state.empty() ? Errc::unavailable : meaning.code, message.append(meaning.remedy)};
}

Refusal postgres_refusal(std::string_view message, std::string_view place) {
  const std::string_view state = find_state(message);
  std::string text = "PostgreSQL ";
  text.append(place).append(": no connection: ").append(message.substr(0, message.find("\nLOCATION:")));
  while (text.ends_with('\n')) text.pop_back();
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  const Meaning meaning = meaning_of(state);
  const bool known = !state.empty() && meaning.code != Errc::invalid;
  if (known) text.append(meaning.remedy);
  return {{known ? meaning.code : Errc::unavailable, std::move(text)}, state == "57P03"};
}

}  // namespace cadre::database
