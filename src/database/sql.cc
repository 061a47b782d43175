#include "database/sql.h"

#include <algorithm>
#include <array>

namespace cadre::database {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::size_t after(std::string_view sql, std::string_view mark, std::size_t from) {
  const std::size_t at = sql.find(mark, from);
  return at == std::string_view::npos ? sql.size() : at + mark.size();
}

/// Where the quote or comment that begins at `at` ends; `at` itself when none begins there.
std::size_t skip(std::string_view sql, std::size_t at) {
  const std::string_view rest = sql.substr(at);
  if (rest.starts_with("'")) return after(sql, "'", at + 1);
  if (rest.starts_with("\"")) return after(sql, "\"", at + 1);
  if (rest.starts_with("--")) return after(sql, "\n", at);
  if (rest.starts_with("/*")) return after(sql, "*/", at + 2);
  return at;
}

std::string word_at(std::string_view sql, std::size_t at) {
  std::string word;
  for (; at < sql.size() && (is_letter(sql[at]) || is_digit(sql[at])); ++at) {
    word += sql[at] >= 'a' && sql[at] <= 'z' ? static_cast<char>(sql[at] - 'a' + 'A') : sql[at];
  }
  return word;
}

std::size_t number_at(std::string_view sql, std::size_t at) {
  std::size_t number = 0;
  for (; at < sql.size() && is_digit(sql[at]) && number < 1'000'000; ++at) {
    number = number * 10 + static_cast<std::size_t>(sql[at] - '0');
  }
  return number;
}

Result<void> check_verb(const std::string& verb) {
  static constexpr std::array<std::string_view, 8> control{"BEGIN",    "START", "COMMIT",    "END",
                                                           "ROLLBACK", "ABORT", "SAVEPOINT", "RELEASE"};
  if (std::find(control.begin(), control.end(), verb) == control.end()) return {};
  return fail(Errc::invalid, verb + " cannot be sent as SQL; use transaction()");
}

Result<void> check_text(std::string_view sql) {
  if (sql.find('\0') == std::string_view::npos) return {};
  return fail(Errc::invalid, "SQL text holds a NUL byte");
}

}  // namespace

Shape shape_of(std::string_view sql) {
  Shape shape;
  bool inside = false;  // a statement, beyond its first word
  for (std::size_t at = 0; at < sql.size();) {
    const char c = sql[at];
    const std::size_t skipped = skip(sql, at);
    if (skipped != at) {
      if (c == '\'' || c == '"') inside = true;
      at = skipped;
    } else if (c == ';') {
      inside = false;
      ++at;
    } else if (is_letter(c)) {
      const std::string word = word_at(sql, at);
      if (!inside) shape.verbs.push_back(word);
      inside = true;
      at += word.size();
    } else {
      if (c == '$') shape.parameters = std::max(shape.parameters, number_at(sql, at + 1));
      if (!inside && !is_space(c) && c != '(') {
        shape.verbs.emplace_back();
        inside = true;
      }
      ++at;
    }
  }
  return shape;
}

Result<void> check_statement(std::string_view sql, std::size_t parameters) {
  TRY(check_text(sql));
  const Shape shape = shape_of(sql);
  if (shape.verbs.size() != 1) {
    return fail(Errc::invalid,
                "one statement is expected, not " + std::to_string(shape.verbs.size()) + "; use script() for several");
  }
  if (shape.parameters != parameters) {
    return fail(Errc::invalid, "the statement has " + std::to_string(shape.parameters) + " parameters, but " +
                                   std::to_string(parameters) + " values were given");
  }
  return check_verb(shape.verbs.front());
}

Result<void> check_script(std::string_view sql) {
  TRY(check_text(sql));
  const Shape shape = shape_of(sql);
  if (shape.parameters != 0) return fail(Errc::invalid, "a script takes no parameters");
  for (const std::string& verb : shape.verbs) TRY(check_verb(verb));
  return {};
}

bool only_reads(std::string_view sql) {
  const Shape shape = shape_of(sql);
  return shape.verbs.size() == 1 && (shape.verbs.front() == "SELECT" || shape.verbs.front() == "VALUES");
}

Result<std::string> quoted_name(std::string_view name) {
  const bool plain = !name.empty() && !is_digit(name.front()) && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
  });
  if (plain) return "\"" + std::string(name) + "\"";
  return fail(Errc::invalid, "'" + std::string(name) + "' cannot name a table or column here; use a-z, 0-9 and _");
}

Result<std::string> quoted_names(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) {
    TRY_ASSIGN(quoted, quoted_name(name));
    list += (list.empty() ? "" : ", ") + quoted;
  }
  if (list.empty()) return fail(Errc::invalid, "no columns were given");
  return list;
}

}  // namespace cadre::database
