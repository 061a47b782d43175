#include "access/part.h"

#include <algorithm>
#include <utility>

#include "access/tables.h"

namespace cadre::access {
namespace {

/// Rows of which only the key counts, of those that are not written anew: what belongs to such a one stays.
template <class Row, class Make>
std::vector<Row> gone(const std::vector<std::string>& keys, const std::vector<Row>& written, Make make) {
  std::vector<Row> rows;
  for (const std::string& key : keys) {
    const auto is_it = [&](const Row& row) { return key_of(row) == key; };
    if (std::none_of(written.begin(), written.end(), is_it)) rows.push_back(make(key));
  }
  return rows;
}

UserRow user_named(const std::string& name) {
  UserRow row;
  row.name = name;
  return row;
}

WorkspaceRow workspace_named(const std::string& name) {
  WorkspaceRow row;
  row.name = name;
  return row;
}

AuditPage page_of(std::vector<AuditRow> rows, std::int32_t most) {
  AuditPage page;
  for (AuditRow& row : rows) {
    page.entries.push_back(
        {row.number, row.time, row.user, row.token, row.address, row.act, row.object, row.is_done, row.detail});
  }
  if (page.entries.size() == static_cast<std::size_t>(most)) page.next = page.entries.back().number;
  return page;
}

}  // namespace

Result<Rows> read_rows(api::RowReader& reader) {
  Rows rows;
  TRY_ASSIGN(users, reader.all<UserRow>());
  TRY_ASSIGN(tokens, reader.all<TokenRow>());
  TRY_ASSIGN(workspaces, reader.all<WorkspaceRow>());
  TRY_ASSIGN(members, reader.all<MemberRow>());
  TRY_ASSIGN(keys, reader.all<IdempotencyRow>());
  TRY_ASSIGN(last_audit, reader.last("audit"));
  rows.users = std::move(users);
  rows.tokens = std::move(tokens);
  rows.workspaces = std::move(workspaces);
  rows.members = std::move(members);
  rows.keys = std::move(keys);
  rows.last_audit = last_audit;
  return rows;
}

api::Writes to_rows(Writes writes) {
  api::Writes all;
  std::vector<MemberRow> members;
  for (auto& [workspace, user] : writes.members_gone) members.push_back({workspace, user, Role::viewer});
  std::vector<IdempotencyRow> keys;
  for (auto& [user, key] : writes.keys_gone) keys.push_back({user, key, "", "", "", {}});
  std::vector<TokenRow> tokens;
  for (std::string& id : writes.tokens_gone) tokens.push_back({std::move(id), "", "", "", {}, {}});
  all.remove(std::move(members));
  all.remove(std::move(keys));
  all.remove(std::move(tokens));
  all.remove(gone(writes.workspaces_gone, writes.workspaces, workspace_named));
  all.remove(gone(writes.users_gone, writes.users, user_named));
  for (const AuditRow& row : writes.audit) all.raise("audit", row.number);
  all.put(std::move(writes.users));
  all.put(std::move(writes.workspaces));
  all.put(std::move(writes.tokens));
  all.put(std::move(writes.members));
  all.put(std::move(writes.keys));
  all.put(std::move(writes.audit));
  return all;
}

api::PartType AccessPart::type(Options options) {
  api::PartType type;
  type.name = "access";
  type.operations = api::operations_of(std::type_identity<Request>{});
  type.operations.push_back(api::operation_of<ListAudit>());
  type.operations.push_back(api::operation_of<Login>());
  type.requests = api::names_of(std::type_identity<Request>{});
  for (const std::string_view name : api::names_of(std::type_identity<Special>{})) type.requests.push_back(name);
  type.load = [](api::RowReader& reader) -> Result<std::any> {
    TRY_ASSIGN(rows, read_rows(reader));
    return std::any(std::move(rows));
  };
  type.make = [options = std::move(options)](const std::any& rows, std::span<const std::unique_ptr<Part>>,
                                             const api::Now& now) {
    return std::make_unique<AccessPart>(options, *std::any_cast<Rows>(&rows), now);
  };
  return type;
}

AccessPart::AccessPart(const Options& options, const Rows& rows, const api::Now& now)
    : access_(options.settings, rows) {
  access_.found(now.wall);
  // It fails only if its user is gone; then the owner of the data folder logs in like everybody else.
  if (options.local_token) static_cast<void>(access_.put_token(*options.local_token));
}

std::optional<Result<Principal>> AccessPart::identify(const api::Credential& credential, const api::Now& now) const {
  if (!credential.lease.empty()) return std::nullopt;
  return access_.who(credential.token_hash, now.wall);
}

api::Reply AccessPart::begin_login(const std::string& user, const api::Call& call) {
  Result<Challenge> challenge = access_.begin_login(user, call.address, call.now.wall);
  if (!challenge) return api::Failed::rate_limited(challenge.error().message);
  return *std::move(challenge);
}

api::Reply AccessPart::end_login(const Access::LoginEnd& end, const api::Call& call) {
  Result<NewToken> made = access_.end_login(end, call.now.wall);
  api::Call by_user = call;
  by_user.who.user = end.user;
  audit(by_user,
        {std::string(Login::type_name), "user " + end.user, made ? std::nullopt : std::optional(made.error().message)});
  if (!made && made.error().code == Errc::denied) return api::Failed::unauthenticated(made.error().message);
  return api::reply_of(std::move(made));
}

std::optional<api::Reply> AccessPart::serve(const api::Call& call, const api::Request& request) {
  if (const auto* begin = request.as<BeginLogin>()) return begin_login(begin->user, call);
  if (const auto* end = request.as<EndLogin>()) return end_login(end->end, call);
  if (request.as<GetPassword>() != nullptr) {
    // Rate-limited like a login: the caller can try passwords with it.
    if (call.who.task.empty()) return begin_login(call.who.user, call);
    return api::Failed{Errc::denied, "the token of a task is not valid for this request; use your own token", {}};
  }
  if (const auto* list = request.as<ListAudit>()) {
    if (!call.who.is_admin) return api::Failed{Errc::denied, "only admins of the cluster may read the audit log", {}};
    outcome_.effects.emplace_back(ReadAudit{call.id, *list});
    return std::nullopt;
  }
  const std::optional<Request> choice = api::choice_of<Request>(request);
  if (!choice) return api::Failed{Errc::invalid, "unknown request " + std::string(request.name()), {}};
  Result<Reply> done = access_.ask(call.who, *choice, call.now.wall);
  if (!done) return api::Reply(done.error());
  api::Reply reply(*std::move(done));
  if (const auto* token = reply.as<NewToken>()) reply.set_created({"token", token->about.id});
  if (const auto* user = request.as<CreateUser>()) reply.set_created({"user", user->name});
  if (const auto* workspace = request.as<CreateWorkspace>()) reply.set_created({"workspace", workspace->name});
  return reply;
}

std::optional<api::Reply> AccessPart::serve_created(const api::Call& call, const api::Created& created) {
  if (created.noun == "token") return api::reply_of(access_.token_made(created.id));
  if (created.noun == "user") return serve(call, GetUser{created.id});
  if (created.noun == "workspace") return serve(call, GetWorkspace{created.id});
  return std::nullopt;
}

void AccessPart::hear(const std::any& news, const api::Now&) {
  const auto* read = std::any_cast<AuditWasRead>(&news);
  if (read == nullptr) return;
  outcome_.replies.emplace_back(
      read->call, read->rows ? api::Reply(page_of(*read->rows, read->most)) : api::Reply(read->rows.error()));
}

api::Outcome AccessPart::settle(const api::Now&) {
  outcome_.writes = to_rows(access_.take());
  return std::exchange(outcome_, {});
}

void AccessPart::audit(const api::Call& call, api::AuditEntry entry) {
  access_.audit({0, call.now.time, call.who.user, call.who.task.empty() ? call.who.token : "task " + call.who.task,
                 call.address, std::move(entry.act), std::move(entry.object), !entry.refused,
                 entry.refused.value_or("")});
}

Result<std::optional<api::Created>> AccessPart::created_by(const std::string& user,
                                                           const api::IdempotencyKey& key) const {
  TRY_ASSIGN(row, access_.created_by(user, key));
  if (row == nullptr) return std::optional<api::Created>();
  return std::optional(api::Created{row->noun, row->object});
}

void AccessPart::remember(const api::Call& call, const api::IdempotencyKey& key, const api::Created& created) {
  access_.remember({call.who.user, key.key, key.fingerprint, created.noun, created.id, call.now.time});
}

}  // namespace cadre::access
