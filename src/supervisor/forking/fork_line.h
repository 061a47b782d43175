/// A supervisor's connection to the process of its task that was forked from a template. For the supervisor's only
/// thread.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "supervisor/descriptor.h"
#include "supervisor/forking/fork_talk.h"
#include "supervisor/isolation/cgroup.h"
#include "supervisor/isolation/isolation_features.h"

namespace cadre::supervisor {

/// What is asked for.
struct Birth {
  std::string from;  ///< folder of the template
  fork_talk::Request request;
  const Cgroup* group = nullptr;
  /// What of the current folder it sees, and where.
  std::vector<std::pair<std::string, std::string>> shown;
  IsolationFeatures features;
};

class ForkLine {
 public:
  struct Asked;
  /// Does not wait for the answer.
  [[nodiscard]] static Result<Asked> ask(Birth birth);

  ForkLine() = default;
  explicit operator bool() const { return static_cast<bool>(socket_); }
  [[nodiscard]] int fd() const { return socket_.get(); }

  struct Heard {
    fork_talk::FromForked message;
    pid_t sender = 0;  ///< as it is numbered here
  };
  /// The next message, if there is one. An end without one is as if all were gone.
  [[nodiscard]] std::optional<Heard> receive();

  /// Kills all of its tree. What is said afterwards is heard.
  void kill();
  void close() {
    socket_.close();
    held_.close();
  }

 private:
  ForkLine(Descriptor socket, Descriptor held) : socket_(std::move(socket)), held_(std::move(held)) {}

  Descriptor socket_;  ///< to the process; ends with it and those that were forked with it
  Descriptor held_;    ///< to the supervisor of the template, which lives as long as this is open
};

struct ForkLine::Asked {
  ForkLine line;
  Descriptor out;
  Descriptor err;
};

}  // namespace cadre::supervisor
