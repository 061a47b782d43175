/// A reply whose JSON was made before it is handed on, so that its receiver does not make it: the gateway has one
/// thread for all clients. Values; safe on any thread.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "api/reply.h"

namespace cadre::api {

struct Rendered {
  std::string json;
};

/// The same reply; errors, bytes and what clients do not get to see stay as they are.
[[nodiscard]] inline Reply rendered(Reply reply) {
  if (reply.failed() != nullptr || reply.bytes() != nullptr) return reply;
  std::optional<std::string> json = reply.json();
  return json ? Reply(Rendered{*std::move(json)}) : reply;
}

}  // namespace cadre::api
