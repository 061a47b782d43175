#include "access/idempotency.h"

namespace cadre::access {

IdempotencyKeys::IdempotencyKeys(IdempotencySettings settings, const std::vector<IdempotencyRow>& rows)
    : settings_(settings) {
  for (const IdempotencyRow& row : rows) put(row);
  std::erase_if(changed_, [&](const Id& id) { return rows_.contains(id); });
}

Result<const IdempotencyRow*> IdempotencyKeys::find(const std::string& user, const IdempotencyKey& key) const {
  const auto found = rows_.find({user, key.key});
  if (found == rows_.end()) return nullptr;
  if (found->second.fingerprint == key.fingerprint) return &found->second;
  return fail(Errc::conflict, "Idempotency-Key '" + key.key + "' was already used for another request, which created " +
                                  found->second.noun + " " + found->second.object +
                                  "; use a unique key for each request");
}

void IdempotencyKeys::put(IdempotencyRow row) {
  const Id id{row.user, row.key};
  if (const auto before = rows_.find(id); before != rows_.end()) forget({before->second.created, id});
  std::set<Age>& own = of_users_[row.user];
  own.insert({row.created, id});
  by_age_.insert({row.created, id});
  changed_.insert(id);
  rows_.emplace(id, std::move(row));
  while (own.size() > settings_.of_user_max) forget(Age(*own.begin()));  // at least one is left
}

void IdempotencyKeys::forget(const Age& age) {
  const Id& id = age.second;
  by_age_.erase(age);
  if (const auto own = of_users_.find(id.first); own != of_users_.end()) {
    own->second.erase(age);
    if (own->second.empty()) of_users_.erase(own);
  }
  rows_.erase(id);
  changed_.insert(id);
}

void IdempotencyKeys::tidy(TimePoint now) {
  while (!by_age_.empty() && now - by_age_.begin()->first >= settings_.kept) forget(Age(*by_age_.begin()));
}

void IdempotencyKeys::take(Writes& writes) {
  for (const Id& id : changed_) {
    const auto found = rows_.find(id);
    found == rows_.end() ? void(writes.keys_gone.push_back(id)) : void(writes.keys.push_back(found->second));
  }
  changed_.clear();
}

}  // namespace cadre::access
