#include "net/pipe/guard.h"

#include <zmq.h>

#include <array>
#include <utility>

#include "base/check.h"
#include "net/http/tls.h"

namespace cadre::net {
namespace {

constexpr std::size_t word = 32;
constexpr std::string_view from_called = "cadre called";
constexpr std::string_view from_caller = "cadre caller";

std::string raw_of(const PublicKey& key) {
  std::string raw(word, '\0');
  CHECK(zmq_z85_decode(reinterpret_cast<std::uint8_t*>(raw.data()), key.text().c_str()) != nullptr);
  return raw;
}

Result<PublicKey> key_of(std::string_view raw) {
  std::array<char, 41> text{};
  CHECK(zmq_z85_encode(text.data(), reinterpret_cast<const std::uint8_t*>(raw.data()), word) != nullptr);
  return parse_public_key(text.data());
}

/// The secret shared with a caller that claims this key; nothing if the caller is not admitted.
std::optional<SharedSecret> secret_for(const Called& called, const Result<PublicKey>& caller) {
  if (!caller || !called.admits(*caller)) return std::nullopt;
  const Result<SharedSecret> secret = shared_secret(called.keys.secret, *caller);
  return secret ? std::optional(*secret) : std::nullopt;
}

/// What both have in common: words of a fixed length until it is open.
class PlainGuard : public Guard {
 public:
  bool is_plain() const override { return true; }
  void put(std::string_view plain, std::string& out) override { out += plain; }
  void take(std::string_view coded, std::string& plain, std::string& out) override {
    came_ += coded;
    if (state_ == State::shaking) shake(out);
    if (state_ != State::open) return;
    plain += came_;
    came_.clear();
  }

 protected:
  virtual void shake(std::string& out) = 0;
  /// The next so many bytes, once they have come.
  std::optional<std::string> next(std::size_t size) {
    if (came_.size() < size) return std::nullopt;
    std::string taken = came_.substr(0, size);
    came_.erase(0, size);
    return taken;
  }
  static BytesView part(const std::string& text, std::size_t number) {
    return as_bytes(text).subspan(number * word, word);
  }

  SharedSecret number_ = random_bytes();

 private:
  std::string came_;
};

class PlainCaller final : public PlainGuard {
 public:
  explicit PlainCaller(const Caller& caller) : caller_(caller) {}
  void begin(std::string& out) override {
    const Result<SharedSecret> secret = shared_secret(caller_.keys.secret, caller_.called);
    if (!secret) return void(state_ = State::failed);
    secret_ = *secret;
    out += raw_of(caller_.keys.open);
    out += as_text(number_);
  }

 private:
  void shake(std::string& out) override {
    const std::optional<std::string> answer = next(2 * word);
    if (!answer) return;
    const BytesView theirs = part(*answer, 0);
    if (!is_same(proof_of(secret_, from_called, number_, theirs), part(*answer, 1))) {
      return void(state_ = State::failed);
    }
    out += as_text(proof_of(secret_, from_caller, theirs, number_));
    state_ = State::open;
  }

  const Caller& caller_;
  SharedSecret secret_{};
};

class PlainCalled final : public PlainGuard {
 public:
  explicit PlainCalled(const Called& called) : called_(called) {}
  void begin(std::string&) override {}

 private:
  void shake(std::string& out) override {
    if (!secret_) {
      const std::optional<std::string> greeting = next(2 * word);
      if (!greeting) return;
      secret_ = secret_for(called_, key_of(greeting->substr(0, word)));
      if (!secret_) return void(state_ = State::failed);
      const BytesView theirs = part(*greeting, 1);
      expected_ = proof_of(*secret_, from_caller, number_, theirs);
      out += as_text(number_);
      out += as_text(proof_of(*secret_, from_called, theirs, number_));
    }
    const std::optional<std::string> proof = next(word);
    if (!proof) return;
    state_ = is_same(expected_, as_bytes(*proof)) ? State::open : State::failed;
  }

  const Called& called_;
  std::optional<SharedSecret> secret_;
  SharedSecret expected_{};
};

class TlsGuard final : public Guard {
 public:
  /// Of a caller.
  explicit TlsGuard(const Caller& caller) {
    const Result<SharedSecret> secret = shared_secret(caller.keys.secret, caller.called);
    if (!secret) {
      state_ = State::failed;
      return;
    }
    context_ = http::TlsContext::with_key(caller.keys.open.text(), *secret);
    session_ = std::make_unique<http::TlsSession>(*context_, http::TlsSession::Side::caller);
  }
  explicit TlsGuard(const Called& called)
      : context_(http::TlsContext::with_keys(
            [&called](std::string_view name) { return secret_for(called, parse_public_key(name)); })),
        session_(std::make_unique<http::TlsSession>(*context_, http::TlsSession::Side::called)) {}

  bool is_plain() const override { return false; }
  void begin(std::string& out) override {
    if (session_) session_->begin(out);
  }
  void take(std::string_view coded, std::string& plain, std::string& out) override {
    if (state_ == State::failed) return;
    session_->take(coded, plain, out);
    using Inner = http::TlsSession::State;
    const Inner inner = session_->state();
    if (inner == Inner::open) state_ = State::open;
    if (inner == Inner::failed || inner == Inner::ended) state_ = State::failed;
  }
  void put(std::string_view plain, std::string& out) override { session_->put(plain, out); }

 private:
  std::unique_ptr<http::TlsContext> context_;
  std::unique_ptr<http::TlsSession> session_;
};

}  // namespace

std::unique_ptr<Guard> make_guard(const Caller& caller, Cover cover) {
  if (cover == Cover::tls) return std::make_unique<TlsGuard>(caller);
  return std::make_unique<PlainCaller>(caller);
}

std::unique_ptr<Guard> make_guard(const Called& called, Cover cover) {
  if (cover == Cover::tls) return std::make_unique<TlsGuard>(called);
  return std::make_unique<PlainCalled>(called);
}

}  // namespace cadre::net
