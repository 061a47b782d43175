/// The master's desk as its door sees it: where somebody's questions are put and answered. Messages only; safe on any
/// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

#include "access/access.h"
#include "cluster/bulk.h"
#include "cluster/requests.h"

namespace cadre::cluster {

/// By what somebody wants to be known: a token's hash, or, if it was that of a task, its lease.
struct Credential {
  std::string token_hash;
  std::optional<LeaseId> lease;
  std::string address;  ///< from where he asks
  access::IdempotencyKey idempotency{};
  std::size_t body_bytes = 0;  ///< of what he asks; the sum of all that waits to be decided is bounded
};

/// Somebody wants to log in. Answered with what his password is to be checked against.
struct BeginLogin {
  static constexpr std::string_view type_name = "begin_login";
  std::string user;
};

/// The hash of one's own password, to check it before it is changed.
struct GetPassword {
  static constexpr std::string_view type_name = "get_password";
};

/// Everything that may be asked. What is none of these two is asked by the door itself.
using Asked = std::variant<requests::Request, access::Request, access::ListAudit, BeginLogin, access::Access::LoginEnd,
                           GetPassword>;

/// The token was not believed.
struct Unknown {
  std::string why;
};

/// Too many passwords were wrong: the next attempt has to wait.
struct MustWait {
  std::string why;
};

/// Everything that may be answered; requests::Failed is in Reply.
using Told = std::variant<requests::Reply, access::Reply, access::AuditPage, access::Challenge, Unknown, MustWait>;

class Desk {
 public:
  virtual ~Desk() = default;
  /// Who waits for answers, as the door numbers them; never twice the same.
  using Asker = std::uint64_t;
  /// The answer comes on whatever thread the desk was given for that; requests::RunExec has several, all else one.
  virtual void ask(Asker asker, Credential credential, Asked asked) = 0;
  /// Nobody waits for (more) answers there.
  virtual void forget(Asker asker) = 0;
};

/// The same of the master's bulk side, for output and code. Nobody is identified there: who asks must have been before.
class BulkDesk {
 public:
  virtual ~BulkDesk() = default;
  virtual void ask(Desk::Asker asker, bulk::ToMaster message) = 0;
  virtual void forget(Desk::Asker asker) = 0;
};

}  // namespace cadre::cluster
