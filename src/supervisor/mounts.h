/// Mounts that are nowhere yet. For a process that may mount.
#pragma once

#include <sys/mount.h>

#include <string>

#include "base/result.h"
#include "supervisor/descriptor.h"

namespace cadre::supervisor {

/// A copy of what is mounted there, with the flags that it has now. `what` is for people, should it fail.
[[nodiscard]] Result<Descriptor> clone_mount(int at, const std::string& path, const std::string& what);

/// Sets and clears flags of such a copy and of all below it.
[[nodiscard]] Result<void> set_flags(int mount, const mount_attr& flags, const std::string& what);

/// A folder or a file that can be put into another view, writable, without devices and set-user-id programs.
[[nodiscard]] Result<Descriptor> clone_writable(const std::string& path);

/// Puts a copy there.
[[nodiscard]] Result<void> attach_mount(int mount, const std::string& target, const std::string& what);

/// With the folders above it, all of them for everybody to pass.
void make_folders(const std::string& path);
/// Makes a folder or a file where something can be mounted.
void make_point(const std::string& path, bool is_folder);

}  // namespace cadre::supervisor
