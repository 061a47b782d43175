/// Who of those that share a folder is alive: one that changes its number. How long a number has stood is measured on
/// our own steady clock, and before we first saw it by the file server's, never by another host's. One thread at a
/// time; blocks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "names/file/layout.h"

namespace cadre::names {

class Pulses {
 public:
  using Clock = std::function<TimePoint()>;

  Pulses(const Layout& layout, std::string own, Clock clock)
      : layout_(layout), own_(std::move(own)), clock_(std::move(clock)) {}

  /// Says that we are alive, and how long that lasts at most.
  [[nodiscard]] Result<void> beat(Duration ttl);
  /// The same if we have not said so lately for a TTL that long.
  [[nodiscard]] Result<void> begin(Duration ttl);
  void end();

  /// From here on numbers are read anew, each once.
  void look_again() {
    looked_.clear();
    server_time_.reset();
  }
  /// Whether its number has changed within the TTL.
  bool is_alive(const std::string& session, Duration ttl);
  /// Sessions that have run out, whatever they hold.
  [[nodiscard]] Result<std::vector<std::string>> dead();

 private:
  struct Pulse {
    std::uint64_t number = 0;
    Duration ttl_most{};  ///< of all that it holds
    TimePoint since;      ///< when we saw the number first, or when it was written if that was long before
    Duration stood{};     ///< as of the last look
  };
  enum class Sight : std::uint8_t {
    missing,
    seen,
    unclear,  ///< it cannot be read now: who cannot be seen is not dead
  };
  Sight look(const std::string& session);
  Sight read(const std::string& session);
  /// How long ago it was changed, as the file server has it; nothing when that cannot be told.
  Duration age_of(const std::string& path);
  std::string path_of(const std::string& session) const { return layout_.path("alive/" + session); }

  const Layout& layout_;
  const std::string own_;
  const Clock clock_;
  std::uint64_t number_ = 0;
  Duration ttl_most_{};
  TimePoint beaten_;
  std::map<std::string, Pulse> seen_;  // of those that have a file
  std::map<std::string, Sight> looked_;
  std::optional<Duration> server_time_;  // at about the last look: to ask it takes long, and many may be new at once
};

}  // namespace cadre::names
