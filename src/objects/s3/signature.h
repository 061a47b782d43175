/// Signatures of requests to S3: AWS Signature Version 4, in a header or in a URL. Pure functions, which take the time
/// as an argument; safe on any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "net/http/message.h"

namespace cadre::objects::s3 {

struct SigningKey {
  std::string access_key;
  std::string secret_key;
  std::string region;
  std::string service = "s3";
};

/// What is signed of a request. Headers besides these may be sent, too.
struct SignedParts {
  std::string_view method;  ///< as it is sent: GET
  std::string path;         ///< escaped by escape_path
  net::http::Query query;   ///< not escaped
  net::http::Headers headers;
  std::string payload_sha256;  ///< in hexadecimal digits, or unsigned_payload
};

constexpr std::string_view unsigned_payload = "UNSIGNED-PAYLOAD";
constexpr Duration presigned_max = std::chrono::hours(24 * 7);

/// 20130524T000000Z, from a time counted from 1970.
[[nodiscard]] std::string date_of(TimePoint utc);

/// Each part between slashes as it may stand in a URL.
[[nodiscard]] std::string escape_path(std::string_view path);

/// `name=value&…`, escaped and in the order that is signed; empty for none.
[[nodiscard]] std::string canonical_query(const net::http::Query& query);

/// The text of which the signature is taken, by its rules; for tests and messages.
[[nodiscard]] std::string canonical_request(const SignedParts& parts);

/// The value of the header Authorization. The headers must hold Host and X-Amz-Date with date_of(utc).
[[nodiscard]] std::string authorization(const SigningKey& key, const SignedParts& parts, TimePoint utc);

/// The query with which a URL is a signed request by itself, for so long. The headers, which hold Host, must be sent as
/// they are.
[[nodiscard]] std::string presigned_query(const SigningKey& key, SignedParts parts, TimePoint utc, Duration valid);

}  // namespace cadre::objects::s3
