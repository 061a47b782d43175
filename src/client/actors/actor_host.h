/// The process of one actor: where its callers come in, what they want next, and how they are answered. Safe on any
/// thread; what runs in between is the user's.
#pragma once

#include <cadre/core.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/actors/actor_card.h"
#include "client/actors/printer.h"
#include "client/actors/wire.h"
#include "client/engine.h"
#include "remote/callee.h"

namespace cadre::client {

/// Whether what an actor writes is shown where its caller runs: not with 0.
inline constexpr const char* output_variable = "CADRE_ACTOR_OUTPUT";

/// Where the caller of an actor looks for its address: in its announcement. Callers from before announcements do not
/// set it, and look into its last report.
inline constexpr const char* address_variable = "CADRE_ACTOR_ADDRESS";
inline constexpr std::string_view address_announced = "announcement";

class ActorHost {
 public:
  struct Options {
    net::PublicKey owner;                            ///< who may call
    std::size_t lanes = 1;                           ///< calls that run at a time
    bool is_local = true;                            ///< only callers on the same host
    bool shows_output = false;                       ///< the caller wants to see what the actor writes
    bool announces = true;                           ///< its address; otherwise it reports it
    Duration caller_wait = std::chrono::minutes(1);  ///< without one for so long at first, it ends …
    Duration linger = std::chrono::seconds(10);      ///< … and when the last has gone, after that
  };
  /// As the environment of a task says: CADRE_ACTOR_CALLER, CADRE_ACTOR_HOST, CADRE_ACTOR_LANES,
  /// CADRE_ACTOR_OUTPUT, CADRE_ACTOR_ADDRESS.
  [[nodiscard]] static Result<Options> options_from_environment();

  [[nodiscard]] static Result<std::unique_ptr<ActorHost>> open(const Options& options);
  ActorHost(const ActorHost&) = delete;
  ActorHost& operator=(const ActorHost&) = delete;
  ~ActorHost();

  /// Tells the master where it can be called.
  [[nodiscard]] Result<void> announce();
  const ActorCard& card() const { return card_; }

  /// Something that a caller wants: create, call, get or set.
  struct Wish {
    Heard heard;
    std::shared_ptr<Wire> wire;
  };
  using Calls = remote::Callee<Wish>;
  struct Wanted {
    Calls::Key key;
    Heard heard;
    std::shared_ptr<Wire> wire;
    TimePoint begun;
  };
  /// Waits for it; nothing when there is nothing more to do: nobody needs the actor any more, or it is to stop.
  [[nodiscard]] std::optional<Wanted> next();
  /// Waits while too much was not taken by who is to be answered.
  void answer(const Wanted& wanted, remote::Verb verb, std::string_view name, BytesView body,
              std::span<const BytesView> parts);

  /// Whether show() shows anything.
  bool shows_output() const { return options_.shows_output; }
  /// Lines that the actor has written, for its callers to see. Never waits: what they do not take is skipped, and they
  /// are told how many lines that was. Not in a child process.
  void show(Printer::Stream stream, std::string_view lines);

 private:
  struct Connection final : Wire::User {
    Connection(ActorHost& h, std::uint64_t n) : host(h), number(n) {}
    void opened() override;
    void heard(Heard heard) override { host.take(*this, std::move(heard)); }
    void drained() override { host.engine_.changed(); }
    void lost(Error) override { host.leave(number); }
    ActorHost& host;
    const std::uint64_t number;
    std::shared_ptr<Wire> wire;
    bool is_open = false;
  };

  explicit ActorHost(const Options& options);
  Result<void> listen();
  void come_in(loop::Descriptor socket, net::Cover cover);
  void take(Connection& from, Heard heard);
  void cancel(const Connection& from, Calls::Key key);
  void leave(std::uint64_t connection);
  void beat();
  void end();

  const Options options_;
  const std::shared_ptr<const net::Called> called_;
  ActorCard card_;
  core::Context context_;
  Engine engine_;
  const net::PipeDependencies deps_;
  // For the loop.
  std::vector<std::unique_ptr<net::PipeListener>> listeners_;
  std::map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::uint64_t last_connection_ = 0;
  std::size_t open_connections_ = 0;
  TimePoint alone_since_;
  bool was_called_ = false;
  loop::Timer beating_;

  std::mutex mutex_;  // for what follows
  Calls callee_;
  bool is_over_ = false;
  struct Reader {
    std::shared_ptr<Wire> wire;
    std::size_t skipped = 0;  ///< lines
  };
  std::map<std::uint64_t, Reader> readers_;  ///< of the output: the connections that are open

  std::atomic<std::uint64_t> calls_ = 0;
  std::atomic<std::uint64_t> errors_ = 0;
};

}  // namespace cadre::client
