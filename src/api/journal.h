/// Who did what: the audit log, and what requests with an idempotency key have created. One part of a master keeps it
/// for all. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "api/part.h"

namespace cadre::api {

/// An attempt to change something.
struct AuditEntry {
  std::string act;                     ///< name of the request
  std::string object;                  ///< `job 17`, `user ann`
  std::optional<std::string> refused;  ///< why it was refused, if it was
};

class Journal {
 public:
  virtual ~Journal() = default;
  virtual void audit(const Call& call, AuditEntry entry) = 0;
  /// What a request of this user with this key has created; nothing so far. `conflict` when it was another request.
  [[nodiscard]] virtual Result<std::optional<Created>> created_by(const std::string& user,
                                                                  const IdempotencyKey& key) const = 0;
  virtual void remember(const Call& call, const IdempotencyKey& key, const Created& created) = 0;
};

}  // namespace cadre::api
