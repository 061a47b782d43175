/// What is asked over HTTP and what is answered. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cadre::net::http {

enum class Method : std::uint8_t { get, head, post, put, patch, remove, other };
/// GET, HEAD, POST, PUT, PATCH, DELETE; what is none of them is `other`.
std::string_view to_string(Method method);
Method parse_method(std::string_view text);

/// Without regard to case, as names of headers are compared.
bool equal_names(std::string_view a, std::string_view b);
using Headers = std::vector<std::pair<std::string, std::string>>;
/// Whether it can be sent as one header and as nothing else: no control characters.
[[nodiscard]] bool is_header(std::string_view name, std::string_view value);
/// The first of that name; empty: there is none.
std::string_view find(const Headers& headers, std::string_view name);

struct Request {
  Method method = Method::get;
  std::string target;  ///< as it came: path and query
  Headers headers;
  std::string body;
  std::string peer;           ///< the address of the client, without its port
  bool is_websocket = false;  ///< asks to go on as one

  /// The target up to its query, still with its escapes.
  std::string_view path() const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Headers headers;
  std::shared_ptr<const std::string> document = {};  ///< instead of `body`: one that many answers share

  const std::string& content() const { return document ? *document : body; }
};

/// The words of a status: 404 is `Not Found`.
std::string_view reason_of(int status);

/// The value of a hexadecimal digit; -1: it is none.
int hex_digit(char c);

/// %41 and the like as what they stand for; `invalid` when one is no escape. Does not touch `+`.
[[nodiscard]] Result<std::string> unescape(std::string_view text);
/// A text as it may stand in one segment of a path or in a query.
[[nodiscard]] std::string escape(std::string_view text);

using Query = std::vector<std::pair<std::string, std::string>>;
/// The names and values behind the `?`, in their order, a `+` being a space; `invalid` when an escape is wrong.
[[nodiscard]] Result<Query> query_of(std::string_view target);

}  // namespace cadre::net::http
