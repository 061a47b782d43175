/// A cache of the rights of recent callers, so that the service is not asked for each request. Revoked rights stay
/// valid for a few seconds. For the thread that owns it; the time is an argument.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "access/requests.h"
#include "api/principal.h"
#include "api/service.h"
#include "base/time.h"

namespace cadre::gateway {

class Rights {
 public:
  static constexpr Duration fresh_for = std::chrono::seconds(5);

  /// The caller; null: the service must be asked, perhaps again.
  const access::Principal* fresh(const api::Credential& credential, TimePoint now) const {
    const auto found = known_.find(key_of(credential));
    return found == known_.end() || found->second.until <= now ? nullptr : &found->second.who;
  }
  /// The same, however long ago it was.
  const access::Principal* last(const api::Credential& credential) const {
    const auto found = known_.find(key_of(credential));
    return found == known_.end() ? nullptr : &found->second.who;
  }

  const access::Principal& learn(const api::Credential& credential, const access::Me& me, TimePoint now) {
    if (known_.size() >= known_max) std::erase_if(known_, [&](const auto& one) { return one.second.until <= now; });
    if (known_.size() >= known_max) known_.clear();
    Known& known = known_[key_of(credential)];
    known.who = {me.user.name, me.user.is_admin, me.user.workspaces, "", me.task};
    known.until = now + fresh_for;
    return known.who;
  }
  /// Adds an existing workspace for an admin of the cluster, who has all rights in every workspace.
  void add_workspace(const api::Credential& credential, const std::string& workspace) {
    if (const auto found = known_.find(key_of(credential)); found != known_.end()) {
      found->second.who.roles.emplace(workspace, access::Role::admin);
    }
  }
  void forget(const api::Credential& credential) { known_.erase(key_of(credential)); }

 private:
  static constexpr std::size_t known_max = 20'000;
  struct Known {
    access::Principal who;
    TimePoint until;
  };
  static std::string key_of(const api::Credential& credential) {
    return credential.lease.empty() ? "token " + credential.token_hash : "task " + credential.lease;
  }

  std::map<std::string, Known> known_;
};

}  // namespace cadre::gateway
