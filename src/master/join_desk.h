/// Where agents of other hosts become known: they show a token once, and from then on their key is theirs. For the
/// thread of its loop.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "cluster/joining.h"
#include "cluster/requests.h"
#include "loop/blocking_pool.h"
#include "loop/calendar.h"
#include "net/network.h"
#include "records/records.h"

namespace cadre::master {

struct JoinDeskOptions {
  net::HubOptions hub;  ///< lets in everybody who knows the master's key
  /// What agents are told: how they reach the master from now on.
  std::string control;
  std::string bulk;
  /// Gives an address of this host as others reach it.
  std::function<std::string(const std::string&)> seen_from_outside;
  /// Lets this key in everywhere else.
  std::function<void(const net::PublicKey&, const cluster::AgentId&)> admit;
};

class JoinDesk {
 public:
  struct Ground {
    loop::Loop& loop;
    net::Network& network;
    loop::BlockingPool& pool;  ///< of one thread: the records are for one at a time
    records::Records& records;
    loop::Calendar& calendar;
    Log& log;
  };
  [[nodiscard]] static Result<std::unique_ptr<JoinDesk>> open(const Ground& ground, JoinDeskOptions options);

  /// A text that lets one agent join.
  [[nodiscard]] loop::Task<Result<std::string>> make_token(cluster::requests::MakeJoinToken request);

  const std::vector<std::string>& addresses() const { return hub_->addresses(); }
  /// Attempts that were refused.
  std::uint64_t refused() const { return refused_; }

 private:
  JoinDesk(const Ground& ground, JoinDeskOptions options) : ground_(ground), options_(std::move(options)) {}
  void hear(const net::Peer& peer, BytesView bytes);
  loop::Task<void> join(net::Peer peer, cluster::joining::Join join);
  void answer(const net::Peer& peer, const cluster::joining::Answer& answer);

  Ground ground_;
  JoinDeskOptions options_;
  std::string master_key_;
  std::unique_ptr<net::Hub> hub_;
  std::uint64_t refused_ = 0;
};

}  // namespace cadre::master
