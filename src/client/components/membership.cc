#include "client/components/membership.h"

#include <algorithm>

namespace cadre::client {
namespace {

using remote::Note;

Note sent_as(std::uint64_t id) {
  Note note;
  note.id = id;
  return note;
}

}  // namespace

std::optional<Error> Membership::obstacle() const {
  if (failed) return failed;
  if (!group) return Error{Errc::conflict, "join the group first"};
  return std::nullopt;
}

std::optional<Result<std::uint64_t>> Membership::try_put(const std::string& peer, const Wish& wish,
                                                         std::optional<TimePoint> answer_by, TimePoint now) {
  if (const std::optional<Error> error = obstacle()) return Failure(*error);
  const std::size_t cost = Note::overhead + wish.tag.size() + wish.body.size();
  bool has_room = group->has_room(peer, cost);
  while (!has_room && options.overflow == Overflow::drop_oldest && group->drop_oldest(peer)) {
    has_room = group->has_room(peer, cost);
  }
  // What is under way cannot be dropped, and makes room when it has arrived.
  if (!has_room && options.overflow != Overflow::fail) return std::nullopt;
  if (!answer_by) return group->send(peer, wish, now);
  Result<std::uint64_t> id = group->request(peer, wish, *answer_by, now);
  if (id) answers[*id];
  return id;
}

void Membership::put_or_defer(Deferred one, TimePoint now) {
  auto& before = deferred[one.peer];
  if (before.size() >= options.rules.limits.queue) {
    kept.emplace_back(one.promise, fail(Errc::unavailable, "too many messages already wait to be sent to " + one.peer +
                                                               " already; send less, or wait for their futures"));
    return;
  }
  before.push_back(std::move(one));
  put_deferred(now);
}

void Membership::put_deferred(TimePoint now) {
  for (auto queue = deferred.begin(); queue != deferred.end();) {
    auto& [peer, all] = *queue;
    while (!all.empty()) {
      Deferred& one = all.front();
      std::optional<Result<std::uint64_t>> id = try_put(peer, one.wish, one.answer_by, now);
      if (!id) break;
      if (!*id) {
        kept.emplace_back(one.promise, Failure(id->error()));
      } else if (one.answer_by) {
        answers[**id].promise = std::move(one.promise);
      } else {
        kept.emplace_back(one.promise, sent_as(**id));
      }
      all.pop_front();
    }
    const auto late =
        std::stable_partition(all.begin(), all.end(), [&](const Deferred& d) { return d.deadline > now; });
    for (auto one = late; one != all.end(); ++one) {
      kept.emplace_back(one->promise,
                        fail(Errc::timed_out, "there was no buffer space for a message to " + peer + " in time"));
    }
    all.erase(late, all.end());
    queue = all.empty() ? deferred.erase(queue) : std::next(queue);
  }
}

TimePoint Membership::next_deferred() const {
  TimePoint next = TimePoint::max();
  for (const auto& [peer, all] : deferred) {
    for (const Deferred& one : all) next = std::min(next, one.deadline);
  }
  return next;
}

std::size_t Membership::count_deferred() const {
  std::size_t sum = 0;
  for (const auto& [peer, all] : deferred) sum += all.size();
  return sum;
}

void Membership::cancel(const std::shared_ptr<Promise>& promise) {
  kept.emplace_back(promise, fail(Errc::conflict, "it was cancelled"));
  for (auto& [peer, all] : deferred) {
    std::erase_if(all, [&](const Deferred& one) { return one.promise == promise; });
  }
  for (auto at = answers.begin(); at != answers.end(); ++at) {
    if (at->second.promise != promise) continue;
    if (group) group->forget(at->first);
    answers.erase(at);
    return;
  }
}

void Membership::break_promises(const Error& why) {
  for (auto& [peer, all] : deferred) {
    for (Deferred& one : all) kept.emplace_back(std::move(one.promise), Failure(why));
  }
  deferred.clear();
  for (auto at = answers.begin(); at != answers.end();) {
    const bool is_promised = at->second.promise != nullptr;
    if (is_promised) kept.emplace_back(std::move(at->second.promise), Failure(why));
    at = is_promised ? answers.erase(at) : std::next(at);
  }
}

void Membership::tell_kept() {
  Kept all;
  Callbacks* thread = nullptr;
  {
    const std::lock_guard lock(mutex);
    all = std::exchange(kept, {});
    thread = callbacks.get();
  }
  for (auto& [promise, outcome] : all) {
    std::vector<Promise::Call> calls = promise->complete(std::move(outcome));
    if (!calls.empty()) thread->run(std::move(calls));
  }
}

void Membership::then(const std::shared_ptr<Promise>& promise, const Promise::Call& call) {
  {
    const std::lock_guard lock(mutex);
    if (!callbacks) callbacks = std::make_unique<Callbacks>([] {});
  }
  if (!promise->add(call)) Callbacks::run_here(call);
}

}  // namespace cadre::client
