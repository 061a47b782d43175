/// What is simulated. Values; safe on any thread.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/time.h"
#include "plan/policy.h"
#include "plan/provision.h"
#include "plan/resources.h"

namespace cadre::simulate {

struct Options {
  std::uint64_t seed = 1;
  std::int32_t agents = 64;
  std::int32_t slots = 8;  ///< of each agent
  std::int32_t cpus = 32;  ///< of each agent
  ByteSize memory{std::int64_t{128} << 30};
  std::int32_t gangs = 4'000;
  Duration over{};                               ///< gangs arrive over this time; 0 is all at once
  Duration shortest = std::chrono::seconds(10);  ///< run time of a gang
  Duration longest = std::chrono::hours(1);
  plan::Policy policy;
  Duration plan_every = std::chrono::seconds(1);

  bool verify = false;  ///< make every plan twice, the second time from nothing, and compare

  Duration agent_timeout = std::chrono::seconds(30);
  Duration loss_every = std::chrono::hours(30 * 24);       ///< between losses of one host; 0 is never
  Duration partition_every = std::chrono::hours(10 * 24);  ///< between cuts of one host; 0 is never

  std::int32_t instances = 0;  ///< most agents that a provider may add
  Duration provider_delay = std::chrono::minutes(3);
};

}  // namespace cadre::simulate
