/// Serves HTTP and WebSocket on a loop: nothing that a peer sends is believed, and everything that it may take has a
/// bound. For the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/call.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "net/http/message.h"

namespace cadre::net::http {

struct Limits {
  ByteSize header_max{16 << 10};
  ByteSize bodies_max{256 << 20};                      ///< of all bodies together, until their requests are answered
  ByteSize message_max{1 << 20};                       ///< of what comes over a WebSocket
  ByteSize unsent_max{256 << 20};                      ///< of all answers together that their peers have not taken
  Duration header_wait = std::chrono::seconds(10);     ///< for the header of the first request, and of each once begun
  Duration body_wait = std::chrono::seconds(30);       ///< without a byte of its body
  Duration write_wait = std::chrono::seconds(30);      ///< without a byte that the peer takes
  Duration idle_wait = std::chrono::minutes(2);        ///< between two requests; a silent WebSocket is pinged at half
  Duration handshake_wait = std::chrono::seconds(10);  ///< for TLS
  /// Beyond this, and beyond those of one address, a new connection takes the place of one that waits for its peer.
  std::int32_t connections_max = 10'000;
  std::int32_t connections_max_each = 5'000;  ///< of one address; of IPv6 of one /64, and this host is one
  std::int32_t silent_max_each = 256;         ///< of one address, before their first request is whole
};

/// PEM files: the certificate with those that lead to its root, and its key.
struct Tls {
  std::string certificates;
  std::string key;
};

struct Counters {
  MetricSet metrics;
  Counter connections{metrics, "http_connections_total", "Number of connections accepted."};
  Gauge open{metrics, "http_connections_open", "Number of open connections."};
  Counter requests{metrics, "http_requests_total", "Number of requests received."};
  Counter refused_connections{metrics, "http_refused_connections_total",
                              "Number of connections refused because the connection limit was reached."};
  Counter evicted_connections{metrics, "http_evicted_connections_total",
                              "Number of connections closed to make room for others."};
  Counter refused_malformed{metrics, "http_refused_malformed_total", "Number of malformed requests."};
  Counter refused_large{metrics, "http_refused_large_total", "Number of requests that were too large."};
  Counter refused_bodies{metrics, "http_refused_bodies_total",
                         "Number of requests refused because the memory limit for bodies was reached."};
  Counter cut_unsent{metrics, "http_cut_unsent_total",
                     "Number of connections closed because too much unsent data was buffered on all of them."};
  Counter timed_out{metrics, "http_timed_out_total", "Number of connections that timed out."};
  Counter handshakes_failed{metrics, "http_handshakes_failed_total", "Number of failed TLS handshakes."};
};

/// A body that is sent piece by piece. Ending it unfinished breaks the connection, so that the peer knows.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Goes on when the peer has taken nearly all of it; `unavailable` when it is gone or takes nothing for too long.
  [[nodiscard]] virtual loop::Task<Result<void>> write(std::string piece) = 0;
  [[nodiscard]] virtual loop::Task<Result<void>> end() = 0;
};

/// Ending it closes the connection. One send and one receive at a time; both may wait beside each other.
class WebSocket {
 public:
  virtual ~WebSocket() = default;
  /// A text message; goes on when it was handed to the system. `unavailable` when the peer is gone.
  [[nodiscard]] virtual loop::Task<Result<void>> send(std::string text) = 0;
  /// The next message, text or binary; `unavailable` when the peer has closed or is gone (it is pinged while idle).
  [[nodiscard]] virtual loop::Task<Result<std::string>> receive() = 0;
  /// Says goodbye: 1000 is a normal end, 1008 a refusal, 1011 a failure of ours, 1012 a restart.
  [[nodiscard]] virtual loop::Task<void> close(std::uint16_t code, std::string reason) = 0;
};

/// One request, to be answered once in one of three ways. Ending it unanswered answers 500.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const Request& request() const = 0;
  /// Frees the body of the request, which counts towards bodies_max until then. For a request that waits.
  virtual void release_body() = 0;
  /// May be called at any time, once; does nothing when the peer is gone.
  virtual void answer(Response response) = 0;
  /// Its body comes in pieces (chunked).
  [[nodiscard]] virtual std::unique_ptr<Stream> stream(Response head) = 0;
  /// Only for a request that asks for it. `unavailable` when the peer is gone before the handshake is done.
  [[nodiscard]] virtual loop::Task<Result<std::unique_ptr<WebSocket>>> upgrade() = 0;
  /// Is called, at most once and only while this lives, when the peer is gone before it was answered to the end, a
  /// stream included. For what would otherwise wait in vain. A peer that says it will send no more counts as gone.
  virtual void on_gone(loop::Call call) = 0;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  ///< 0: a free one
  int listener = -1;       ///< a socket that listens already, of which a copy is used; -1: one is opened
  std::string path;        ///< where it listens as well, for processes that may look into that folder; empty: nowhere
  std::optional<Tls> tls;  ///< then plain HTTP is refused
  Limits limits;
  /// The most that the body of a request may have, told from its method and target before the body is read. 1 MiB
  /// unless this says otherwise.
  std::function<ByteSize(Method, std::string_view target)> body_max;
};

class Server {
 public:
  using Handler = std::function<void(std::unique_ptr<Exchange>)>;

  /// Listens, as net/http/listener.h does. `conflict` when the port is in use, `invalid` when the host or the TLS files
  /// are no good.
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(loop::RealLoop& loop, Log& log, ServerOptions options,
                                                              Handler handler);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// Closes all connections. What is still being answered may be answered later, in vain.
  ~Server();

  std::uint16_t port() const;
  const Counters& counters() const;
  /// Takes no more connections and requests; those under way go on, at most for so long.
  [[nodiscard]] loop::Task<void> drain(Duration most);

 private:
  struct Inside;
  explicit Server(std::shared_ptr<Inside> inside);
  std::shared_ptr<Inside> inside_;  // shared with connections that are about to end
};

}  // namespace cadre::net::http
