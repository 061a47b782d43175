/// The caller of a request and their rights. Values; safe on any thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace cadre::api {

/// In one workspace: reads; also creates, and changes and stops their own objects; changes everything.
enum class Role : std::uint8_t { viewer, editor, admin };
constexpr auto enum_names(Role) {
  return std::array{std::pair{Role::viewer, "viewer"}, std::pair{Role::editor, "editor"},
                    std::pair{Role::admin, "admin"}};
}

/// The workspace that always exists.
inline constexpr const char* default_workspace = "default";

/// An authenticated caller.
struct Principal {
  std::string user;
  bool is_admin = false;              ///< of the cluster: may see and change everything
  std::map<std::string, Role> roles;  ///< by workspace
  std::string token;                  ///< its id; never its secret
  std::string task;                   ///< if it is the token of a task, which one
  std::uint64_t epoch = 0;            ///< of the lease of that task

  bool operator==(const Principal&) const = default;
};

/// What the caller may do with an object in a workspace, which belongs to a user.
[[nodiscard]] bool may_read(const Principal& who, const std::string& workspace);
[[nodiscard]] bool may_create(const Principal& who, const std::string& workspace);
[[nodiscard]] bool may_change(const Principal& who, const std::string& workspace, const std::string& owner);

}  // namespace cadre::api
