/// Bytes to and from a server that we call, by TCP, in TLS if asked: for protocols that this house speaks itself. For
/// the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "loop/real_loop.h"

namespace cadre::net {

struct StreamOptions {
  std::string host;
  std::uint16_t port = 0;
  bool is_tls = false;
  std::string ca_file;  ///< PEM: whose certificates are believed; empty: those that the system believes
  Duration connect_wait = std::chrono::seconds(5);  ///< until it is open, TLS included
  std::size_t unsent_max = 64 << 20;                ///< bytes that wait for the peer to take them
};

class Stream {
 public:
  /// Who speaks over it. Calls come from the loop only, never from inside a call of the stream's, and none after the
  /// stream has ended; each may end it.
  class User {
   public:
    virtual ~User() = default;
    virtual void opened() = 0;
    virtual void received(std::string_view bytes) = 0;
    /// The last call. `unavailable`, or `denied` when the server's certificate is not believed, or `invalid` when the
    /// file of certificates is no good.
    virtual void lost(Error error) = 0;
  };

  /// Begins to connect.
  Stream(loop::RealLoop& loop, StreamOptions options, User& user);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  /// Closes it; the system still sends what it has taken.
  ~Stream();

  /// Sends at once what the system takes and the rest when it can. Only once it is opened.
  void send(std::string_view bytes);

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;  // shared with calls of Asio that are on their way
};

}  // namespace cadre::net
