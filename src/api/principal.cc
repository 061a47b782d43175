#include "api/principal.h"

namespace cadre::api {
namespace {

const Role* role_in(const Principal& who, const std::string& workspace) {
  const auto found = who.roles.find(workspace);
  return found == who.roles.end() ? nullptr : &found->second;
}

}  // namespace

bool may_read(const Principal& who, const std::string& workspace) {
  return who.is_admin || role_in(who, workspace) != nullptr;
}

bool may_create(const Principal& who, const std::string& workspace) {
  const Role* role = role_in(who, workspace);
  return who.is_admin || (role != nullptr && *role >= Role::editor);
}

bool may_change(const Principal& who, const std::string& workspace, const std::string& owner) {
  const Role* role = role_in(who, workspace);
  if (who.is_admin || (role != nullptr && *role == Role::admin)) return true;
  return role != nullptr && *role == Role::editor && owner == who.user;
}

}  // namespace cadre::api
