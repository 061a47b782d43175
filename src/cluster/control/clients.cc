#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/rounded.h"
#include "cluster/control/control.h"

namespace cadre::cluster::control {
namespace {

/// Jobs that one answer tells of; who asks again is told of the others.
constexpr std::size_t told_at_once = 1'000;

/// So many jobs are looked at by one request, so that it does not keep others waiting: the next page goes on.
constexpr std::size_t rows_at_once = 5'000;

}  // namespace

requests::SessionNews Control::news_of(const SessionId& id, const access::Principal& who, std::uint64_t seen) const {
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

Result<std::optional<LeaseId>> Control::parent_of(const Caller& caller) const {
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

bool Control::ends_at_once(const JobRow& job) { return !job.spec.actor.empty() || job.grace == Duration{0}; }

void Control::close_orphans(TimePoint now) {
  while (!over_.empty()) {
    const std::vector<LeaseId> over = std::exchange(over_, {});
    for (const LeaseId& lease : over) {
      for (const SessionId& id : sessions_.within(lease)) {
        close_session(id, "its client, task " + to_string(lease.task) + ", has ended", now);
      }
    }
  }
}

void Control::keep_session(const Caller& caller, const requests::KeepSession& request, TimePoint now) {
  const SessionId& id = request.session;
  Session* session = sessions_.find(id);
  if (session == nullptr) {
    if (static_cast<std::int64_t>(sessions_.all().size()) >= settings_.sessions_max) {
      return fail(caller.asker, Errc::unavailable,
                  "there are already " + std::to_string(settings_.sessions_max) + " sessions; raise sessions_max");
    }
    const auto are_his = [&](const auto& one) { return one.second.owner == caller.who.user; };
    if (std::count_if(sessions_.all().begin(), sessions_.all().end(), are_his) >= settings_.sessions_of_user_max) {
      return fail(caller.asker, Errc::unavailable,
                  "you already have " + std::to_string(settings_.sessions_of_user_max) +
                      " sessions; end some (cadre session list), or raise sessions_of_user_max");
    }
    if (const auto parent = parent_of(caller); !parent) {
      return fail(caller.asker, parent.error().code, parent.error().message);
    }
    session = &sessions_.open(id, caller.who.user, now);
  } else if (session->owner != caller.who.user) {
    return fail(caller.asker, Errc::denied, "session '" + id.value + "' belongs to another user; choose another name");
  }
  if (!session->parent) {  // a master that was restarted knows only the jobs of a session
    if (const auto parent = parent_of(caller); parent && *parent) sessions_.set_parent(id, **parent);
  }
  session->host = request.host;
  session->pid = request.pid;
  session->program = request.program;
  session->heard = now;
  if (const auto before = sessions_.stop_waiting(id)) {  // the client does not wait there any more, or would twice
    answer(before->asker, news_of(id, before->who, before->seen));
  }
  requests::SessionNews news = news_of(id, caller.who, request.seen);
  const Duration wait = std::min(request.wait, settings_.session_timeout);
  if (request.seen == 0 || wait == Duration{0} || !news.jobs.empty()) return answer(caller.asker, std::move(news));
  sessions_.wait(id, {caller.asker, caller.who, request.seen, now + wait});
}

void Control::tell_session(const SessionId& id) {
  const Session* session = sessions_.find(id);
  if (session == nullptr || !session->waiting) return;
  requests::SessionNews news = news_of(id, session->waiting->who, session->waiting->seen);
  if (!news.jobs.empty()) answer(sessions_.stop_waiting(id)->asker, std::move(news));
}

void Control::tick_sessions(TimePoint now) {
  const Sessions::Due due = sessions_.tick(now);
  for (const SessionId& id : due.waited) {
    if (const auto waited = sessions_.stop_waiting(id)) answer(waited->asker, news_of(id, waited->who, waited->seen));
  }
  for (const SessionId& id : due.gone)
    close_session(id, "its client sent no heartbeat for " + rounded(settings_.session_timeout), now);
}

void Control::close_session(const SessionId& id, const std::string& why, TimePoint now) {
  std::vector<JobId> left;
  for (const auto& [version, job] : ledger_.jobs_of(id)) {
    if (ledger_.find(job)->row.stage != JobStage::ended) left.push_back(job);
  }
  for (const JobId job : left) {
    ledger_.change(job).row.why = why;
    ledger_.change(job).row.history.stop = why;
    ledger_.note(now, job, why);
    end(job, Duration{0}, now);
  }
  if (const auto waiting = sessions_.stop_waiting(id)) {
    answer(waiting->asker, news_of(id, waiting->who, waiting->seen));
  }
  sessions_.close(id);
}

requests::ActorView Control::actor_view(const Job& job) const {
  const requests::JobView all = view(job);
  requests::ActorView actor{all.id, all.actor,     all.name, all.owner, all.session, all.workspace, all.stage, {},
                            {},     all.submitted, {},       all.ended, all.reason,  all.code,      all.detail};
  actor.restarts = std::max(0, all.runs - 1);
  if (all.tasks.empty()) return actor;
  const requests::TaskView& task = all.tasks.front();
  actor.agent = task.agent;
  if (const auto agent = ledger_.agents().find(task.agent); agent != ledger_.agents().end()) {
    actor.host = agent->second.row.host;
  }
  actor.started = task.started;
  actor.memory = task.usage.memory;
  actor.calls = task.usage.calls;
  actor.errors = task.usage.errors;
  return actor;
}

void Control::list_actors(const Caller& caller, const requests::ListActors& request) {
  requests::Actors page;
  const auto& jobs = ledger_.jobs();
  const auto from = request.before ? jobs.lower_bound(*request.before) : jobs.end();
  std::size_t looked_at = 0;
  for (auto at = std::make_reverse_iterator(from); at != jobs.rend(); ++at) {
    if (looked_at++ == rows_at_once) {
      page.next = std::prev(at)->first;
      break;
    }
    const JobRow& row = at->second.row;
    const bool is_wanted = !row.spec.actor.empty() && (request.ended || row.stage != JobStage::ended) &&
                           (!request.session || row.spec.session == *request.session) &&
                           (!request.workspace || row.spec.workspace == *request.workspace) &&
                           (!request.owner || row.owner == *request.owner);
    if (!is_wanted || !access::may_read(caller.who, row.spec.workspace)) continue;
    if (page.actors.size() == static_cast<std::size_t>(request.most)) {
      page.next = page.actors.back().id;
      break;
    }
    page.actors.push_back(actor_view(at->second));
  }
  answer(caller.asker, std::move(page));
}

void Control::list_sessions(const Caller& caller, const requests::ListSessions& request) {
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
  answer(caller.asker, std::move(page));
}

void Control::end_session(const Caller& caller, const requests::EndSession& request, TimePoint now) {
  const Session* session = sessions_.find(request.session);
  const bool may_know = session != nullptr && (caller.who.is_admin || session->owner == caller.who.user);
  if (!may_know) {
    return fail(caller.asker, Errc::not_found,
                "you have no session '" + request.session.value + "'; see cadre session list");
  }
  close_session(request.session, "its client ended the session", now);
  answer(caller.asker, requests::Done{});
}

std::optional<Error> Control::obstacle_to_session(const Caller& caller, const SessionId& id) {
  if (id.value.empty()) return std::nullopt;
  const Session* session = sessions_.find(id);
  if (session == nullptr) {
    return Error{Errc::conflict, "session: there is no session '" + id.value +
                                     "', or it has timed out; open one with PUT /api/v1/sessions/" + id.value};
  }
  if (session->owner == caller.who.user) return std::nullopt;
  return Error{Errc::denied, "session: '" + id.value + "' belongs to another user; use one of your own"};
}

}  // namespace cadre::cluster::control
