#include "access/views.h"

namespace cadre::access {

UserView view_of(const User& user) {
  return {user.row.name,      user.row.is_admin, user.row.is_active, !user.row.password.empty(),
          user.row.max_slots, user.roles,        user.row.created,   user.row.unix_user};
}

TokenView view_of(const TokenRow& token) {
  const auto expires = token.expires == TimePoint() ? std::nullopt : std::optional(token.expires);
  return {token.id, token.user, token.name, token.created, expires};
}

WorkspaceView view_of(const Workspace& workspace) {
  return {workspace.row.name, workspace.row.max_slots, workspace.members, workspace.row.created};
}

}  // namespace cadre::access
