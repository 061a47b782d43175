#include "net/http/response_writer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace cadre::net::http {

namespace {

constexpr std::array<std::string_view, 4> own_headers = {"content-length", "transfer-encoding", "connection",
                                                         "upgrade"};

void append_number(std::string& to, std::size_t number) {
  char digits[20];
  to.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace

bool is_sound(const Response& response) {
  if (response.status < 200 || response.status > 599 || !is_header("Content-Type", response.content_type)) return false;
  return std::ranges::all_of(response.headers, [](const auto& header) {
    const auto is_it = [&](std::string_view own) { return equal_names(own, header.first); };
    return is_header(header.first, header.second) && std::ranges::none_of(own_headers, is_it);
  });
}

bool has_body(int status) { return status != 204 && status != 304; }

void write_head(std::string& to, const Response& response, BodyKind kind, After after) {
  to += "HTTP/1.1 ";
  append_number(to, static_cast<std::size_t>(response.status));
  ((to += ' ') += reason_of(response.status)) += "\r\n";
  if (has_body(response.status)) {
    if (!response.content_type.empty()) ((to += "Content-Type: ") += response.content_type) += "\r\n";
    if (kind == BodyKind::sized) {
      to += "Content-Length: ";
      append_number(to, response.content().size());
      to += "\r\n";
    } else if (kind == BodyKind::chunked) {
      to += "Transfer-Encoding: chunked\r\n";
    }
  }
  for (const auto& [name, value] : response.headers) (((to += name) += ": ") += value) += "\r\n";
  if (after == After::close) to += "Connection: close\r\n";
  to += "\r\n";
}

Response problem(int status, std::string_view title) {
  Response response{.status = status, .content_type = "application/problem+json", .body = {}, .headers = {}};
  response.body = "{\"title\": \"" + std::string(title) + "\", \"status\": " + std::to_string(status) + "}\n";
  return response;
}

}  // namespace cadre::net::http
