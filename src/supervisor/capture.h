/// Takes what a task writes on its two streams into its spool, line by line. For the supervisor's only thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "cluster/task.h"
#include "logs/spool.h"
#include "supervisor/descriptor.h"
#include "supervisor/watch.h"

namespace cadre::supervisor {

/// Whether a line that has no end yet is waited for a moment, or passed on as it was written: what runs on a terminal
/// echoes and prompts.
enum class Lines : std::uint8_t { whole, as_written };

class Capture {
 public:
  [[nodiscard]] static Result<Capture> open(const std::string& folder, const cluster::TaskLimits& limits);

  void follow(Descriptor out, Descriptor err, Lines lines = Lines::whole);
  /// Reads nothing while the spool is full: then the pipes fill up and the task waits.
  void watch(Watch& watch);
  /// What is due by the time alone: a line that waits too long for its end, another attempt at a disk that was full.
  void tick(TimePoint now);
  [[nodiscard]] TimePoint next() const;

  /// Takes all that is in the pipes, room or not, and closes them: nobody is left who could write.
  void drain();
  /// Whether all of it is on disk.
  [[nodiscard]] bool is_written() const { return spool_.waiting_bytes() == 0 && !spool_.has_rest(); }

  /// Drops what is not; says how many bytes that were.
  std::int64_t give_up();

  /// Other bounds on what waits to be stored.
  void limit(const cluster::TaskLimits& limits);
  void stored(std::int64_t end) { spool_.stored(end); }
  [[nodiscard]] std::int64_t end() const { return spool_.end(); }

 private:
  struct Source {
    logs::Stream stream = logs::Stream::out;
    Descriptor pipe;
  };

  explicit Capture(logs::SpoolWriter spool) : spool_(std::move(spool)) {}
  /// Whether there was something.
  bool read_some(Source& source);

  logs::SpoolWriter spool_;
  std::array<Source, 2> sources_;
  Duration patience_{};                  ///< with a line that has no end
  std::optional<TimePoint> rest_since_;  ///< when the last piece of an unfinished line came
  std::optional<TimePoint> retry_at_;
};

}  // namespace cadre::supervisor
