/// Asks HTTP servers, many at a time, over connections that are kept. For the loop's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "net/http/message.h"

namespace cadre::net::http {

struct ClientOptions {
  std::string ca_file;  ///< PEM: whose certificates are believed; empty: those that the system believes
  Duration connect_wait = std::chrono::seconds(5);
  ByteSize answer_max{64 << 20};       ///< of a body that is not handed on in pieces
  std::int32_t connections_max = 256;  ///< beyond that, questions wait for each other
  std::string path = {};               ///< of the Unix socket of the server; empty: the URL says where it is
};

/// A body that is read piece by piece as the server takes it.
struct Upload {
  std::int64_t size = 0;
  /// The next bytes, as many as fit if there are so many. None before the end breaks the question off.
  std::function<std::size_t(std::span<char>)> read;
};

struct Question {
  Method method = Method::get;
  std::string url;
  Headers headers;
  std::string body;
  Upload upload = {};                        ///< of a PUT, instead of `body`, if it has a `read`
  Duration wait = std::chrono::seconds(30);  ///< from the question to the end of the answer
  /// Else what may be done twice (GET, PUT, DELETE) is, when a connection that was kept turns out to be lost.
  bool is_asked_once = false;
};

class Client {
 public:
  Client(loop::RealLoop& loop, ClientOptions options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client();

  /// The answer, whatever its status. `unavailable`: nothing was asked, nobody listens there (or its name is not
  /// known); `denied`: its certificate is not believed; `timed_out`: no answer in time, or the connection was lost
  /// before it was whole, so that it may have been done; `invalid`: this is no URL, or a
  /// header cannot be sent; `corrupt`: the response is too large. Ending the task ends the question:
  /// the connection is closed, so that the server knows.
  [[nodiscard]] loop::Task<Result<Response>> ask(Question question);

  /// The same for a body that comes piece by piece and may go on for long: `wait` counts only without a byte, as it
  /// does for an upload. Each piece is handed on as it comes, when the status is 2xx; else the body is in the response.
  [[nodiscard]] loop::Task<Result<Response>> ask(Question question, std::function<void(std::string_view)> on_piece);

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;  // shared with questions that are still asked
};

}  // namespace cadre::net::http
