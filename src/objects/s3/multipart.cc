#include "objects/s3/multipart.h"

#include <algorithm>
#include <utility>

#include "objects/key.h"

namespace cadre::objects::s3 {

using net::http::Method;
using net::http::Response;

std::int64_t part_bytes_for(std::int64_t object_bytes, std::int64_t configured) {
  return std::max(configured, (object_bytes + parts_max - 1) / parts_max);
}

Result<Response> ask_if_absent(Client& client, Request request) {
  constexpr int not_implemented = 501;
  request.headers.emplace_back("If-None-Match", "*");
  TRY_ASSIGN(response, client.ask(request));
  if (response.status != not_implemented) return response;
  request.headers.pop_back();
  return client.ask(request);
}

Result<Multipart> Multipart::begin(Client& client, std::string key, const Digest& digest) {
  TRY_ASSIGN(
      response,
      client.ask(
          {.method = Method::post, .key = key, .query = {{"uploads", ""}}, .headers = {{hash_header, digest.sha256}}},
          "beginning an upload of " + shown_key(key)));
  TRY_ASSIGN(id, read_upload_id(response.body));
  return Multipart(client, std::move(key), std::move(id));
}

Result<std::string> Multipart::send_part(BytesView bytes, std::int32_t number) {
  const std::string what = "uploading part " + std::to_string(number) + " of " + shown_key(key_);
  TRY_ASSIGN(response, client_.ask({.method = Method::put,
                                    .key = key_,
                                    .query = {{"partNumber", std::to_string(number)}, {"uploadId", id_}},
                                    .body = bytes},
                                   what));
  std::string etag(net::http::find(response.headers, "ETag"));
  if (etag.empty()) return fail(Errc::corrupt, what + ": the server sent no ETag; check `endpoint`");
  return etag;
}

Result<std::vector<std::string>> Multipart::send(CheckedSource& content, std::int64_t part_bytes) {
  std::vector<std::string> etags;
  Bytes part(static_cast<std::size_t>(std::min(part_bytes, content.left())));
  while (content.left() > 0) {
    TRY_ASSIGN(size, content.read(part));
    TRY_ASSIGN(etag, send_part(BytesView(part).first(size), static_cast<std::int32_t>(etags.size() + 1)));
    etags.push_back(std::move(etag));
  }
  return etags;
}

Result<void> Multipart::complete(const std::vector<std::string>& etags) {
  const std::string what = "completing the upload of " + shown_key(key_);
  const std::string body = completion_of(etags);
  TRY_ASSIGN(response,
             ask_if_absent(
                 client_, {.method = Method::post, .key = key_, .query = {{"uploadId", id_}}, .body = as_bytes(body)}));
  if (response.status / 100 == 2 && is_completed(response.body)) return {};
  return client_.explain(response, what);
}

Result<void> Multipart::abort() {
  TRY_ASSIGN(response, client_.ask_once({.method = Method::remove, .key = key_, .query = {{"uploadId", id_}}}));
  if (response.status / 100 == 2 || response.status == 404) return {};
  return client_.explain(response, "aborting the upload of " + shown_key(key_));
}

}  // namespace cadre::objects::s3
