/// The words for what a command did not get and what it ends with, as client has them. Values; safe on any thread.
#pragma once

#include "client/cluster/exit_code.h"
#include "client/cluster/refusal.h"

namespace cadre::cli {

using client::bad_usage;
using client::done;
using client::ExitCode;
using client::failed;
using client::Got;
using client::NotGot;
using client::own_failure;
using client::Refusal;
using client::refused;
using client::unreachable;

}  // namespace cadre::cli
