/// Commands to a Redis server that block, are bounded in time, and are repeated when a fault may pass: each of them
/// must have the same effect when it is done twice. Safe on any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "loop/real_loop.h"
#include "net/redis/redis_link.h"
#include "net/redis/redis_url.h"
#include "objects/store.h"
#include "objects/stores/session_pool.h"

namespace cadre::objects {

class RedisSessions {
 public:
  using Words = std::vector<std::string>;

  RedisSessions(net::redis::RedisUrl url, Duration timeout, const StoreOptions& options);

  [[nodiscard]] Result<net::redis::Reply> ask(const Words& words);

 private:
  struct Session {
    Session(const net::redis::RedisUrl& url, Duration timeout);
    loop::RealLoop loop;
    net::redis::RedisLink link;
  };
  Result<net::redis::Reply> ask_once(const Words& words);

  const net::redis::RedisUrl url_;
  const Duration timeout_;
  const StoreOptions options_;
  SessionPool<Session> sessions_;
};

}  // namespace cadre::objects
