/// Which public keys a hub lets in; may change at any time. For the thread of the loop whose hub holds it.
#pragma once

#include <set>
#include <utility>

#include "net/keys.h"

namespace cadre::net {

class Admission {
 public:
  /// Whoever knows the hub's public key, but those who are revoked.
  static Admission anyone() { return {Rule::all_but, {}}; }
  /// These keys, and those who are allowed later.
  static Admission only(std::set<PublicKey> keys) { return {Rule::none_but, std::move(keys)}; }

  [[nodiscard]] bool admits(const PublicKey& key) const { return listed_.contains(key) == (rule_ == Rule::none_but); }
  [[nodiscard]] bool admits_anyone() const { return rule_ == Rule::all_but; }
  void allow(const PublicKey& key) { list(key, Rule::none_but); }
  void revoke(const PublicKey& key) { list(key, Rule::all_but); }

 private:
  enum class Rule : std::uint8_t { all_but, none_but };
  Admission(Rule rule, std::set<PublicKey> keys) : rule_(rule), listed_(std::move(keys)) {}
  void list(const PublicKey& key, Rule under) {
    if (rule_ == under) {
      listed_.insert(key);
    } else {
      listed_.erase(key);
    }
  }

  Rule rule_;
  std::set<PublicKey> listed_;
};

}  // namespace cadre::net
