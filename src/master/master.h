/// The master's shell around its mind: takes news from agents and clients, lets the mind decide, writes, then sends.
/// For the thread of its loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <variant>

#include "base/log.h"
#include "cluster/control/control.h"
#include "loop/blocking_pool.h"
#include "loop/calendar.h"
#include "loop/inbox.h"
#include "master/config.h"
#include "net/network.h"
#include "records/records.h"

namespace cadre::master {

/// What a master stands on; all of it must outlive the master.
struct Ground {
  loop::Loop& loop;
  net::Network& network;
  loop::BlockingPool& pool;  ///< of one thread: the records are for one at a time
  records::Records& records;
  loop::Calendar& calendar;
  Log& log;
};

struct Options {
  cluster::control::Settings settings;
  Keeping keeping;
  net::HubOptions agents;
  net::HubOptions clients;
  std::map<net::PublicKey, cluster::AgentId> agent_keys;
  std::uint64_t boot = 0;
  cluster::control::Rows rows;
  /// Is given every plan that was made, if the settings ask for them.
  std::function<void(const cluster::control::PlanRecord&)> record;
  /// The packed code of jobs that have not ended must stay; that of others may go. May be left out.
  std::function<void(const std::string& hash)> keep_code;
  std::function<void(const std::string& hash)> release_code;
  /// Makes a text that lets one agent join this pool; nothing, if nobody can.
  std::function<loop::Task<Result<std::string>>(cluster::requests::MakeJoinToken)> make_join_token;
};

class Master {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Master>> make(const Ground& ground, Options options);
  ~Master();

  /// Goes on until stop(), or until another master has begun.
  [[nodiscard]] loop::Task<Result<void>> run();
  void stop();

  /// From now on this key is this agent's.
  void admit(const net::PublicKey& key, const cluster::AgentId& agent);

  const std::vector<std::string>& agents_addresses() const { return agents_->addresses(); }

 private:
  struct FromAgent {
    net::Peer peer;
    cluster::messages::FromAgent message;
  };
  struct FromClient {
    net::Peer peer;
    cluster::requests::Question question;
  };
  struct Tick {};
  using News = std::variant<FromAgent, FromClient, Tick>;

  Master(const Ground& ground, Options options);
  Result<void> bind(net::HubOptions agents, net::HubOptions clients);
  void tick_later();
  void take_in(News news, const net::Peer& peer);
  void hear_agent(const net::Peer& peer, const Bytes& bytes);
  void hear_client(const net::Peer& peer, const Bytes& bytes);
  void complain(std::string_view whom, std::string_view what);
  void decide(const News& news);
  /// Forgets connections on which nothing was heard for long: who is there asks again.
  void sweep(TimePoint now);
  loop::Task<void> tidy();
  loop::Task<Result<void>> write(const cluster::control::Writes& writes);
  void act(cluster::control::Outcome outcome);
  void look_after_code(const cluster::control::JobRow& row);
  /// What strangers said, on both hubs.
  std::uint64_t refused() const;
  void answer(const net::Peer& peer, const cluster::requests::Answer& answer);
  loop::Task<void> make_join_token(net::Peer peer, std::uint64_t number, cluster::requests::MakeJoinToken request);

  Ground ground_;
  Duration tick_every_;
  Keeping keeping_;
  std::map<net::PublicKey, cluster::AgentId> agent_keys_;
  std::function<void(const cluster::control::PlanRecord&)> record_;
  std::function<void(const std::string&)> keep_code_;
  std::function<void(const std::string&)> release_code_;
  std::function<loop::Task<Result<std::string>>(cluster::requests::MakeJoinToken)> make_join_token_;
  cluster::control::Control control_;
  loop::Inbox<News> inbox_;
  std::unique_ptr<net::Hub> agents_;
  std::unique_ptr<net::Hub> clients_;
  struct Known {
    net::Peer peer;
    TimePoint heard;
  };
  std::map<std::uint64_t, Known> peers_;  ///< by connection, while somebody may have to be answered there
  TimePoint swept_;
  std::set<std::uint64_t> overrun_;  ///< connections of which a message found no room
  loop::Timer ticking_;
  bool stopping_ = false;
  std::string obstacle_;  ///< why nothing can be written at the moment
  std::uint64_t complaints_ = 0;
  std::set<cluster::JobId> with_code_;  ///< jobs whose code is kept
};

}  // namespace cadre::master
