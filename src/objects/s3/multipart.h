/// Uploads to S3 in parts, which nobody sees before they are put together. Every function blocks; safe on any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "objects/checked_source.h"
#include "objects/s3/client.h"

namespace cadre::objects::s3 {

constexpr std::int32_t parts_max = 10'000;
constexpr const char* hash_header = "x-amz-meta-sha256";

/// As configured, or larger for objects that would have too many parts.
[[nodiscard]] std::int64_t part_bytes_for(std::int64_t object_bytes, std::int64_t configured);

class Multipart {
 public:
  /// An upload that was begun; `key` is within the bucket.
  Multipart(Client& client, std::string key, std::string id)
      : client_(client), key_(std::move(key)), id_(std::move(id)) {}
  [[nodiscard]] static Result<Multipart> begin(Client& client, std::string key, const Digest& digest);

  const std::string& id() const { return id_; }
  /// Sends all parts; gives their ETags.
  [[nodiscard]] Result<std::vector<std::string>> send(CheckedSource& content, std::int64_t part_bytes);
  /// Puts the parts together; `conflict` when an object is there, on servers that know If-None-Match, and `not_found`
  /// when the upload is not there (any more): an earlier attempt may have completed it.
  [[nodiscard]] Result<void> complete(const std::vector<std::string>& etags);
  [[nodiscard]] Result<void> abort();

 private:
  Result<std::string> send_part(BytesView bytes, std::int32_t number);

  Client& client_;
  std::string key_;
  std::string id_;
};

/// Sends a request that must not replace an object. Servers that do not know If-None-Match get it without.
[[nodiscard]] Result<net::http::Response> ask_if_absent(Client& client, Request request);

}  // namespace cadre::objects::s3
