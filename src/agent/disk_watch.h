/// Whether there is room on the disk of an agent for more tasks. One thread at a time.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/time.h"

namespace cadre::agent {

struct DiskRules {
  ByteSize reserve{std::int64_t{64} << 20};  ///< below this the disk counts as full; on small disks a twentieth of it
  Duration look_every = std::chrono::seconds(1);
  Duration after_failure =
      std::chrono::seconds(10);  ///< so long it counts as full after something could not be written
};

class DiskWatch {
 public:
  explicit DiskWatch(std::string folder, const DiskRules& rules = {}) : folder_(std::move(folder)), rules_(rules) {}

  /// Why no task is to be started now, for people; empty: there is room. Once full, it takes twice the reserve.
  [[nodiscard]] const std::string& obstacle(TimePoint now);
  /// Something could not be written for want of room.
  void failed(TimePoint now);

 private:
  void look(TimePoint now);

  std::string folder_;
  DiskRules rules_;
  std::string obstacle_;
  TimePoint look_at_{};
  TimePoint full_until_{};
};

}  // namespace cadre::agent
