#include "access/words.h"

#include <algorithm>

#include "access/requests.h"

namespace cadre::access {

Failure only_for_admins(std::string_view act) {
  return fail(Errc::denied, "only an admin of the cluster may " + std::string(act) + "; ask one to do it");
}

Failure not_for_tasks() { return fail(Errc::denied, "a task token cannot be used for this; use a token of your own"); }

Failure no_user(const Principal& who, const std::string& name) {
  if (who.is_admin) return fail(Errc::not_found, "there is no user '" + name + "'; see cadre user list");
  return fail(Errc::not_found,
              "there is no user '" + name + "' that you can see; only an admin of the cluster can see all users");
}

Failure no_workspace(const Principal& who, const std::string& name) {
  if (who.is_admin) {
    return fail(Errc::not_found, "there is no workspace '" + name + "'; see cadre workspace list");
  }
  return fail(Errc::not_found,
              "there is no workspace '" + name +
                  "' that you can see; see cadre workspace list, or ask an admin of the workspace for a role");
}

/// Without the given ID: users often pass the secret instead.
Failure no_token() {
  return fail(Errc::not_found, "there is no token with this ID that you can see; see cadre token list");
}

Failure wrong_login() {
  return fail(Errc::denied,
              "wrong user name or password; try again, or ask an admin of the cluster for a new password");
}

Result<void> check_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto is_allowed = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '@';
  };
  if (name.empty()) return fail(Errc::invalid, "the name is empty; use letters, digits, - _ . @");
  if (name.size() > name_most) {
    return fail(Errc::invalid, "the name is too long; use at most " + std::to_string(name_most) + " characters");
  }
  if (!std::all_of(name.begin(), name.end(), is_allowed)) {
    return fail(Errc::invalid, "the name has characters that are not allowed; use letters, digits, - _ . @");
  }
  if (name.front() == '.' || name.front() == '-') {
    return fail(Errc::invalid,
                "the name begins with '" + std::string(1, name.front()) + "'; begin it with a letter, a digit, _ or @");
  }
  return {};
}

Result<std::optional<std::int64_t>> limit_from(std::int64_t max_slots) {
  if (max_slots == unlimited) return std::nullopt;
  if (max_slots < 0) {
    return fail(Errc::invalid, "max_slots is " + std::to_string(max_slots) + "; use 0 or more, or -1 for no limit");
  }
  return max_slots;
}

}  // namespace cadre::access
