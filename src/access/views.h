/// Rows as they are shown. Safe on any thread.
#pragma once

#include "access/directory.h"
#include "access/requests.h"

namespace cadre::access {

[[nodiscard]] UserView view_of(const User& user);
[[nodiscard]] TokenView view_of(const TokenRow& token);
[[nodiscard]] WorkspaceView view_of(const Workspace& workspace);

}  // namespace cadre::access
