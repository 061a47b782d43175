/// A stream of bytes between two of our own processes that have proved to each other who they are: over a unix socket
/// on one host, which also hands over files, and over TCP in TLS between hosts. A pipe belongs to the loop's thread,
/// but send() may be called on any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "loop/descriptor.h"
#include "loop/real_loop.h"
#include "net/pipe/guard.h"

namespace cadre::net {

/// Where a pipe runs.
struct PipeDependencies {
  loop::RealLoop& loop;
  std::function<void(loop::Call)> post;  ///< runs a call on the loop, from any thread
  std::function<void(loop::Call)> soon;  ///< runs a call on any thread, within about a millisecond
};

/// Where somebody can be called: by a name that all processes of the host's network see, or at an address.
struct PipeAddress {
  std::string name;  ///< of a unix socket in the abstract namespace; empty: TCP
  std::string host;  ///< a numeric address
  std::uint16_t port = 0;
};

class Pipe {
 public:
  /// Who speaks over it. Calls come from the loop only; none after lost() or the pipe's end; each may end it.
  class User {
   public:
    virtual ~User() = default;
    virtual void opened() = 0;
    /// Where the next bytes are to be put; never empty.
    virtual std::span<std::byte> room() = 0;
    /// So many have been put there, and with them these files came.
    virtual void took(std::size_t bytes, std::vector<loop::Descriptor> files) = 0;
    /// All that waited to be sent is gone.
    virtual void drained() {}
    /// The last call. `denied`: the other side did not prove who it is; `not_found`: nobody listens there;
    /// `unavailable`: it was, or could not be, connected.
    virtual void lost(Error error) = 0;
  };

  static constexpr Duration open_wait = std::chrono::seconds(5);  ///< until it is connected and both are known
  static constexpr std::size_t files_max = 16;                    ///< handed over at once

  /// Calls somebody.
  Pipe(PipeDependencies deps, Caller caller, const PipeAddress& address, User& user);
  /// Was called.
  Pipe(PipeDependencies deps, std::shared_ptr<const Called> called, loop::Descriptor socket, Cover cover, User& user);
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe();
  /// The system still sends what it has taken. Once it is closed, or lost, it may end on any thread.
  void close();

  /// When what is sent has to go.
  enum class Urgency : bool {
    now,
    soon,  ///< with what follows, if that comes within a millisecond: it costs far less when there is much of it
  };
  /// Sends at once what the system takes, and the rest, of which it keeps a copy, when it can. Only once it is opened;
  /// any thread. The files stay their owner's, and open until they are sent; only where hands_over_files().
  void send(std::span<const BytesView> pieces, std::span<const int> files = {}, Urgency urgency = Urgency::now);
  /// What was to go soon goes now; any thread.
  void flush();
  /// Bytes that the other side has not taken; any thread.
  std::size_t unsent() const;
  bool hands_over_files() const;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;  // shared with calls of the loop that are on their way
};

/// Where one is called. For the loop's thread.
class PipeListener {
 public:
  /// Called with each who comes; the pipe is still to be made of it.
  using Take = std::function<void(loop::Descriptor, Cover)>;
  /// `address.port` 0: any that is free.
  [[nodiscard]] static Result<std::unique_ptr<PipeListener>> open(loop::RealLoop& loop, const PipeAddress& address,
                                                                  Take take);
  PipeListener(const PipeListener&) = delete;
  PipeListener& operator=(const PipeListener&) = delete;
  ~PipeListener();
  std::uint16_t port() const { return port_; }

 private:
  PipeListener(loop::RealLoop& loop, loop::Descriptor socket, Cover cover, std::uint16_t port, Take take);
  struct Inside;
  std::unique_ptr<Inside> inside_;
  std::uint16_t port_;
};

}  // namespace cadre::net
