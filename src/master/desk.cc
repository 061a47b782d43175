#include <algorithm>
#include <utility>

#include "base/overloaded.h"
#include "describe/describe.h"
#include "master/master.h"

namespace cadre::master {
namespace {

using cluster::Told;
namespace requests = cluster::requests;

Told failed(const Error& error) { return requests::Reply(requests::Failed{error.code, error.message, {}}); }

const requests::Failed* failure_in(const Told& told) {
  const auto* reply = std::get_if<requests::Reply>(&told);
  return reply == nullptr ? nullptr : std::get_if<requests::Failed>(reply);
}

/// To what something is to be done, as far as the request names it: `job 17`, `workspace vision, user ann`.
template <class T>
std::string object_of(const T& request) {
  const describe::Value tree = describe::write(request);
  std::string text;
  for (const char* key : {"job", "task", "session", "agent", "slot", "workspace", "user", "token", "name", "pool"}) {
    const describe::Value* value = tree.find(key);
    if (value == nullptr || value->template as<describe::Value::Map>() != nullptr) continue;
    const auto* name = value->template as<std::string>();
    if (name != nullptr && name->empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(key) + " " + (name != nullptr ? *name : describe::to_json(*value));
  }
  return text;
}

/// The workspace in which a job is to be, if the request makes one.
const std::string* workspace_wanted(const requests::Request& request) {
  if (const auto* submit = std::get_if<requests::Submit>(&request)) return &submit->job.workspace;
  if (const auto* run = std::get_if<requests::RunTask>(&request)) return &run->workspace;
  return nullptr;
}

/// Jobs that are read from the database for one page.
constexpr std::int32_t archived_most = 500;

/// The job that it is about, if it is about one.
std::optional<cluster::JobId> job_in(const requests::Request& request) {
  return std::visit(
      [](const auto& one) -> std::optional<cluster::JobId> {
        if constexpr (requires { cluster::JobId(one.job); }) return one.job;
        if constexpr (requires { cluster::TaskId(one.task); }) return one.task.job;
        return std::nullopt;
      },
      request);
}

cluster::control::Job job_of(records::ArchivedJob archived) {
  cluster::control::Job job{std::move(archived.row), {}};
  for (cluster::control::TaskRow& task : archived.tasks) job.tasks.emplace(task.id.member, std::move(task));
  return job;
}

template <class T>
constexpr bool is_in_audit() {
  if constexpr (api::Routed<T>) return T::route.is_in_audit();
  return false;
}

bool is_keyed(const cluster::Asked& asked) {
  const auto of_choice = [](const auto& choice) {
    return std::visit(
        [](const auto& each) {
          if constexpr (api::Routed<std::remove_cvref_t<decltype(each)>>) return each.route.is_keyed();
          return false;
        },
        choice);
  };
  if (const auto* request = std::get_if<requests::Request>(&asked)) return of_choice(*request);
  const auto* request = std::get_if<access::Request>(&asked);
  return request != nullptr && of_choice(*request);
}

}  // namespace

void Master::ask(Asker asker, cluster::Credential credential, cluster::Asked asked) {
  ground_.loop.post([this, one = FromDoor{asker, std::move(credential), std::move(asked)}]() mutable {
    const Asker who = one.asker;
    const auto unavailable = [&](const std::string& why) { tell_(who, failed({Errc::unavailable, why})); };
    if (!obstacle_.empty())
      return unavailable("the master can write nothing now, so it decides nothing" + obstacle_for(one.credential));
    if (!inbox_.push(std::move(one))) unavailable("the master is overloaded or about to stop; try again");
  });
}

std::string Master::obstacle_for(const cluster::Credential& credential) const {
  const Result<access::Principal> who = identify(credential);
  return who && who->is_admin ? ": " + obstacle_ : "; its admins can see why";
}

void Master::forget(Asker asker) {
  ground_.loop.post([this, asker] { static_cast<void>(inbox_.push(Left{asker})); });  // if it is closed, all is over
}

void Master::tell_later(Asker asker, Told told) { told_.emplace_back(asker, std::move(told)); }

Result<access::Principal> Master::identify(const cluster::Credential& credential) const {
  if (!credential.lease) return access_.who(credential.token_hash, ground_.calendar.wall());
  const cluster::LeaseId lease = *credential.lease;
  const auto* task = control_.ledger().find(lease.task);
  const auto held = task == nullptr ? std::nullopt : cluster::lease::current(task->lease);
  if (!held || held->epoch != lease.epoch) {
    return fail(Errc::denied, "this is the token of a task that has ended; log in, or ask for a token");
  }
  const cluster::control::JobRow& job = control_.ledger().find(lease.task.job)->row;
  return access_.who_of_task(job.owner, job.spec.workspace, to_string(lease.task));
}

void Master::attend(const FromDoor& one, TimePoint now) {
  if (const auto* begin = std::get_if<cluster::BeginLogin>(&one.asked)) return begin_login(one, *begin);
  if (const auto* end = std::get_if<access::Access::LoginEnd>(&one.asked)) return end_login(one, *end, now);
  Result<access::Principal> who = identify(one.credential);
  if (!who) {
    ++strangers_;
    return tell_later(one.asker, cluster::Unknown{who.error().message});
  }
  const Guest guest{one.asker, *std::move(who), one.credential.address};
  const access::IdempotencyKey& key = one.credential.idempotency;
  const bool has_key = !key.key.empty() && is_keyed(one.asked);
  if (has_key && answer_repeated(guest, key, now)) return;
  const auto remember = [&](std::optional<Created> created) {
    if (!created || !has_key) return;
    access_.remember({guest.who.user, key.key, key.fingerprint, created->noun, created->object, now});
  };
  std::visit(overloaded{
                 [&](const requests::Request& request) { remember(serve(guest, request, now)); },
                 [&](const access::Request& request) { remember(serve(guest, request, now)); },
                 [&](const access::ListAudit& request) { ground_.loop.spawn(list_audit(guest, request)); },
                 [&](const cluster::GetPassword&) { check_password(guest); },
                 [](const auto&) {},
             },
             one.asked);
}

bool Master::answer_repeated(const Guest& guest, const access::IdempotencyKey& key, TimePoint now) {
  Result<const access::IdempotencyRow*> found = access_.created_by(guest.who.user, key);
  if (!found) return tell_later(guest.asker, failed(found.error())), true;
  if (*found == nullptr) return false;
  const access::IdempotencyRow& row = **found;
  if (row.noun == "job") {
    static_cast<void>(serve(guest, requests::GetJob{{std::stoull(row.object)}, std::nullopt}, now));
    return true;
  }
  const auto ask = [&](const access::Request& request) { return access_.ask(guest.who, request, now); };
  Result<access::Reply> reply = row.noun == "user"        ? ask(access::GetUser{row.object})
                                : row.noun == "workspace" ? ask(access::GetWorkspace{row.object})
                                                          : access_.token_made(row.object);
  tell_later(guest.asker, reply ? Told(*std::move(reply)) : failed(reply.error()));
  return true;
}

std::optional<Master::Created> Master::serve(const Guest& guest, const requests::Request& request, TimePoint now) {
  if (const auto* join = std::get_if<requests::MakeJoinToken>(&request)) {
    ground_.loop.spawn(make_join_token(guest, *join));
    return std::nullopt;
  }
  const std::optional<cluster::JobId> id = job_in(request);
  if (ground_.archive != nullptr && id && control_.ledger().may_be_archived(*id)) {
    ground_.loop.spawn(serve_archived(guest, request, *id));
    return std::nullopt;
  }
  const auto* list = std::get_if<requests::ListJobs>(&request);
  if (ground_.archive != nullptr && list != nullptr && control_.list_range(*list).has_archived) {
    ground_.loop.spawn(list_archived(guest, *list));
    return std::nullopt;
  }
  return serve_now(guest, request, nullptr, now);
}

loop::Task<void> Master::serve_archived(Guest guest, requests::Request request, cluster::JobId id) {
  Result<std::optional<records::ArchivedJob>> found =
      co_await ground_.archive_pool->run([this, id] { return ground_.archive->find(id); });
  if (!found) {
    tell_(guest.asker, failed(found.error()));
    co_return;
  }
  std::optional<cluster::control::Job> job;
  if (*found) job = job_of(**std::move(found));
  static_cast<void>(serve_now(guest, request, job ? &*job : nullptr, ground_.calendar.now()));
  wake(guest.asker);
}

loop::Task<void> Master::list_archived(Guest guest, requests::ListJobs request) {
  request.most = std::min(request.most, archived_most);
  const cluster::control::Control::JobRange range = control_.list_range(request);
  const records::ArchiveQuery query{range.from.value, range.before.value, request.workspace, request.owner,
                                    request.most + std::int64_t{1}};
  Result<records::ArchivePage> found =
      co_await ground_.archive_pool->run([this, query] { return ground_.archive->list(query); });
  if (!found) {
    tell_(guest.asker, failed(found.error()));
    co_return;
  }
  std::vector<cluster::control::Job> jobs;
  for (records::ArchivedJob& one : found->jobs) jobs.push_back(job_of(std::move(one)));
  // One job more than the page has says that there may be more below it.
  if (found->is_cut) request.most = std::min(request.most, static_cast<std::int32_t>(jobs.size()) - 1);
  request.before = range.before;
  tell_later(guest.asker, requests::Reply(control_.list_jobs(guest.who, request, jobs)));
  wake(guest.asker);
}

void Master::wake(Asker asker) {
  if (!inbox_.push(Tick{})) tell_(asker, failed({Errc::unavailable, "the master is about to stop"}));
}

std::optional<Master::Created> Master::serve_now(const Guest& guest, const requests::Request& request,
                                                 const cluster::control::Job* archived, TimePoint now) {
  const std::string* workspace = workspace_wanted(request);
  std::optional<Told> answer;
  if (workspace != nullptr && !access_.has_workspace(*workspace)) {
    answer =
        failed({Errc::not_found, "workspace: there is no workspace '" + *workspace + "'; see cadre workspace list"});
    tell_later(guest.asker, *answer);
  } else {
    const auto* remove = std::get_if<requests::RemoveAgent>(&request);
    const bool has_only_key = remove != nullptr && guest.who.is_admin && has_key(remove->agent) &&
                              !control_.ledger().agents().contains(remove->agent);
    if (has_only_key) {
      control_.revoke_key(guest.asker, remove->agent);
    } else if (archived != nullptr) {
      control_.ask(guest.asker, guest.who, request, *archived, now);
    } else {
      control_.ask(guest.asker, guest.who, request, now);
    }
    if (const requests::Reply* reply = control_.answered(guest.asker)) answer = *reply;
  }
  std::visit(
      [&](const auto& each) {
        if constexpr (is_in_audit<std::remove_cvref_t<decltype(each)>>()) {
          const auto* reply = answer ? std::get_if<requests::Reply>(&*answer) : nullptr;
          const auto* job = reply == nullptr ? nullptr : std::get_if<requests::JobView>(reply);
          std::string object = job == nullptr ? object_of(each) : "job " + std::to_string(job->id.value);
          audit(guest, each.type_name, std::move(object), answer ? &*answer : nullptr, now);
        }
      },
      request);
  const auto* reply = answer ? std::get_if<requests::Reply>(&*answer) : nullptr;
  const auto* job = reply == nullptr ? nullptr : std::get_if<requests::JobView>(reply);
  if (job == nullptr) return std::nullopt;
  return Created{"job", std::to_string(job->id.value)};
}

std::optional<Master::Created> Master::serve(const Guest& guest, const access::Request& request, TimePoint now) {
  const auto* gone = std::get_if<access::DeleteWorkspace>(&request);
  const auto* user_gone = std::get_if<access::DeleteUser>(&request);
  const std::int64_t left = user_gone != nullptr && guest.who.is_admin ? control_.jobs_of(user_gone->user) : 0;
  Result<access::Reply> reply =
      left > 0 ? Failure(Error{Errc::conflict,
                               "user '" + user_gone->user + "' has " + std::to_string(left) +
                                   " jobs that have not ended, which would run without a quota; stop them first, and "
                                   "keep the user from submitting more with: cadre user set " +
                                   user_gone->user + " --inactive"})
      : gone != nullptr && guest.who.is_admin && control_.is_used(gone->workspace)
          ? Failure(Error{Errc::conflict, "there are jobs in workspace '" + gone->workspace +
                                              "' that have not ended; stop them first: cadre job list --workspace " +
                                              gone->workspace})
          : access_.ask(guest.who, request, ground_.calendar.wall());
  if (reply) pass_on_quota(request);
  const Told told = reply ? Told(*std::move(reply)) : failed(reply.error());
  std::visit(
      [&](const auto& each) {
        if constexpr (is_in_audit<std::remove_cvref_t<decltype(each)>>()) {
          // Who names a token that is not there may have pasted its secret.
          const bool may_be_secret =
              std::holds_alternative<access::RevokeToken>(request) && failure_in(told) != nullptr;
          audit(guest, each.type_name, may_be_secret ? "" : object_of(each), &told, now);
        }
      },
      request);
  tell_later(guest.asker, told);
  const auto* made = std::get_if<access::Reply>(&told);
  if (made == nullptr) return std::nullopt;
  if (const auto* token = std::get_if<access::NewToken>(made)) return Created{"token", token->about.id};
  if (const auto* user = std::get_if<access::CreateUser>(&request)) return Created{"user", user->name};
  if (const auto* workspace = std::get_if<access::CreateWorkspace>(&request)) {
    return Created{"workspace", workspace->name};
  }
  return std::nullopt;
}

void Master::pass_on_quota(const access::Request& request) {
  const auto of_user = [&](const std::string& name) {
    control_.set_quota(cluster::account_of_user(name), access_.quota_of_user(name));
  };
  const auto of_workspace = [&](const std::string& name) {
    control_.set_quota(cluster::account_of_workspace(name), access_.quota_of_workspace(name));
  };
  std::visit(overloaded{
                 [&](const access::CreateUser& one) { of_user(one.name); },
                 [&](const access::SetUser& one) { of_user(one.user); },
                 [&](const access::DeleteUser& one) { of_user(one.user); },
                 [&](const access::CreateWorkspace& one) { of_workspace(one.name); },
                 [&](const access::SetWorkspace& one) { of_workspace(one.workspace); },
                 [&](const access::DeleteWorkspace& one) { of_workspace(one.workspace); },
                 [](const auto&) {},
             },
             request);
}

void Master::begin_login(const FromDoor& one, const cluster::BeginLogin& request) {
  Result<access::Challenge> challenge =
      access_.begin_login(request.user, one.credential.address, ground_.calendar.wall());
  tell_later(one.asker, challenge ? Told(*std::move(challenge)) : cluster::MustWait{challenge.error().message});
}

/// Who asks for it guesses like who logs in, and is slowed down like him.
void Master::check_password(const Guest& guest) {
  if (!guest.who.task.empty()) {
    return tell_later(guest.asker, failed({Errc::denied, "the token of a task is not good for this; use your own"}));
  }
  Result<access::Challenge> challenge = access_.begin_login(guest.who.user, guest.address, ground_.calendar.wall());
  tell_later(guest.asker, challenge ? Told(*std::move(challenge)) : cluster::MustWait{challenge.error().message});
}

void Master::end_login(const FromDoor& one, const access::Access::LoginEnd& request, TimePoint now) {
  Result<access::NewToken> made = access_.end_login(request, ground_.calendar.wall());
  const Told told = made ? Told(access::Reply(*std::move(made))) : failed(made.error());
  if (!made) ++strangers_;
  const Guest guest{one.asker,
                    {.user = request.user, .is_admin = false, .roles = {}, .token = "", .task = ""},
                    one.credential.address};
  audit(guest, access::Login::type_name, "user " + request.user, &told, now);
  tell_later(one.asker, told);
}

void Master::audit(const Guest& guest, std::string_view act, std::string object, const Told* answer, TimePoint now) {
  const requests::Failed* no = answer == nullptr ? nullptr : failure_in(*answer);
  const std::string token = guest.who.task.empty() ? guest.who.token : "task " + guest.who.task;
  access_.audit({0, now, guest.who.user, token, guest.address, std::string(act), std::move(object), no == nullptr,
                 no == nullptr ? "" : no->message});
}

loop::Task<void> Master::list_audit(Guest guest, access::ListAudit request) {
  if (!guest.who.is_admin) {
    tell_(guest.asker, failed({Errc::denied, "only admins of the cluster may read the audit log"}));
    co_return;
  }
  Result<std::vector<access::AuditRow>> rows =
      co_await ground_.pool.run([&] { return ground_.records.audit_before(request.before, request.most); });
  if (!rows) {
    tell_(guest.asker, failed(rows.error()));
    co_return;
  }
  access::AuditPage page;
  for (access::AuditRow& row : *rows) {
    page.entries.push_back(
        {row.number, row.time, row.user, row.token, row.address, row.act, row.object, row.is_done, row.detail});
  }
  if (page.entries.size() == static_cast<std::size_t>(request.most)) page.next = page.entries.back().number;
  tell_(guest.asker, std::move(page));
}

loop::Task<void> Master::make_join_token(Guest guest, requests::MakeJoinToken request) {
  Result<std::string> token = fail(Errc::denied, "only admins of the cluster may let agents join");
  if (guest.who.is_admin && !make_join_token_) {
    token = fail(Errc::conflict, "this master serves its own host only; start it with --listen HOST:PORT");
  } else if (guest.who.is_admin) {
    token = co_await make_join_token_(request);
  }
  const Told told = token ? Told(requests::Reply(requests::Text{*token})) : failed(token.error());
  audit(guest, request.type_name, "pool " + request.pool, &told, ground_.calendar.now());
  tell_later(guest.asker, told);  // once that is written
  wake(guest.asker);
}

}  // namespace cadre::master
