/// Error messages, with the remedy. They are in one place because an object that the caller may not see must give the
/// same message as one that does not exist. Safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/principal.h"
#include "base/result.h"

namespace cadre::access {

[[nodiscard]] Failure only_for_admins(std::string_view act);
[[nodiscard]] Failure not_for_tasks();
[[nodiscard]] Failure no_user(const api::Principal& who, const std::string& name);
[[nodiscard]] Failure no_workspace(const api::Principal& who, const std::string& name);
[[nodiscard]] Failure no_token();
[[nodiscard]] Failure wrong_login();

/// Errc::invalid if it is not a valid name.
[[nodiscard]] Result<void> check_name(std::string_view name);
/// A number of slots; `unlimited` is none.
[[nodiscard]] Result<std::optional<std::int64_t>> limit_from(std::int64_t max_slots);

}  // namespace cadre::access
