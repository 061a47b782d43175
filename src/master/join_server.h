/// The join service on a thread of its own, so that strangers cost the control loop nothing. Safe on any thread, but
/// for its end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metric.h"
#include "base/result.h"
#include "master/join_service.h"

namespace cadre::master {

class JoinServer {
 public:
  /// `options.admit` is called on the server's thread; what it is to call back may be called on any.
  [[nodiscard]] static Result<std::unique_ptr<JoinServer>> start(JoinOptions options, Log& log);
  JoinServer(const JoinServer&) = delete;
  JoinServer& operator=(const JoinServer&) = delete;
  ~JoinServer();

  const std::vector<std::string>& addresses() const;
  /// From soon on this token is good.
  void add(records::JoinToken token);
  /// May be called on any thread.
  std::vector<Metric> metrics() const;
  /// Answers nobody any more, and joins its thread. Idempotent.
  void stop();

 private:
  struct Inside;  // the loop, the network and the service, which are for their thread only
  explicit JoinServer(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::master
