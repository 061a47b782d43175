#include "gateway/bodies.h"

#include "api/rendered.h"
#include "gateway/problem.h"

namespace cadre::gateway {

using net::http::Response;

Response unauthenticated(const std::string& why) {
  Response response = problem(401, why);
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"cadre\"");
  return response;
}

Response response_of(const api::Reply& reply) {
  if (const api::Failed* no = reply.failed()) {
    switch (no->cause) {
      case api::Failed::Cause::request: return problem(no->code, no->message, no->faults);
      case api::Failed::Cause::token: return unauthenticated(no->message);
      case api::Failed::Cause::rate_limit: return problem(429, no->message);
    }
  }
  if (const Bytes* bytes = reply.bytes()) {
    Response response;
    response.content_type = "application/octet-stream";
    response.body.assign(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    return response;
  }
  const auto* rendered = reply.as<api::Rendered>();
  std::optional<std::string> body = rendered == nullptr ? reply.json() : rendered->json;
  if (!body) return problem(500, "internal error: unexpected reply");
  Response response;
  response.body = *std::move(body);
  return response;
}

}  // namespace cadre::gateway
