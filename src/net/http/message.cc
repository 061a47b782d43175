#include "net/http/message.h"

#include <algorithm>
#include <array>

namespace cadre::net::http {

namespace {

constexpr std::array<std::pair<Method, std::string_view>, 6> methods = {{{Method::get, "GET"},
                                                                         {Method::head, "HEAD"},
                                                                         {Method::post, "POST"},
                                                                         {Method::put, "PUT"},
                                                                         {Method::patch, "PATCH"},
                                                                         {Method::remove, "DELETE"}}};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_unreserved(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

Result<std::string> unescape_in_query(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return unescape(spaced);
}

}  // namespace

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = lower(c);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

std::string_view to_string(Method method) {
  const auto found = std::ranges::find(methods, method, &decltype(methods)::value_type::first);
  return found == methods.end() ? "other" : found->second;
}

Method parse_method(std::string_view text) {
  const auto found = std::ranges::find(methods, text, &decltype(methods)::value_type::second);
  return found == methods.end() ? Method::other : found->first;
}

bool equal_names(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return lower(x) == lower(y); });
}

bool is_header(std::string_view name, std::string_view value) {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  const auto names = [&](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || marks.find(c) != marks.npos;
  };
  const auto controls = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; };
  return !name.empty() && std::ranges::all_of(name, names) && std::ranges::none_of(value, controls);
}

std::string_view find(const Headers& headers, std::string_view name) {
  for (const auto& [its_name, value] : headers) {
    if (equal_names(its_name, name)) return value;
  }
  return {};
}

std::string_view Request::path() const { return std::string_view(target).substr(0, target.find('?')); }

std::string_view reason_of(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Unknown";
  }
}

Result<std::string> unescape(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return fail(Errc::invalid,
                  "'" + std::string(text.substr(i, 3)) + "' is not an escape: expected % and two hex digits");
    }
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain;
}

std::string escape(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      escaped += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    escaped += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return escaped;
}

Result<Query> query_of(std::string_view target) {
  Query query;
  const std::size_t mark = target.find('?');
  if (mark == std::string_view::npos) return query;
  std::string_view rest = target.substr(mark + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view item = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (item.empty()) continue;
    const std::size_t equals = std::min(item.find('='), item.size());
    TRY_ASSIGN(name, unescape_in_query(item.substr(0, equals)));
    TRY_ASSIGN(value, unescape_in_query(item.substr(std::min(equals + 1, item.size()))));
    query.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

}  // namespace cadre::net::http
