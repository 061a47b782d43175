#include "cli/access_views.h"

#include "cli/facts.h"
#include "cli/table.h"
#include "cli/words.h"
#include "describe/describe.h"

namespace cadre::cli {
namespace {

using access::Role;

std::string limit_words(const std::optional<std::int64_t>& max_slots) {
  return max_slots ? std::to_string(*max_slots) : "no limit";
}

/// `ann (editor), bob (viewer)`
std::string roles_words(const std::map<std::string, Role>& roles) {
  std::string text;
  for (const auto& [name, role] : roles) {
    text += (text.empty() ? "" : ", ") + name + " (" + std::string(describe::name_of(role)) + ")";
  }
  return text;
}

std::string state_words(const access::UserView& user) {
  return std::string(user.is_active ? "active" : "inactive") + (user.is_admin ? ", admin of the cluster" : "");
}

std::string expiry_words(const std::optional<TimePoint>& expires, TimePoint now) {
  if (!expires) return "never";
  return *expires <= now ? "has expired" : "in " + short_duration(*expires - now);
}

}  // namespace

std::string users_text(const std::vector<access::UserView>& users, const Showing& showing) {
  Table table({"USER", "STATE", "PASSWORD", "MAX SLOTS", "WORKSPACES", "CREATED"});
  for (const access::UserView& user : users) {
    table.add({user.name, state_words(user), user.has_password ? "yes" : "none", limit_words(user.max_slots),
               roles_words(user.workspaces), ago(user.created, showing.now)});
  }
  return table.to_text(showing.coloured);
}

std::string user_text(const access::UserView& user, const Showing& showing) {
  Facts facts;
  facts.add("user", user.name);
  facts.add("state", state_words(user));
  facts.add("password",
            user.has_password ? "yes" : "none; create a token with: cadre token create --user " + user.name);
  facts.add("max slots", limit_words(user.max_slots));
  if (!user.unix_user.empty()) facts.add("unix user", user.unix_user);
  facts.add("workspaces", user.workspaces.empty() ? "none" : roles_words(user.workspaces));
  facts.add("created", ago(user.created, showing.now));
  return facts.to_text(showing.coloured);
}

std::string tokens_text(const std::vector<access::TokenView>& tokens, const Showing& showing) {
  if (tokens.empty()) return "no tokens; create one with: cadre token create\n";
  Table table({"TOKEN", "USER", "NAME", "CREATED", "EXPIRES"});
  for (const access::TokenView& token : tokens) {
    table.add(
        {token.id, token.user, token.name, ago(token.created, showing.now), expiry_words(token.expires, showing.now)});
  }
  return table.to_text(showing.coloured);
}

std::string workspaces_text(const std::vector<access::WorkspaceView>& workspaces, const Showing& showing) {
  if (workspaces.empty()) return "you are not in a workspace; an admin can add you to one with: cadre workspace add\n";
  Table table({"WORKSPACE", "MAX SLOTS", "MEMBERS", "CREATED"});
  for (const access::WorkspaceView& one : workspaces) {
    table.add({one.name, limit_words(one.max_slots), roles_words(one.members), ago(one.created, showing.now)});
  }
  return table.to_text(showing.coloured);
}

std::string workspace_text(const access::WorkspaceView& workspace, const Showing& showing) {
  Facts facts;
  facts.add("workspace", workspace.name);
  facts.add("max slots", limit_words(workspace.max_slots));
  facts.add("members", workspace.members.empty() ? "none" : roles_words(workspace.members));
  facts.add("created", ago(workspace.created, showing.now));
  return facts.to_text(showing.coloured);
}

std::string audit_text(const std::vector<access::AuditEntry>& entries, const Showing& showing) {
  if (entries.empty()) return "the audit log is empty\n";
  Table table({"WHEN", "USER", "TOKEN", "FROM", "ACTION", "OBJECT", "OUTCOME"});
  for (const access::AuditEntry& entry : entries) {
    table.add({ago(entry.time, showing.now), entry.user, entry.token, entry.address, entry.act, entry.object,
               entry.is_done ? "done" : "refused: " + entry.detail});
  }
  return table.to_text(showing.coloured);
}

}  // namespace cadre::cli
