#include "access/access.h"
#include "access/views.h"
#include "access/words.h"

namespace cadre::access {

Result<const Workspace*> Access::see_workspace(const Principal& who, const std::string& name) const {
  const Workspace* workspace = directory_.find_workspace(name);
  if (workspace == nullptr || !may_read(who, name)) return no_workspace(who, name);
  return workspace;
}

Result<const Workspace*> Access::govern(const Principal& who, const std::string& workspace) const {
  TRY_ASSIGN(found, see_workspace(who, workspace));
  const auto role = who.roles.find(workspace);
  if (who.is_admin || (role != who.roles.end() && role->second == Role::admin)) return found;
  return fail(Errc::denied, "only an admin of workspace '" + workspace +
                                "' or of the cluster may change its members; ask one to do it");
}

Result<Reply> Access::answer(const Caller& caller, const ListWorkspaces&) {
  Workspaces list;
  for (const auto& [name, workspace] : directory_.workspaces()) {
    if (may_read(caller.who, name)) list.workspaces.push_back(view_of(workspace));
  }
  return list;
}

Result<Reply> Access::answer(const Caller& caller, const GetWorkspace& request) {
  TRY_ASSIGN(workspace, see_workspace(caller.who, request.workspace));
  return view_of(*workspace);
}

Result<Reply> Access::answer(const Caller& caller, const CreateWorkspace& request) {
  if (!caller.who.is_admin) return only_for_admins("create workspaces");
  TRY(check_name(request.name));
  TRY_ASSIGN(max_slots, limit_from(request.max_slots));
  if (has_workspace(request.name)) {
    return fail(Errc::conflict,
                "workspace '" + request.name + "' already exists; choose another name, or change that workspace");
  }
  if (static_cast<std::int64_t>(directory_.workspaces().size()) >= settings_.workspaces_max) {
    return fail(Errc::conflict, "there are " + std::to_string(settings_.workspaces_max) +
                                    " workspaces, which is the limit; delete some first");
  }
  directory_.put_workspace({request.name, max_slots, caller.now});
  return view_of(*directory_.find_workspace(request.name));
}

Result<Reply> Access::answer(const Caller& caller, const SetWorkspace& request) {
  TRY_ASSIGN(workspace, see_workspace(caller.who, request.workspace));
  if (!caller.who.is_admin) return only_for_admins("change workspaces");
  WorkspaceRow row = workspace->row;
  if (request.max_slots) {
    TRY_ASSIGN(max_slots, limit_from(*request.max_slots));
    row.max_slots = max_slots;
  }
  if (row != workspace->row) directory_.put_workspace(std::move(row));
  return view_of(*directory_.find_workspace(request.workspace));
}

Result<Reply> Access::answer(const Caller& caller, const DeleteWorkspace& request) {
  TRY(see_workspace(caller.who, request.workspace));
  if (!caller.who.is_admin) return only_for_admins("delete workspaces");
  if (request.workspace == default_workspace) {
    return fail(Errc::conflict,
                std::string("workspace '") + default_workspace + "' cannot be deleted; remove its members instead");
  }
  directory_.remove_workspace(request.workspace);
  return Done{};
}

Result<Reply> Access::answer(const Caller& caller, const SetMember& request) {
  TRY_ASSIGN(workspace, govern(caller.who, request.workspace));
  if (directory_.find_user(request.user) == nullptr) {
    return fail(Errc::not_found,
                "there is no user '" + request.user + "'; an admin of the cluster can create the user");
  }
  const auto before = workspace->members.find(request.user);
  if (before == workspace->members.end() || before->second != request.role) {
    directory_.put_member({request.workspace, request.user, request.role});
  }
  return view_of(*workspace);
}

Result<Reply> Access::answer(const Caller& caller, const RemoveMember& request) {
  TRY_ASSIGN(workspace, govern(caller.who, request.workspace));
  if (!workspace->members.contains(request.user)) {
    return fail(Errc::not_found, "user '" + request.user + "' has no role in workspace '" + request.workspace +
                                     "'; see cadre workspace describe");
  }
  directory_.remove_member(request.workspace, request.user);
  return Done{};
}

}  // namespace cadre::access
