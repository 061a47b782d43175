/// Idempotency keys: what requests have created, so that a retry with the same key creates nothing twice. Pure; one
/// thread at a time.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "access/rows.h"
#include "api/service.h"
#include "base/result.h"
#include "base/time.h"

namespace cadre::access {

using api::IdempotencyKey;

struct IdempotencySettings {
  Duration kept = std::chrono::hours(24);
  std::size_t of_user_max = 10'000;  ///< beyond that the oldest key is forgotten early
};

class IdempotencyKeys {
 public:
  IdempotencyKeys(IdempotencySettings settings, const std::vector<IdempotencyRow>& rows);

  /// What the request with this key has created; null: nothing so far. `conflict` when it was another request.
  [[nodiscard]] Result<const IdempotencyRow*> find(const std::string& user, const IdempotencyKey& key) const;
  void put(IdempotencyRow row);
  /// Forgets keys older than `kept`.
  void tidy(TimePoint now);
  /// Hands over what has changed since the last time.
  void take(Writes& writes);

  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  using Id = std::pair<std::string, std::string>;  ///< user, key
  using Age = std::pair<TimePoint, Id>;
  void forget(const Age& age);

  IdempotencySettings settings_;
  std::map<Id, IdempotencyRow> rows_;
  std::set<Age> by_age_;
  std::map<std::string, std::set<Age>> of_users_;
  std::set<Id> changed_;
};

}  // namespace cadre::access
