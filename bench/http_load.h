/// Asks one HTTP server over many connections as fast as it answers, with as little work as can be. One thread at a
/// time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace cadre::bench {

struct Load {
  std::uint16_t port = 0;
  std::string request;   ///< all of its bytes
  int connections = 32;  ///< each asks again as soon as it is answered
  Duration time = std::chrono::seconds(3);
};

struct LoadResult {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

/// `unavailable` when an answer is not 200.
[[nodiscard]] Result<LoadResult> run_load(const Load& load);

/// Connections that say nothing, as long as this lives.
class IdleConnections {
 public:
  [[nodiscard]] static Result<IdleConnections> open(std::uint16_t port, int count);
  IdleConnections(IdleConnections&&) noexcept = default;
  IdleConnections& operator=(IdleConnections&&) noexcept = default;
  ~IdleConnections();

 private:
  IdleConnections() = default;
  std::vector<int> sockets_;
};

}  // namespace cadre::bench
