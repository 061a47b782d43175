/// What the connections of one server share: its rules, its counters, and the time, which is looked up once a tick and
/// not for each request. For the loop's thread.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "loop/real_loop.h"
#include "net/http/request_reader.h"
#include "net/http/server.h"
#include "net/http/tls.h"

namespace cadre::net::http {

class Wire;

struct Service {
  Service(loop::RealLoop& l, Log& g, ServerOptions o, Server::Handler h);
  ~Service();

  /// When a wait that begins now is over: never early, and late by two ticks at most.
  TimePoint after(Duration wait) const;

  /// Closes connections whose deadline has passed, at every tick while there is a connection.
  void watch();
  void sweep();

  /// Makes room for a connection from this network, if it may have one.
  bool make_room(const std::string& network);

  /// Cuts the wires that hold most, until all of them together hold no more than they may.
  void bound_unsent();

  loop::RealLoop& loop;
  Log& log;
  const ServerOptions options;
  const Server::Handler handler;
  const RequestReader::Rules rules;
  const Duration tick;
  std::unique_ptr<TlsContext> tls;
  Counters counters;
  TimePoint present;  ///< at the last tick
  bool draining = false;
  std::list<std::shared_ptr<Wire>> wires;
  std::size_t bodies_held = 0;  ///< bytes of bodies that come, or whose requests are being answered
  std::size_t unsent = 0;       ///< bytes that all wires hold for their peers
  struct Of {
    std::size_t open() const { return waiting.size() + busy.size(); }
    std::list<Wire*> waiting;   ///< for their peers, those that have waited longest first
    std::list<Wire*> busy;      ///< with a request that is being answered
    std::vector<Wire*> silent;  ///< without a whole request so far, the oldest first
  };
  std::map<std::string, Of> of_network;  ///< by Peer::network
  std::uint64_t waits = 0;               ///< that have begun so far
  loop::Timer ticking;
};

}  // namespace cadre::net::http
