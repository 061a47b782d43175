/// Requests to HTTP servers that block, are bounded in time and size, and are repeated when a fault may pass. Safe on
/// any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/real_loop.h"
#include "net/http/client.h"
#include "objects/bytes_io.h"
#include "objects/store.h"
#include "objects/stores/session_pool.h"

namespace cadre::objects {

struct HttpSessionOptions {
  std::string ca_file;
  Duration timeout = std::chrono::seconds(30);
  ByteSize answer_max{8 << 20};  ///< of a response that is not handed on in pieces
  StoreOptions store;
};

class HttpSessions {
 public:
  using Question = net::http::Question;
  using Response = net::http::Response;

  explicit HttpSessions(HttpSessionOptions options);

  /// One request and its response, whatever its status. The error's message has no query of a URL, which may hold
  /// signatures.
  [[nodiscard]] Result<Response> ask_once(Question question);

  /// The same, repeated after faults of the connection and statuses that say so. `make` makes each of the requests.
  [[nodiscard]] Result<Response> ask(const std::function<Question()>& make);

  /// Hands the body of a response of 2xx to the sink, until it had `size` bytes, which is more than none. Goes on where
  /// it was when the connection is lost. `make` makes the request for all bytes from that offset on. Every other
  /// response is given back, as the last one of 2xx is. `corrupt` when a response of 2xx is shorter or longer.
  using MakeFrom = std::function<Result<Question>(std::int64_t done)>;
  [[nodiscard]] Result<Response> download(std::int64_t size, const MakeFrom& make, const ByteSink& sink);

 private:
  struct Session {
    explicit Session(const HttpSessionOptions& options);
    loop::RealLoop loop;
    net::http::Client client;
  };

  Result<Response> download_once(Question question, std::int64_t size, std::int64_t& done, const ByteSink& sink,
                                 std::optional<Error>& stopped);
  TimePoint deadline(const Session& session, std::int64_t bytes) const;

  const HttpSessionOptions options_;
  SessionPool<Session> sessions_;
};

/// Whether a response says that the same request may succeed later.
[[nodiscard]] bool is_transient_status(int status);

/// A text of a server for an error message: on one line, printable and short.
[[nodiscard]] std::string shown_text(std::string_view text);

}  // namespace cadre::objects
