/// One process that `cadre launch` has started, with its output. For the loop's thread, which must start it.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "logs/record.h"
#include "loop/descriptor.h"
#include "loop/readable.h"

namespace cadre::cli {

/// How a process ended.
struct WorkerEnding {
  int code = 0;    ///< 128 plus the signal number if a signal ended it
  int signal = 0;  ///< 0: none

  /// "failed with exit code 3", "was killed by signal 9".
  std::string text() const;
};

class Worker {
 public:
  using OnLine = std::function<void(const logs::Line&)>;

  /// Starts a program, looked for in PATH, in a process group of its own, with these variables besides those of this
  /// process, and no input. Its process gets SIGKILL when this one ends.
  [[nodiscard]] static Result<std::unique_ptr<Worker>> start(loop::RealLoop& loop, const std::vector<std::string>& argv,
                                                             const std::map<std::string, std::string>& variables,
                                                             OnLine on_line);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// How it ended, if it has.
  const std::optional<WorkerEnding>& ending();
  /// Whether all of its output was handed on; processes that it leaves behind may still write.
  bool is_silent() const { return !streams_[0].readable && !streams_[1].readable; }
  /// To all processes of its group.
  void signal(int number) const;

 private:
  struct Stream {
    logs::Stream kind{};
    loop::Descriptor from;
    std::optional<loop::Readable> readable;
    std::string open_line;
  };

  Worker(pid_t pid, OnLine on_line) : pid_(pid), on_line_(std::move(on_line)) {}
  void read(Stream& stream);
  void hand_on(Stream& stream, bool is_end);

  const pid_t pid_;
  const OnLine on_line_;
  std::array<Stream, 2> streams_;
  std::optional<WorkerEnding> ending_;
};

/// Runs a program in place of this process, with these variables besides its own. Returns only if that fails.
[[nodiscard]] Error become(const std::vector<std::string>& argv, const std::map<std::string, std::string>& variables);

}  // namespace cadre::cli
