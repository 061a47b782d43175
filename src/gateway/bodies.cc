#include "gateway/bodies.h"

#include "base/overloaded.h"
#include "gateway/problem.h"

namespace cadre::gateway {

using net::http::Response;

Response unknown(const std::string& why) {
  Response response = problem(401, why);
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"cadre\"");
  return response;
}

Response response_of(const cluster::Told& told) {
  return std::visit(
      overloaded{
          [](const cluster::requests::Reply& reply) {
            return std::visit(
                overloaded{
                    [](const cluster::requests::Failed& no) { return problem(no.code, no.message, no.faults); },
                    [](const auto& value) { return json(value); },
                },
                reply);
          },
          [](const access::Reply& reply) { return std::visit([](const auto& value) { return json(value); }, reply); },
          [](const access::AuditPage& page) { return json(page); },
          [](const access::Challenge&) { return problem(500, "internal error: unexpected reply"); },
          [](const cluster::Unknown& no) { return unknown(no.why); },
          [](const cluster::MustWait& no) { return problem(429, no.why); },
      },
      told);
}

}  // namespace cadre::gateway
