/// Why a command did not get what it wanted, and what it ends with. Values; safe on any thread.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "client/cluster/exit_code.h"

namespace cadre::client {

struct Refusal {
  ExitCode code = failed;
  std::string message;
  bool operator==(const Refusal&) const = default;
};

template <class T>
using Got = tl::expected<T, Refusal>;
using NotGot = tl::unexpected<Refusal>;

}  // namespace cadre::client
