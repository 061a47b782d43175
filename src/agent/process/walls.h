/// As whom tasks run on this agent and what they may see of it: decides for each task, or says why it is refused.
/// Blocks on files when it meets a user for the first time. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/process/uid_range.h"
#include "base/result.h"
#include "cluster/messages.h"
#include "cluster/supervision.h"

namespace cadre::agent {

/// A folder below which tasks may mount what they like.
struct AllowedMount {
  std::string prefix;
  bool writable = false;
};

/// Reads `/data` or `/data:rw`.
[[nodiscard]] Result<AllowedMount> parse_allowed_mount(const std::string& text);

/// The folders that an interpreter, or the virtual environment in a folder, needs: that of the environment, and that of
/// the installation it was made from. Without symbolic links; none when it does not exist.
[[nodiscard]] std::vector<std::string> folders_of_python(const std::string& python);

struct WallOptions {
  std::string data;             ///< the agent's own folder
  bool is_root = false;         ///< whether it can run tasks as other users
  bool has_namespaces = false;  ///< whether the kernel lets it keep tasks apart
  UidRange uids;
  std::string uid_claims = "/var/lib/cadre-uids";  ///< shared by all agents of root on the host
  std::vector<std::string> hidden;                 ///< further data folders of cadre
  /// Data folders of the agent's unix account; called for each task.
  std::function<Result<std::vector<std::string>>()> others = [] { return std::vector<std::string>(); };
  std::vector<std::string> shown;         ///< what tasks must be able to read wherever it is
  std::vector<std::string> device_nodes;  ///< of each slot; empty: it has none
  std::vector<std::string> shared_nodes;  ///< needed by every task that has slots
  std::vector<AllowedMount> mounts;
  bool allow_isolation_off = false;
};

/// A task, or a process that waits for one.
struct WallRequest {
  std::string owner;
  cluster::messages::OwnerRights rights;
  cluster::Isolation isolation = cluster::Isolation::on;
  bool run_as_root = false;
  std::string python;
  std::string program;  ///< the first word of its command
  std::vector<cluster::Mount> mounts;
  std::vector<std::int32_t> slots;
};

class Walls {
 public:
  [[nodiscard]] static Result<Walls> open(WallOptions options);

  /// Denied or invalid, in words for the owner of the job, when it may not run here like this.
  [[nodiscard]] Result<cluster::supervision::Confinement> confine(const WallRequest& request);
  /// Folders that must be hidden from a process which becomes such a task. As root there are none: tasks run under unix
  /// users that may read none of them.
  [[nodiscard]] std::vector<std::string> must_hide(const cluster::supervision::Confinement& confinement) const {
    return options_.is_root ? std::vector<std::string>() : confinement.hidden;
  }

  /// A folder that all tasks of a job on this agent share, made for this user.
  [[nodiscard]] Result<std::string> make_runtime(cluster::JobId job,
                                                 const cluster::supervision::Confinement& confinement) const;
  [[nodiscard]] std::string runtime_of(cluster::JobId job) const;

 private:
  Walls(WallOptions options, UidTable uids) : options_(std::move(options)), uids_(std::move(uids)) {}

  [[nodiscard]] Result<void> check(const WallRequest& request) const;
  /// Gives it with its source as it was checked, without symbolic links.
  [[nodiscard]] Result<cluster::Mount> check_mount(const WallRequest& request, const cluster::Mount& mount,
                                                   const std::vector<std::string>& all_hidden) const;
  /// Shows an interpreter of the agent's owner, and nothing beside it.
  [[nodiscard]] Result<void> show_python(const std::string& python,
                                         cluster::supervision::Confinement& confinement) const;
  [[nodiscard]] Result<void> choose_user(const WallRequest& request, cluster::supervision::Confinement& confinement);
  [[nodiscard]] Result<void> name_user(cluster::supervision::Confinement& confinement);

  WallOptions options_;
  UidTable uids_;
  std::map<std::int64_t, std::string> names_;  ///< of users whose files are written
  std::vector<std::string> emptied_;
  std::vector<std::string> shown_private_;  ///< of `shown`, what only the agent's user may read
};

}  // namespace cadre::agent
