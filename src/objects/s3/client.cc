#include "objects/s3/client.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "objects/hash.h"

namespace cadre::objects::s3 {

using net::http::Method;
using net::http::Question;
using net::http::Response;

namespace {

/// Signatures hold for a few minutes around the server's time of day.
TimePoint utc_now() {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()));
}

}  // namespace

Result<std::unique_ptr<Client>> Client::make(const S3StoreConfig& config, const StoreOptions& options) {
  Result<HttpUrl> url =
      parse_http_url(config.endpoint.empty() ? "https://s3." + config.region + ".amazonaws.com" : config.endpoint);
  if (!url) return fail(Errc::invalid, "the endpoint of S3 " + url.error().message);
  return std::unique_ptr<Client>(new Client(config, options, *std::move(url)));
}

Client::Client(const S3StoreConfig& config, const StoreOptions& options, HttpUrl url)
    : key_{config.access_key, config.secret_key.text, config.region, "s3"},
      bucket_(config.bucket),
      path_style_(config.path_style),
      url_(std::move(url)),
      place_{config.bucket, url_.origin() + url_.path, config.region},
      sessions_({.ca_file = config.ca_file, .timeout = config.timeout, .store = options}) {}

std::string Client::host() const { return path_style_ ? url_.authority() : bucket_ + "." + url_.authority(); }

std::string Client::path_of(const std::string& key) const {
  std::string path = url_.path;
  if (path_style_) path += "/" + bucket_;
  if (!key.empty() || path.empty()) path += "/";
  return path + escape_path(key);
}

std::string Client::url_of(const std::string& path, const std::string& query) const {
  return (url_.is_tls ? "https://" : "http://") + host() + path + (query.empty() ? "" : "?" + query);
}

Question Client::question_of(const Request& request) const {
  const TimePoint present = utc_now();
  SignedParts parts;
  parts.method = to_string(request.method);
  parts.path = path_of(request.key);
  parts.query = request.query;
  parts.payload_sha256 = request.body_sha256.empty() ? sha256(request.body) : request.body_sha256;
  parts.headers = request.headers;
  parts.headers.insert(
      parts.headers.end(),
      {{"Host", host()}, {"X-Amz-Content-Sha256", parts.payload_sha256}, {"X-Amz-Date", date_of(present)}});
  Question question;
  question.method = request.method;
  question.url = url_of(parts.path, canonical_query(request.query));
  question.headers = parts.headers;
  question.headers.emplace_back("Authorization", authorization(key_, parts, present));
  if (request.method == Method::put) {
    const BytesView body = request.body;
    question.upload = {static_cast<std::int64_t>(body.size()),
                       [body, at = std::size_t{0}](std::span<char> into) mutable {
                         const std::size_t size = std::min(into.size(), body.size() - at);
                         std::memcpy(into.data(), body.data() + at, size);
                         at += size;
                         return size;
                       }};
  } else {
    question.body = as_text(request.body);
  }
  return question;
}

Result<Response> Client::ask(const Request& request) {
  return sessions_.ask([&] { return question_of(request); });
}

Result<Response> Client::ask(const Request& request, const std::string& what) {
  TRY_ASSIGN(response, ask(request));
  if (response.status / 100 != 2) return explain(response, what);
  return response;
}

Result<Response> Client::ask_once(const Request& request) { return sessions_.ask_once(question_of(request)); }

Result<void> Client::download(const std::string& key, ByteRange range, const ByteSink& sink, const std::string& what) {
  Request request{.key = key};
  const auto make = [&](std::int64_t done) -> Result<Question> {
    request.headers = {{"Range", "bytes=" + std::to_string(range.offset + done) + "-" +
                                     std::to_string(range.offset + range.size - 1)}};
    return question_of(request);
  };
  TRY_ASSIGN(response, sessions_.download(range.size, make, sink));
  if (response.status / 100 != 2) return explain(response, what);
  return {};
}

Result<SignedRequest> Client::presign(const Request& request, Duration valid) const {
  if (valid < std::chrono::seconds(1) || valid > presigned_max) {
    return fail(Errc::invalid, "a signed URL is valid for 1 s to 7 d, not " + to_string(valid));
  }
  SignedParts parts;
  parts.method = to_string(request.method);
  parts.path = path_of(request.key);
  parts.query = request.query;
  parts.payload_sha256 = unsigned_payload;
  parts.headers = request.headers;
  parts.headers.emplace_back("Host", host());
  const std::string query = presigned_query(key_, parts, utc_now(), valid);
  return SignedRequest{request.method, url_of(parts.path, query), request.headers};
}

}  // namespace cadre::objects::s3
