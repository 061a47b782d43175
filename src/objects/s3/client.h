/// Signed requests to one bucket of a server of S3. Every function blocks, except those that only sign; safe on any
/// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "net/http/message.h"
#include "objects/bytes_io.h"
#include "objects/presigner.h"
#include "objects/s3/answers.h"
#include "objects/s3/signature.h"
#include "objects/store.h"
#include "objects/stores/http_sessions.h"
#include "objects/stores/http_url.h"

namespace cadre::objects::s3 {

struct Request {
  net::http::Method method = net::http::Method::get;
  std::string key = {};  ///< within the bucket; empty: the bucket itself
  net::http::Query query = {};
  net::http::Headers headers = {};
  BytesView body = {};
  std::string body_sha256 = {};  ///< empty: it is computed
};

class Client {
 public:
  /// `invalid` when the endpoint is none.
  [[nodiscard]] static Result<std::unique_ptr<Client>> make(const S3StoreConfig& config, const StoreOptions& options);

  /// The response, whatever its status; repeated after faults that may pass.
  [[nodiscard]] Result<net::http::Response> ask(const Request& request);
  /// The same, of which 2xx is what was asked for: any other status is an error in words, in which `what` names what
  /// failed.
  [[nodiscard]] Result<net::http::Response> ask(const Request& request, const std::string& what);
  /// Once, for what is only tried.
  [[nodiscard]] Result<net::http::Response> ask_once(const Request& request);

  [[nodiscard]] Result<void> download(const std::string& key, ByteRange range, const ByteSink& sink,
                                      const std::string& what);

  [[nodiscard]] Result<SignedRequest> presign(const Request& request, Duration valid) const;

  [[nodiscard]] Failure explain(const net::http::Response& response, const std::string& what) const {
    return s3::explain(place_, response, what);
  }

 private:
  Client(const S3StoreConfig& config, const StoreOptions& options, HttpUrl url);
  std::string host() const;
  std::string path_of(const std::string& key) const;
  std::string url_of(const std::string& path, const std::string& query) const;
  net::http::Question question_of(const Request& request) const;

  const SigningKey key_;
  const std::string bucket_;
  const bool path_style_;
  const HttpUrl url_;
  const Place place_;
  HttpSessions sessions_;
};

}  // namespace cadre::objects::s3
