/// What a task sees of the file system. For a child process that is about to become the task.
#pragma once

#include <string>

#include "base/result.h"
#include "cluster/supervision.h"
#include "supervisor/descriptor.h"

namespace cadre::supervisor {

struct View {
  enum class Kind : std::uint8_t {
    walled,  ///< the system, read-only, without what belongs to others
    plain,   ///< the host as it is, but for data folders of cadre
  };
  Kind kind = Kind::walled;
  std::string folder;  ///< of the task, without symbolic links; it is the current folder, too
  cluster::supervision::Confinement confinement;
  bool own_proc = false;  ///< whether the calling process is in a pid namespace that needs a /proc of its own
  int id_map = -1;        ///< makes what is shown look as if it belonged to the task's user; -1: none
  ByteSize memory{0};     ///< the most that /dev/shm may hold; 0: half of the host's memory
};

/// Gives the calling process a mount namespace of its own and changes what it sees. The error says, for people, which
/// part of the command is at fault.
///
/// Of the task's own folder it sees `work`, `task.sock` and, as /tmp and /var/tmp, `tmp`; its launch, its output and
/// its ending are not there. Needs to be root, or in a user namespace of its own.
[[nodiscard]] Result<void> take_view(const View& view);

/// Makes a view final: what covers something else stays where it is even when the task has ended and somebody still
/// holds a descriptor of a folder, which otherwise would show what was covered. Enters the user namespace for it.
[[nodiscard]] Result<void> lock_view(int users);

/// Where the task finds its XDG_RUNTIME_DIR in a walled view.
[[nodiscard]] std::string runtime_folder(const cluster::supervision::Confinement& confinement);

/// A user namespace in which root is that user, for View::id_map. For root, before there is a pid namespace.
[[nodiscard]] Result<Descriptor> make_id_map(const cluster::supervision::UnixUser& user);

/// A user namespace in which everybody is who they are, for lock_view(). Before there is a pid namespace.
[[nodiscard]] Result<Descriptor> make_users();

}  // namespace cadre::supervisor
