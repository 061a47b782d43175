/// The service that a master offers to its gateway: takes requests of callers with credentials, and replies. Messages
/// only; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "api/principal.h"
#include "api/reply.h"
#include "api/request.h"
#include "base/result.h"

namespace cadre::api {

/// Maximum length of an idempotency key.
constexpr std::size_t idempotency_key_most = 128;

/// A key and the request it stands for. Without a key nothing is remembered.
struct IdempotencyKey {
  std::string key;
  std::string fingerprint;  ///< of the whole request, so that a key cannot be used for another one
};

/// By what a caller is known: the hash of a token, or, if it was that of a task, the lease.
struct Credential {
  std::string token_hash;
  std::string lease;    ///< `17.0/3`; its signature was checked
  std::string address;  ///< of the caller
  IdempotencyKey idempotency{};
  std::size_t body_bytes = 0;  ///< of the request; the sum of all that wait to be decided is bounded
};

/// A call that waits for its reply, as the gateway numbers them; never twice the same.
using CallId = std::uint64_t;

class Service {
 public:
  virtual ~Service() = default;
  /// The reply comes on the thread that the service was given for that. Requests whose replies are a stream get
  /// several, all others one.
  virtual void ask(CallId call, Credential credential, Request request) = 0;
  /// The caller waits for no (more) replies.
  virtual void forget(CallId call) = 0;
};

/// Says who callers are. Messages only; safe on any thread.
class Identifier {
 public:
  virtual ~Identifier() = default;
  /// `then` gets the caller and their rights, or why the credential is not valid. It is called on the thread of the
  /// master's loop, in an order with what the master decides: a caller who was identified before a decision is handed
  /// over before its effects.
  virtual void identify_caller(Credential credential, std::function<void(Result<Principal>)> then) = 0;
};

}  // namespace cadre::api
