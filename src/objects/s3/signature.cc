#include "objects/s3/signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>
#include <vector>

#include "base/check.h"
#include "objects/hash.h"

namespace cadre::objects::s3 {

using net::http::escape;

namespace {

constexpr std::string_view algorithm = "AWS4-HMAC-SHA256";

std::string hmac(std::string_view key, std::string_view text) {
  std::array<unsigned char, 32> mac{};
  unsigned int size = 0;
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac.data(), &size) != nullptr);
  CHECK(size == mac.size());
  return {mac.begin(), mac.end()};
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return small;
}

/// Without spaces at its ends, and with one where there are several.
std::string squeezed(std::string_view text) {
  std::string value;
  for (const char c : text) {
    const bool is_space = c == ' ' || c == '\t';
    if (!is_space) {
      value += c;
    } else if (!value.empty() && value.back() != ' ') {
      value += ' ';
    }
  }
  if (value.ends_with(' ')) value.pop_back();
  return value;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs canonical_headers(const net::http::Headers& headers) {
  Pairs sorted;
  for (const auto& [name, value] : headers) sorted.emplace_back(lower(name), squeezed(value));
  std::ranges::stable_sort(sorted, {}, &Pairs::value_type::first);
  return sorted;
}

std::string signed_headers(const net::http::Headers& headers) {
  std::string names;
  for (const auto& [name, value] : canonical_headers(headers)) names += (names.empty() ? "" : ";") + name;
  return names;
}

std::string scope_of(const SigningKey& key, const std::string& date) {
  return date.substr(0, 8) + "/" + key.region + "/" + key.service + "/aws4_request";
}

std::string signature_of(const SigningKey& key, const SignedParts& parts, const std::string& date) {
  const std::string text = std::string(algorithm) + "\n" + date + "\n" + scope_of(key, date) + "\n" +
                           sha256(as_bytes(canonical_request(parts)));
  std::string derived = hmac("AWS4" + key.secret_key, date.substr(0, 8));
  for (const std::string_view part : {std::string_view(key.region), std::string_view(key.service),
                                      std::string_view("aws4_request"), std::string_view(text)}) {
    derived = hmac(derived, part);
  }
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string signature;
  for (const char c : derived) {
    const auto byte = static_cast<unsigned char>(c);
    signature += {digits[byte >> 4], digits[byte & 15]};
  }
  return signature;
}

}  // namespace

std::string date_of(TimePoint utc) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(utc.time_since_epoch()).count();
  std::tm parts{};
  CHECK(gmtime_r(&seconds, &parts) != nullptr);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts)};
}

std::string escape_path(std::string_view path) {
  std::string escaped;
  while (true) {
    const std::size_t slash = path.find('/');
    escaped += escape(path.substr(0, slash));
    if (slash == std::string_view::npos) return escaped;
    escaped += '/';
    path.remove_prefix(slash + 1);
  }
}

std::string canonical_query(const net::http::Query& query) {
  Pairs sorted;
  for (const auto& [name, value] : query) sorted.emplace_back(escape(name), escape(value));
  std::ranges::sort(sorted);
  std::string text;
  for (const auto& [name, value] : sorted) {
    if (!text.empty()) text += '&';
    text.append(name).append("=").append(value);
  }
  return text;
}

std::string canonical_request(const SignedParts& parts) {
  std::string text(parts.method);
  text.append("\n").append(parts.path).append("\n").append(canonical_query(parts.query)).append("\n");
  for (const auto& [name, value] : canonical_headers(parts.headers)) {
    text.append(name).append(":").append(value).append("\n");
  }
  return text.append("\n").append(signed_headers(parts.headers)).append("\n").append(parts.payload_sha256);
}

std::string authorization(const SigningKey& key, const SignedParts& parts, TimePoint utc) {
  const std::string date = date_of(utc);
  return std::string(algorithm) + " Credential=" + key.access_key + "/" + scope_of(key, date) +
         ", SignedHeaders=" + signed_headers(parts.headers) + ", Signature=" + signature_of(key, parts, date);
}

std::string presigned_query(const SigningKey& key, SignedParts parts, TimePoint utc, Duration valid) {
  const std::string date = date_of(utc);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(valid).count();
  parts.query.insert(parts.query.end(), {{"X-Amz-Algorithm", std::string(algorithm)},
                                         {"X-Amz-Credential", key.access_key + "/" + scope_of(key, date)},
                                         {"X-Amz-Date", date},
                                         {"X-Amz-Expires", std::to_string(seconds)},
                                         {"X-Amz-SignedHeaders", signed_headers(parts.headers)}});
  const std::string signature = signature_of(key, parts, date);
  return canonical_query(parts.query) + "&X-Amz-Signature=" + signature;
}

}  // namespace cadre::objects::s3
