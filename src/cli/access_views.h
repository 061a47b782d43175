/// Users, tokens, workspaces and the audit log as tables for people. Pure but for its arguments; one thread at a time.
#pragma once

#include <string>
#include <vector>

#include "access/requests.h"
#include "cli/views.h"

namespace cadre::cli {

std::string users_text(const std::vector<access::UserView>& users, const Showing& showing);
std::string user_text(const access::UserView& user, const Showing& showing);
std::string tokens_text(const std::vector<access::TokenView>& tokens, const Showing& showing);
std::string workspaces_text(const std::vector<access::WorkspaceView>& workspaces, const Showing& showing);
std::string workspace_text(const access::WorkspaceView& workspace, const Showing& showing);
std::string audit_text(const std::vector<access::AuditEntry>& entries, const Showing& showing);

}  // namespace cadre::cli
