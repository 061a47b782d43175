#include "database/sqlite_values.h"

#include <sqlite3.h>

#include <charconv>
#include <string_view>
#include <system_error>

#include "base/overloaded.h"

namespace cadre::database {

std::size_t parameter_number(const char* name) {
  if (name == nullptr || name[0] != '$') return 0;
  std::size_t number = 0;
  const std::string_view digits = name + 1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() ? number : 0;
}

int bind(sqlite3_stmt* statement, int at, const Value& value) {
  return std::visit(overloaded{
                        [&](Null) { return sqlite3_bind_null(statement, at); },
                        [&](std::int64_t number) { return sqlite3_bind_int64(statement, at, number); },
                        [&](double number) { return sqlite3_bind_double(statement, at, number); },
                        [&](const std::string& text) {
                          return sqlite3_bind_text64(statement, at, text.data(), text.size(), SQLITE_STATIC,
                                                     SQLITE_UTF8);
                        },
                        [&](const Bytes& bytes) {  // a null pointer would bind null
                          const void* data = bytes.empty() ? static_cast<const void*>("") : bytes.data();
                          return sqlite3_bind_blob64(statement, at, data, bytes.size(), SQLITE_STATIC);
                        },
                    },
                    value);
}

Value cell(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return sqlite3_column_int64(statement, column);
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement, column));
      return Bytes(bytes, bytes + sqlite3_column_bytes(statement, column));
    }
    default: return Null{};
  }
}

}  // namespace cadre::database
