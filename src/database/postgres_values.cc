#include "database/postgres_values.h"

#include <libpq-fe.h>

#include <array>
#include <bit>
#include <charconv>
#include <string_view>

#include "base/overloaded.h"

namespace cadre::database {
namespace {

// Each reads a text into a cell, and says whether it could.

template <class Number>
bool read_number(std::string_view text, Value& cell) {
  auto& value = cell.emplace<Number>();
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

int nibble(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

bool read_bytes(std::string_view text, Value& cell) {
  if (!text.starts_with("\\x") || text.size() % 2 != 0) return false;
  auto& value = cell.emplace<Bytes>(text.size() / 2 - 1);
  for (std::size_t at = 0; at < value.size(); ++at) {
    const int high = nibble(text[2 * at + 2]), low = nibble(text[2 * at + 3]);
    if (high < 0 || low < 0) return false;
    value[at] = static_cast<std::byte>(high << 4 | low);
  }
  return true;
}

bool read_cell(std::string_view text, Oid type, Value& cell) {
  switch (type) {  // as pg_type.dat numbers them
    case 16: cell.emplace<std::int64_t>(text == "t" ? 1 : 0); return true;
    case 20:
    case 21:
    case 23:
    case 26: return read_number<std::int64_t>(text, cell);
    case 700:
    case 701: return read_number<double>(text, cell);
    case 1700:  // numeric, for instance the sum of integers: an integer here as in SQLite
      return read_number<std::int64_t>(text, cell) || read_number<double>(text, cell);
    case 17: return read_bytes(text, cell);
    default: cell.emplace<std::string>(text); return true;
  }
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: out += c;
    }
  }
}

void append_hex(std::string& out, BytesView value) {
  static constexpr std::string_view digits = "0123456789abcdef";
  out += "\\\\x";
  for (const std::byte b : value) {
    out += digits[std::to_integer<unsigned>(b) >> 4];
    out += digits[std::to_integer<unsigned>(b) & 15U];
  }
}

template <class Number>
void append_number(std::string& out, Number value) {
  std::array<char, 32> text;
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  static_cast<void>(error);  // 32 characters hold every number
  out.append(text.data(), end);
}

const char* in_network_order(std::uint64_t number, std::array<char, 8>& word) {
  for (std::size_t at = 0; at < word.size(); ++at) word[at] = static_cast<char>(number >> (56 - 8 * at));
  return word.data();
}

}  // namespace

Arguments::Arguments(const Values& params) : words_(params.size()) {
  static constexpr std::array<unsigned, 5> types{0, 20, 701, 25, 17};  // 0 for null: the server finds out
  for (std::size_t at = 0; at < params.size(); ++at) {
    types_.push_back(types.at(params[at].index()));
    add(params[at], words_[at]);
  }
}

void Arguments::add(const Value& value, Word& word) {
  std::visit(overloaded{
                 [&](Null) { push(nullptr, 0); },
                 [&](std::int64_t number) { push(in_network_order(static_cast<std::uint64_t>(number), word), 8); },
                 [&](double number) { push(in_network_order(std::bit_cast<std::uint64_t>(number), word), 8); },
                 [&](const std::string& text) { push(text.data(), text.size()); },
                 [&](const Bytes& bytes) {  // a null pointer would be null
                   push(bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data()), bytes.size());
                 },
             },
             value);
}

void Arguments::push(const char* value, std::size_t length) {
  values_.push_back(value);
  lengths_.push_back(static_cast<int>(length));
  formats_.push_back(1);  // binary; of text that is the text
}

Result<Rows> rows_of(const pg_result* result) {
  const int width = PQnfields(result);
  const int count = PQntuples(result);
  std::vector<std::string> columns;
  columns.reserve(static_cast<std::size_t>(width));
  for (int column = 0; column < width; ++column) columns.emplace_back(PQfname(result, column));
  std::vector<Values> rows;
  rows.reserve(static_cast<std::size_t>(count));
  for (int at = 0; at < count; ++at) {
    Values row(static_cast<std::size_t>(width));
    for (int column = 0; column < width; ++column) {
      if (PQgetisnull(result, at, column) != 0) continue;
      const std::string_view text(PQgetvalue(result, at, column),
                                  static_cast<std::size_t>(PQgetlength(result, at, column)));
      if (!read_cell(text, PQftype(result, column), row[static_cast<std::size_t>(column)])) {
        return fail(Errc::corrupt, "PostgreSQL sent '" + std::string(text) + "' for column " + PQfname(result, column));
      }
    }
    rows.push_back(std::move(row));
  }
  return Rows(std::move(columns), std::move(rows));
}

void append_copy_row(std::string& text, const Values& row) {
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (at > 0) text += '\t';
    std::visit(overloaded{
                   [&](Null) { text += "\\N"; },
                   [&](std::int64_t value) { append_number(text, value); },
                   [&](double value) { append_number(text, value); },  // inf is read as infinity
                   [&](const std::string& value) { append_escaped(text, value); },
                   [&](const Bytes& value) { append_hex(text, value); },
               },
               row[at]);
  }
  text += '\n';
}

}  // namespace cadre::database
