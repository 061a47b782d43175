/// Redis' protocol, RESP2: how a command is written and how replies are read, whatever the peer sends and however it is
/// cut. Values and a core; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cadre::net::redis {

struct Reply;

struct RespNull {
  bool operator==(const RespNull&) const = default;
};
/// The first word tells what kind of error it is.
struct RespError {
  std::string text;
  bool operator==(const RespError&) const = default;
};
/// A short word such as OK.
struct RespStatus {
  std::string text;
  bool operator==(const RespStatus&) const = default;
};
using RespArray = std::vector<Reply>;

struct Reply {
  std::variant<RespNull, RespError, RespStatus, std::int64_t, std::string, RespArray> value;
  bool operator==(const Reply&) const = default;

  const std::string* text() const { return std::get_if<std::string>(&value); }
  const std::int64_t* number() const { return std::get_if<std::int64_t>(&value); }
  const RespArray* array() const { return std::get_if<RespArray>(&value); }
  const RespError* error() const { return std::get_if<RespError>(&value); }
};

/// As a server takes commands: an array of strings.
[[nodiscard]] std::string write_command(const std::vector<std::string>& words);

struct RespLimits {
  std::size_t line_max = 64 << 10;  ///< of a word or an error
  std::size_t string_max = 1 << 20;
  std::size_t elements_max = 100'000;  ///< in one reply, all its arrays together
  std::size_t bytes_max = 64 << 20;    ///< of one reply
  std::size_t depth_max = 8;
};

/// Takes bytes as they come. Once it has failed it takes no more.
class RespReader {
 public:
  explicit RespReader(RespLimits limits) : limits_(limits) {}

  /// Appends the replies that are whole now. `corrupt` when this is no reply, or one beyond the limits.
  [[nodiscard]] Result<void> take(std::string_view bytes, std::vector<Reply>& replies);

 private:
  /// An array that is not whole yet.
  struct Open {
    RespArray elements;
    std::size_t missing = 0;
  };
  /// Whether there was something to read.
  Result<bool> step(std::vector<Reply>& replies);
  Result<bool> read_line(std::string_view& line);
  Result<void> take_line(char kind, std::string_view line, std::vector<Reply>& replies);
  Result<void> open_string(std::int64_t size);
  Result<void> open_array(std::int64_t size, std::vector<Reply>& replies);
  Result<void> add(Reply reply, std::vector<Reply>& replies);
  Failure refuse(const std::string& why);

  const RespLimits limits_;
  std::string buffer_;
  std::size_t at_ = 0;        // what is before is read
  std::size_t searched_ = 0;  // there is no end of a line before
  bool in_string_ = false;
  std::size_t string_size_ = 0;
  std::vector<Open> open_;
  std::size_t elements_ = 0;  // of the reply that is read
  std::size_t bytes_ = 0;
  bool failed_ = false;
};

}  // namespace cadre::net::redis
