/// Replies of services as HTTP responses. Safe on any thread.
#pragma once

#include <string>

#include "api/reply.h"
#include "describe/describe.h"
#include "net/http/message.h"

namespace cadre::gateway {

/// One value as JSON.
template <class T>
[[nodiscard]] net::http::Response json(const T& value) {
  net::http::Response response;
  response.body = describe::write_json(value);
  return response;
}

[[nodiscard]] net::http::Response response_of(const api::Reply& reply);
/// The token is missing or not valid.
[[nodiscard]] net::http::Response unauthenticated(const std::string& why);

}  // namespace cadre::gateway
