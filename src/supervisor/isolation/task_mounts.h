/// Folders and files of the host that a task asked for. Both the source and the mount point are opened with the rights
/// of the task's user, so that a mount gives nothing that the permissions on the host withhold. For a child process
/// that is about to become the task.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/supervision.h"
#include "supervisor/descriptor.h"
#include "supervisor/isolation/as_user.h"

namespace cadre::supervisor {

class TaskMounts {
 public:
  /// `work` is the task's working folder, for targets that are not absolute. The confinement must outlive this.
  TaskMounts(const cluster::supervision::Confinement& confinement, std::string work)
      : confinement_(confinement), work_(std::move(work)) {}

  /// Takes them from the host's view, before anything there is covered.
  [[nodiscard]] Result<void> hold();
  /// Makes what is missing of the mount points, with the rights of this process. Only to be called while nothing of the
  /// host can be written.
  void make_points() const;
  /// Puts them into the task's view, in order. Mount points are made before the first one is there, and so never in a
  /// folder of the host that is mounted.
  [[nodiscard]] Result<void> attach() const;

 private:
  struct Held {
    Descriptor mount;
    std::string source;  ///< where on the host it is
    std::string target;
    std::string what;  ///< for people, should it fail
    bool is_folder = true;
  };

  [[nodiscard]] Result<Descriptor> open_source(const cluster::Mount& mount, const std::string& what) const;
  [[nodiscard]] Result<Held> hold_one(const cluster::Mount& mount) const;
  [[nodiscard]] Result<void> attach_one(const Held& held) const;
  /// With whose rights they are opened.
  [[nodiscard]] Result<AsUser> as_opener() const;

  const cluster::supervision::Confinement& confinement_;
  std::string work_;
  std::vector<Held> held_;
};

}  // namespace cadre::supervisor
