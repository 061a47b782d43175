/// Data folders of processes. Any thread.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "loop/descriptor.h"

namespace cadre::app {

/// Makes a folder that only its owner may use, with those above it; its absolute path. One that is there already is
/// closed to others; `denied` when it belongs to another user.
[[nodiscard]] Result<std::string> make_private_folder(const std::string& path, Log& log);

/// The same for all that a process keeps: what lies in it already is closed to others as well, and what the process
/// makes from now on is for its owner only.
[[nodiscard]] Result<std::string> open_data_folder(const std::string& path, Log& log);

/// Keeps others from using the folder as long as what it gives lives. Waits two seconds for one that is about to end.
[[nodiscard]] Result<loop::Descriptor> lock_folder(const std::string& data);

/// Agents of this account hide it from their tasks from now on. A warning when it cannot be listed for them.
void hide_from_tasks(const std::string& data, Log& log);

}  // namespace cadre::app
