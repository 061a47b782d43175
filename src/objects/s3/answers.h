/// What servers of S3 answer, read from XML. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "net/http/message.h"

namespace cadre::objects::s3 {

struct Refusal {
  std::string code;  ///< NoSuchKey; empty: the response has none
  std::string message;
};
[[nodiscard]] Refusal read_refusal(const net::http::Response& response);

struct Listing {
  struct Item {
    std::string key;
    std::int64_t size = 0;
  };
  std::vector<Item> items;
  bool is_truncated = false;
};
[[nodiscard]] Result<Listing> read_listing(std::string_view body);

struct UnfinishedUpload {
  std::string key;
  std::string id;
  TimePoint initiated;  ///< counted from 1970
};
[[nodiscard]] Result<std::vector<UnfinishedUpload>> read_uploads(std::string_view body);

/// Of a multipart upload that was begun.
[[nodiscard]] Result<std::string> read_upload_id(std::string_view body);

/// Whether a response of 200 says that the parts were put together: an error may stand in it.
[[nodiscard]] bool is_completed(std::string_view body);

/// What is sent to complete a multipart upload; nothing in it needs to be escaped but ETags.
[[nodiscard]] std::string completion_of(const std::vector<std::string>& etags);

/// Where requests go, for error messages.
struct Place {
  std::string bucket;
  std::string endpoint;
  std::string region;
};
/// The refusal of a request in words, with what to do; `what` names what failed.
[[nodiscard]] Failure explain(const Place& place, const net::http::Response& response, const std::string& what);

}  // namespace cadre::objects::s3
