#include "cluster/control/sessions/sessions.h"

#include <utility>

#include "base/check.h"

namespace cadre::cluster::control {

Session* Sessions::find(const SessionId& id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

Session& Sessions::open(const SessionId& id, const std::string& owner, TimePoint now) {
  const auto [session, is_new] = sessions_.try_emplace(id);
  CHECK(is_new);
  session->second.owner = owner;
  session->second.since = session->second.heard = now;
  return session->second;
}

void Sessions::set_parent(const SessionId& id, LeaseId parent) {
  Session* session = find(id);
  CHECK(session != nullptr && !session->parent);
  session->parent = parent;
  by_parent_[parent].insert(id);
}

void Sessions::close(const SessionId& id) {
  static_cast<void>(stop_waiting(id));
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  if (const std::optional<LeaseId>& parent = found->second.parent) {
    const auto siblings = by_parent_.find(*parent);
    siblings->second.erase(id);
    if (siblings->second.empty()) by_parent_.erase(siblings);
  }
  sessions_.erase(found);
}

std::vector<SessionId> Sessions::within(LeaseId lease) const {
  const auto found = by_parent_.find(lease);
  if (found == by_parent_.end()) return {};
  return {found->second.begin(), found->second.end()};
}

void Sessions::note_over(LeaseId lease) {
  if (by_parent_.contains(lease)) over_.push_back(lease);
}

std::optional<Error> Sessions::obstacle_to_joining(const SessionId& id, const std::string& user) const {
  if (id.value.empty()) return std::nullopt;
  const auto session = sessions_.find(id);
  if (session == sessions_.end()) {
    return Error{Errc::conflict, "session: there is no session '" + id.value +
                                     "', or it has timed out; open one with PUT /api/v1/sessions/" + id.value};
  }
  if (session->second.owner == user) return std::nullopt;
  return Error{Errc::denied, "session: '" + id.value + "' belongs to another user; use one of your own"};
}

void Sessions::wait(const SessionId& id, SessionWaiter waiter) {
  Session* session = find(id);
  CHECK(session != nullptr && !session->waiting);
  by_asker_.emplace(waiter.asker, id);
  session->waiting = std::move(waiter);
}

std::optional<SessionWaiter> Sessions::stop_waiting(const SessionId& id) {
  Session* session = find(id);
  if (session == nullptr || !session->waiting) return std::nullopt;
  by_asker_.erase(session->waiting->asker);
  return std::exchange(session->waiting, std::nullopt);
}

void Sessions::forget_asker(Asker asker) {
  if (const auto found = by_asker_.find(asker); found != by_asker_.end()) {
    static_cast<void>(stop_waiting(SessionId(found->second)));
  }
}

void Sessions::add_waiting(std::vector<Asker>& askers) const {
  for (const auto& [asker, id] : by_asker_) askers.push_back(asker);
}

Sessions::Due Sessions::tick(TimePoint now) {
  const bool was_away =
      now - std::exchange(ticked_, now) > timeout_ / 2;  // the process was stopped, or could not write
  Due due;
  for (auto& [id, session] : sessions_) {
    if (session.waiting && now >= session.waiting->until) due.waited.push_back(id);
    if (session.waiting || was_away) session.heard = now;
    if (now - session.heard > timeout_) due.gone.push_back(id);
  }
  return due;
}

}  // namespace cadre::cluster::control
