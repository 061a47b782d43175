/// TLS over byte strings, without a socket: for a server with its certificate, and for a client with the certificates
/// that it trusts. A session belongs to one thread; its context outlives it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http/server.h"

namespace cadre::net::http {

class TlsContext {
 public:
  /// Reads the files. `invalid` when they are no good or do not belong together.
  [[nodiscard]] static Result<std::unique_ptr<TlsContext>> load(const Tls& files);
  /// For who calls servers: believes what the certificates in the file sign; empty: what the system believes.
  [[nodiscard]] static Result<std::unique_ptr<TlsContext>> trust(const std::string& ca_file);
  /// For two who know the same key and need no certificates; TLS 1.3 only. Of the caller, by its name there, …
  using Key = std::array<std::byte, 32>;
  [[nodiscard]] static std::unique_ptr<TlsContext> with_key(std::string name, const Key& key);
  /// … and of who is called, by what it knows of a name: nothing, and the caller is refused.
  using FindKey = std::function<std::optional<Key>(std::string_view name)>;
  [[nodiscard]] static std::unique_ptr<TlsContext> with_keys(FindKey find);
  ~TlsContext();

 private:
  friend class TlsSession;
  struct Inside;
  explicit TlsContext(std::unique_ptr<Inside> inside);
  std::unique_ptr<Inside> inside_;  // keeps OpenSSL out of this header
};

class TlsSession {
 public:
  enum class State : std::uint8_t { shaking, open, ended, failed };

  enum class Side : std::uint8_t { called, caller };
  /// A server's, or of who calls one that certificates say nothing about.
  explicit TlsSession(const TlsContext& context, Side side = Side::called);
  /// Of who calls the host, which must prove that it has that name or address.
  TlsSession(const TlsContext& context, const std::string& host);
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;
  ~TlsSession();

  State state() const { return state_; }

  /// Appends to `out` how a caller greets.
  void begin(std::string& out);

  /// Why the server's certificate was not believed; empty when that is not why it failed.
  std::string distrust() const;

  /// Takes what came from the peer; appends to `plain` what it says and to `out` what is to be sent because of it.
  void take(std::string_view coded, std::string& plain, std::string& out);

  /// Appends to `out` how that is sent. Only when open.
  void put(std::string_view plain, std::string& out);

  /// Appends to `out` that nothing more will come.
  void end(std::string& out);

 private:
  struct Inside;
  void set_up(const TlsContext& context);
  void move_out(std::string& out);
  State state_ = State::shaking;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cadre::net::http
