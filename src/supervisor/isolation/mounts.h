/// Mounts that are nowhere yet. For a process that may mount.
#pragma once

#include <sys/mount.h>

#include <string>
#include <vector>

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

/// Options of a tmpfs that holds little more than mount points.
constexpr const char* small_tmpfs = "mode=0755,size=1m,nr_inodes=4096";
/// Puts empty folders over these, if they are there to be seen. All are in one file system: one for each would cost
/// more than the rest of a view.
[[nodiscard]] Result<void> cover(const std::vector<std::string>& folders);

/// Puts an empty folder over one in a mount that is attached, by a path without links.
[[nodiscard]] Result<void> cover_in(int mount, const std::string& folder);

/// Whether a path is a folder or something in it. Both are without symbolic links.
[[nodiscard]] bool is_below(const std::string& path, const std::string& folder);

/// Opens the path of something without reading it, and without following links of /proc, which lead to what other
/// processes see. None: errno says why.
[[nodiscard]] Descriptor open_point(const std::string& path);
/// Opens a path that the agent has checked: somebody could have put a link there since. None: errno says why.
[[nodiscard]] Descriptor open_without_links(const std::string& path);
/// With the folders above it, all of them for everybody to pass.
void make_folders(const std::string& path);
/// Makes a folder or a file where something can be mounted.
void make_point(const std::string& path, bool is_folder);
/// The same in a folder that others may write, without following links there.
void make_point_beneath(const std::string& top, const std::string& path, bool is_folder);

}  // namespace cadre::supervisor
