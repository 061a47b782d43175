/// In a process that was just forked from a template: how it becomes the process of a task of its own. For a process
/// with one thread. See docs/decisions/0035-actors-forked-from-templates.md.
///
/// The template forks three times for each task. The first child separates itself, and forks two more: the first
/// process of the new pid namespace, and the task. It stays and tells the supervisor how the task ended, since the
/// supervisor is not the parent of that.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "supervisor/descriptor.h"
#include "supervisor/forking/fork_talk.h"

namespace cadre::supervisor {

/// The template's end of what its supervisor passes on: `socket` is the descriptor that CADRE_FORKS names.
namespace forking {

/// There may be requests from now on.
[[nodiscard]] bool say_ready(int socket);
/// Waits for the next request and returns the connection of its sender; none if there will be no more.
[[nodiscard]] Descriptor next(int socket);
/// Answers that it cannot be.
void refuse(int line, const std::string& why);

}  // namespace forking

class Forked {
 public:
  /// Reads what the process is to be from the connection of who has asked.
  [[nodiscard]] static Result<Forked> receive(Descriptor line);

  /// Gives it namespaces of its own; children that it forks afterwards are in a new pid namespace.
  [[nodiscard]] Result<void> separate();
  /// As the first child afterwards: reaps orphans, and ends with all others there when the supervisor says so or is
  /// gone.
  [[noreturn]] void be_init();
  /// As the parent of both: tells the supervisor how they end.
  [[noreturn]] void tell_endings(pid_t init, pid_t task);
  /// As the task: takes its place, and gives up all rights that it does not need. Gives all of its environment.
  [[nodiscard]] Result<std::map<std::string, std::string>> become();

  /// There will be no such process.
  void refuse(const Error& error);

 private:
  Forked(Descriptor line, fork_talk::Request request) : line_(std::move(line)), request_(std::move(request)) {}
  [[nodiscard]] bool tell(const fork_talk::FromForked& message) const;
  Result<void> mount_all();

  Descriptor line_;
  fork_talk::Request request_;
  std::vector<Descriptor> streams_;
  std::vector<Descriptor> groups_;
  std::vector<Descriptor> mounts_;
};

}  // namespace cadre::supervisor
