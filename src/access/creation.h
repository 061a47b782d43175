/// Which requests create something. Safe on any thread.
#pragma once

#include <string_view>

#include "access/route.h"

namespace cadre::access {

/// Whether each time it is asked something new comes of it, unless it carries the same Idempotency-Key. Join tokens are
/// left out: the answer is a secret that is not to be kept, and a token that nobody uses expires.
constexpr bool creates(const Route& route) {
  return route.method == "POST" && route.path.find('{') == std::string_view::npos && route.path != "/login" &&
         route.path != "/logout" && route.path != "/join-tokens";
}

}  // namespace cadre::access
