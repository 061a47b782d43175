/// Answers ZeroMQ's question whether a connection may come in (ZAP, RFC 27), for all hubs of one context. For the
/// loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>
#include <zmq.hpp>

#include "net/keys.h"
#include "net/zmq/watch.h"

namespace cadre::net {

/// What ZAP notes on each message of a connection that came by a unix socket, where others have their key.
constexpr std::string_view unix_user = "unix";
/// What stands before the key, if it came by a unix socket with a key: its hub asks under a domain that ends so.
constexpr std::string_view local_prefix = "unix:";
constexpr std::string_view local_domain_end = ".local";

class ZapServer {
 public:
  /// Whether a connection from this address may come in; its key is proved, and empty on a unix socket.
  using Judge = std::function<bool(const PublicKey& key, std::string_view from)>;

  /// Throws zmq::error_t.
  ZapServer(loop::RealLoop& loop, zmq::context_t& context);

  /// A domain says which hub is asked for; one that is not known admits nobody.
  void put(const std::string& domain, Judge judge) { judges_[domain] = std::move(judge); }
  void remove(const std::string& domain) { judges_.erase(domain); }

  /// Requests that made no sense.
  [[nodiscard]] std::uint64_t malformed() const { return malformed_; }

 private:
  ZmqWatch::Left take();
  std::string judge(const std::vector<zmq::message_t>& request);

  std::map<std::string, Judge> judges_;
  std::uint64_t malformed_ = 0;
  zmq::socket_t socket_;
  ZmqWatch watch_;
};

}  // namespace cadre::net
