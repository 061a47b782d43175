/// Errors of this house as those of the public headers. Values; safe on any thread.
#pragma once

#include <cadre/outcome.h>

#include <cstdint>

#include "base/result.h"

namespace cadre::client {

inline Reason reason_of(const Error& error) {
  return {static_cast<Reason::Code>(static_cast<std::uint8_t>(error.code)), error.message};
}
static_assert(static_cast<int>(Errc::invalid) == static_cast<int>(Reason::Code::invalid));
static_assert(static_cast<int>(Errc::corrupt) == static_cast<int>(Reason::Code::corrupt));

}  // namespace cadre::client
