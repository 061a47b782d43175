/// What the ends of one ZeroMQ network share. For the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <zmq.hpp>

#include "base/log.h"
#include "loop/real_loop.h"
#include "net/zmq/zap_server.h"

namespace cadre::net {

struct ZmqContext {
  /// Throws zmq::error_t.
  ZmqContext(loop::RealLoop& loop, Log& log);

  loop::RealLoop& loop;
  Log& log;
  zmq::context_t context;
  ZapServer zap;
  std::uint64_t hubs_made = 0;
  std::size_t ends = 0;  // hubs and links there are now
};

}  // namespace cadre::net
