/// How the two ends of a pipe prove to each other who they are before either believes a word: without a socket, as
/// words that come and words that go. One thread at a time.
///
/// On one host, where nobody can listen in, both show that they know their shared secret:
///   caller: its public key (32 bytes), a number nobody can guess (32)
///   called: another such number (32), proof over both (32)
///   caller: proof over both (32)
/// Between hosts the secret is the pre-shared key of TLS 1.3, under which all else travels.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/keys.h"
#include "net/pipe/secret.h"

namespace cadre::net {

class Guard {
 public:
  enum class State : std::uint8_t { shaking, open, failed };
  virtual ~Guard() = default;
  State state() const { return state_; }
  /// Appends to `out` how a caller greets.
  virtual void begin(std::string& out) = 0;
  /// Takes what came; appends to `plain` what it says and to `out` what is to be sent because of it.
  virtual void take(std::string_view coded, std::string& plain, std::string& out) = 0;
  /// Whether what is said travels as it is, once it is open.
  virtual bool is_plain() const = 0;
  /// Appends to `out` how that is sent. Only when open.
  virtual void put(std::string_view plain, std::string& out) = 0;

 protected:
  State state_ = State::shaking;
};

/// The side of the caller: its keys, and the key that it expects.
struct Caller {
  Keys keys;
  PublicKey called;
};
/// The end that is called: who it is, and whom it lets in.
struct Called {
  Keys keys;
  std::function<bool(const PublicKey&)> admits;
};

enum class Cover : std::uint8_t {
  none,  ///< nobody can listen: the two only prove who they are
  tls,
};

/// Both must outlive the guard.
[[nodiscard]] std::unique_ptr<Guard> make_guard(const Caller& caller, Cover cover);
[[nodiscard]] std::unique_ptr<Guard> make_guard(const Called& called, Cover cover);

}  // namespace cadre::net
