/// The job of an actor, for the clients of all languages. Values; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/time.h"
#include "cluster/job.h"

namespace cadre::client {

struct ActorNeeds {
  std::string class_name;
  std::int32_t slots = 0;
  double cpus = 0;
  ByteSize memory;
  std::string pool;       ///< empty: the default of a job
  std::string workspace;  ///< empty: the default of a job
  std::size_t lanes = 1;  ///< calls that run at a time
  Duration liveness{};    ///< without a heartbeat for so long, it is ended
};

/// `command` says what runs, and from which code. Session::create adds who may call the actor.
[[nodiscard]] cluster::JobSpec actor_job(const ActorNeeds& needs, cluster::Command command);

}  // namespace cadre::client
