/// Where agents become known: they show a token once, or, on the master's own host, a secret of its data folder, and
/// from then on their key is theirs. Attempts that fail are rate-limited and cost the control loop nothing: only what
/// is good is passed on to it. For the thread of its loop.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "cluster/joining.h"
#include "loop/calendar.h"
#include "loop/loop.h"
#include "master/attempt_limit.h"
#include "net/network.h"
#include "net/zmq/refusal_log.h"
#include "records/records.h"

namespace cadre::master {

struct JoinOptions {
  net::HubOptions hub;  ///< lets in everybody who knows the master's key
  /// Where agents find the master afterwards: those of other hosts, and those of its own.
  cluster::joining::Joined outside;
  cluster::joining::Joined inside;
  std::string local_secret_hash;           ///< SHA-256 of what agents of this host show; empty: there are none
  std::vector<records::JoinToken> tokens;  ///< that are good, or were used

  struct Wanted {
    std::string token_hash;  ///< empty: an agent of this host
    cluster::AgentId agent;
    net::PublicKey key;
  };
  /// Lets an agent in everywhere, or says why not; gives the pool it joins. Called on the service's thread; `done` is
  /// to be called there, too.
  std::function<void(Wanted, std::function<void(Result<std::string>)> done)> admit;
  AttemptLimit::Rules limit = {};
};

class JoinService {
 public:
  struct Dependencies {
    loop::Loop& loop;
    net::Network& network;
    const loop::Calendar& calendar;
    Log& log;
    Counter& refused;  ///< attempts that were refused, answered or not
  };
  [[nodiscard]] static Result<std::unique_ptr<JoinService>> open(const Dependencies& deps, JoinOptions options);
  JoinService(const JoinService&) = delete;
  JoinService& operator=(const JoinService&) = delete;
  ~JoinService();

  /// From now on this token is good.
  void add(records::JoinToken token);

  const std::vector<std::string>& addresses() const { return hub_->addresses(); }

 private:
  JoinService(const Dependencies& deps, JoinOptions options);
  void hear(const net::Peer& peer, BytesView bytes);
  void join(const net::Peer& peer, const cluster::joining::Join& join);
  /// Counts it, and answers unless there are too many of these.
  void refuse(const net::Peer& peer, const std::string& why);
  void answer(const net::Peer& peer, const cluster::joining::Answer& answer);
  void forget_old_tokens();

  Dependencies deps_;
  JoinOptions options_;
  AttemptLimit limit_;
  net::RefusalLog refusals_;
  std::map<std::string, records::JoinToken> tokens_;  ///< by their hash
  std::int32_t pending_ = 0;                          ///< agents that are being admitted
  std::unique_ptr<net::Hub> hub_;
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);  // shared with answers on their way
};

}  // namespace cadre::master
