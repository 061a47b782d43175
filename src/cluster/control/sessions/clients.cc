#include "cluster/control/sessions/clients.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "base/rounded.h"
#include "cluster/control/jobs/job_views.h"

namespace cadre::cluster::control {
namespace {

/// Maximum number of jobs in one response; the next request returns the others.
constexpr std::size_t told_at_once = 1'000;

}  // namespace

void Clients::restore(const Job& job, TimePoint now) {
  const bool is_attended = !job.row.spec.session.value.empty() && job.row.why.empty();
  if (!is_attended || sessions_.find(job.row.spec.session) != nullptr) return;
  sessions_.open(job.row.spec.session, job.row.owner, now).since = job.row.submitted;
}

requests::SessionNews Clients::news_of(const SessionId& id, const access::Principal& who, std::uint64_t seen) const {
  requests::SessionNews news{ledger_.last_version(), settings_.session_timeout, settings_.beat_every, {}};
  const bool is_of_another_master = seen > ledger_.last_version();
  const auto& jobs = ledger_.jobs_of(id);
  for (auto at = jobs.upper_bound(is_of_another_master ? 0 : seen); at != jobs.end(); ++at) {
    if (news.jobs.size() == told_at_once) {
      news.version = std::prev(at)->first;
      break;
    }
    const Job& job = *ledger_.find(at->second);
    if (access::may_read(who, job.row.spec.workspace)) news.jobs.push_back(view(job));
  }
  return news;
}

Result<std::optional<LeaseId>> Clients::parent_of(const Caller& caller) const {
  if (caller.who.task.empty()) return std::optional<LeaseId>();
  const Result<TaskId> id = parse_task_id(caller.who.task);
  const TaskRow* task = id ? ledger_.find(*id) : nullptr;
  const auto held = task == nullptr ? std::nullopt : lease::current(task->lease);
  if (!held) return cadre::fail(Errc::conflict, "task " + caller.who.task + " has ended and cannot open a session");
  const JobRow& job = ledger_.find(id->job)->row;
  if (ends_at_once(job) && std::holds_alternative<lease::Stopping>(task->lease.stage)) {
    return cadre::fail(Errc::conflict, "task " + caller.who.task + " is stopping and cannot open a session");
  }
  return std::optional(LeaseId{*id, held->epoch});
}

void Clients::close_orphans(TimePoint now) {
  for (auto over = sessions_.take_over(); !over.empty(); over = sessions_.take_over()) {
    for (const LeaseId& lease : over) {
      for (const SessionId& id : sessions_.within(lease)) {
        close(id, "its client, task " + to_string(lease.task) + ", has ended", now);
      }
    }
  }
}

std::optional<Error> Clients::obstacle_to_opening(const Caller& caller) const {
  if (static_cast<std::int64_t>(sessions_.all().size()) >= settings_.sessions_max) {
    return Error{Errc::unavailable,
                 "there are already " + std::to_string(settings_.sessions_max) + " sessions; raise sessions_max"};
  }
  const auto is_own = [&](const auto& one) { return one.second.owner == caller.who.user; };
  if (std::count_if(sessions_.all().begin(), sessions_.all().end(), is_own) >= settings_.sessions_of_user_max) {
    return Error{Errc::unavailable, "you already have " + std::to_string(settings_.sessions_of_user_max) +
                                        " sessions; end some (cadre session list), or raise sessions_of_user_max"};
  }
  const auto parent = parent_of(caller);
  return parent ? std::nullopt : std::optional(parent.error());
}

void Clients::serve(const Caller& caller, const requests::KeepSession& request) {
  const SessionId& id = request.session;
  Session* session = sessions_.find(id);
  if (session == nullptr) {
    if (const auto why = obstacle_to_opening(caller)) return outbox_.fail(caller.asker, why->code, why->message);
    session = &sessions_.open(id, caller.who.user, caller.now);
  } else if (session->owner != caller.who.user) {
    return outbox_.fail(caller.asker, Errc::denied,
                        "session '" + id.value + "' belongs to another user; choose another name");
  }
  if (!session->parent) {  // a master that was restarted knows only the jobs of a session
    if (const auto parent = parent_of(caller); parent && *parent) sessions_.set_parent(id, **parent);
  }
  session->host = request.host;
  session->pid = request.pid;
  session->program = request.program;
  session->heard = caller.now;
  if (const auto before = sessions_.stop_waiting(id)) {  // the client does not wait there any more, or would twice
    outbox_.answer(before->asker, news_of(id, before->who, before->seen));
  }
  requests::SessionNews news = news_of(id, caller.who, request.seen);
  const Duration wait = std::min(request.wait, settings_.session_timeout);
  if (request.seen == 0 || wait == Duration{0} || !news.jobs.empty())
    return outbox_.answer(caller.asker, std::move(news));
  sessions_.wait(id, {caller.asker, caller.who, request.seen, caller.now + wait});
}

void Clients::tell(const SessionId& id) {
  const Session* session = sessions_.find(id);
  if (session == nullptr || !session->waiting) return;
  requests::SessionNews news = news_of(id, session->waiting->who, session->waiting->seen);
  if (!news.jobs.empty()) outbox_.answer(sessions_.stop_waiting(id)->asker, std::move(news));
}

void Clients::tell() {
  std::set<SessionId> changed;
  for (const JobId id : ledger_.jobs_changed()) changed.insert(ledger_.find(id)->row.spec.session);
  for (const SessionId& id : changed) tell(id);
}

void Clients::tick(TimePoint now) {
  const Sessions::Due due = sessions_.tick(now);
  for (const SessionId& id : due.waited) {
    if (const auto waited = sessions_.stop_waiting(id))
      outbox_.answer(waited->asker, news_of(id, waited->who, waited->seen));
  }
  for (const SessionId& id : due.gone)
    close(id, "its client sent no heartbeat for " + rounded(settings_.session_timeout), now);
}

void Clients::close(const SessionId& id, const std::string& why, TimePoint now) {
  std::vector<JobId> left;
  for (const auto& [version, job] : ledger_.jobs_of(id)) {
    if (ledger_.find(job)->row.stage != JobStage::ended) left.push_back(job);
  }
  for (const JobId job : left) {
    ledger_.change(job).row.why = why;
    ledger_.change(job).row.history.stop = why;
    ledger_.note(now, job, why);
    jobs_.end(job, Duration{0}, now);
  }
  if (const auto waiting = sessions_.stop_waiting(id)) {
    outbox_.answer(waiting->asker, news_of(id, waiting->who, waiting->seen));
  }
  sessions_.close(id);
}

void Clients::serve(const Caller& caller, const requests::ListSessions& request) {
  requests::Sessions page;
  for (auto at = sessions_.all().upper_bound(request.after); at != sessions_.all().end(); ++at) {
    const auto& [id, session] = *at;
    requests::SessionView view{
        id, session.owner, session.host, session.pid, session.program, session.since, session.heard, 0};
    bool is_seen = caller.who.is_admin || session.owner == caller.who.user;
    for (const auto& [version, job] : ledger_.jobs_of(id)) {
      const JobRow& row = ledger_.find(job)->row;
      if (row.stage == JobStage::ended || !access::may_read(caller.who, row.spec.workspace)) continue;
      is_seen = true;
      view.actors += row.spec.actor.empty() ? 0 : 1;
    }
    if (!is_seen) continue;
    if (page.sessions.size() == static_cast<std::size_t>(request.most)) {
      page.next = page.sessions.back().id;
      break;
    }
    page.sessions.push_back(std::move(view));
  }
  outbox_.answer(caller.asker, std::move(page));
}

void Clients::serve(const Caller& caller, const requests::EndSession& request) {
  const Session* session = sessions_.find(request.session);
  const bool may_know = session != nullptr && (caller.who.is_admin || session->owner == caller.who.user);
  if (!may_know) {
    return outbox_.fail(caller.asker, Errc::not_found,
                        "you have no session '" + request.session.value + "'; see cadre session list");
  }
  close(request.session, "its client ended the session", caller.now);
  outbox_.answer(caller.asker, requests::Done{});
}

}  // namespace cadre::cluster::control
