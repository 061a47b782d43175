#include "client/member.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "client/host_identity.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::Group;
using remote::Note;

constexpr Duration goodbye_max = 1s;
constexpr Duration answer_grace = 50ms;  // the core says itself that the time is over
constexpr Duration longest = std::chrono::hours(24 * 365);

MemberOptions named(MemberOptions options) {
  if (options.name.empty()) options.name = options.type + "-" + random_word(8);
  return options;
}

}  // namespace

Member::Member(Engine& engine, Log& log, Options options)
    : engine_(engine), shared_(named(std::move(options))), switchboard_(engine, log, shared_) {}

Member::~Member() { static_cast<void>(close(0s)); }

bool Member::wait(TimePoint end, const std::function<bool()>& done) {
  return engine_.wait_or_interrupt(end, switchboard_.guarded(&Switchboard::settle), [&] {
    const std::lock_guard lock(shared_.mutex);
    return done();
  });
}

std::optional<Error> Member::obstacle() const {
  if (shared_.failed) return shared_.failed;
  if (!shared_.group) return Error{Errc::conflict, "join the group first"};
  return std::nullopt;
}

std::vector<std::string> Member::missing() const {
  std::vector<std::string> all;
  for (const auto& [type, count] : shared_.options.peers) {
    const std::size_t there = shared_.group ? shared_.group->count_live(type) : 0;
    if (there < count) all.push_back(std::to_string(count - there) + " of " + std::to_string(count) + " " + type);
  }
  return all;
}

Result<void> Member::join(TimePoint deadline) {
  {
    const std::lock_guard lock(shared_.mutex);
    if (shared_.is_closing) return fail(Errc::conflict, "it was closed");
  }
  bool has_begun = false;  // the loop's: before that, a failure is that of another attempt
  const auto begun = std::make_shared<std::atomic<bool>>(false);
  const bool holds = engine_.wait_or_interrupt(
      deadline,
      [start = switchboard_.guarded(&Switchboard::start), begun] {
        start();
        *begun = true;
      },
      [&] {
        has_begun = *begun;
        const std::lock_guard lock(shared_.mutex);
        return has_begun && (shared_.failed || (shared_.group && missing().empty()));
      });
  const std::lock_guard lock(shared_.mutex);
  if (shared_.failed && has_begun) return Failure(*shared_.failed);
  if (holds) return {};
  std::string text;
  for (const std::string& one : missing()) text += (text.empty() ? "" : ", ") + one;
  if (text.empty())
    text = shared_.options.names.empty() ? "the names of the master" : "the names at " + shared_.options.names;
  return fail(Errc::timed_out,
              "could not be reached in time: " + text + "; are they started, with the same names URL?");
}

std::optional<Result<std::uint64_t>> Member::try_put(const std::string& peer, const Wish& wish,
                                                     std::optional<TimePoint> answer_by) {
  if (const std::optional<Error> error = obstacle()) return Failure(*error);
  const std::size_t cost = Note::overhead + wish.tag.size() + wish.body.size();
  bool has_room = shared_.group->has_room(peer, cost);
  while (!has_room && shared_.options.overflow == Overflow::drop_oldest && shared_.group->drop_oldest(peer)) {
    has_room = shared_.group->has_room(peer, cost);
  }
  if (!has_room && shared_.options.overflow == Overflow::block) return std::nullopt;
  if (!answer_by) return shared_.group->send(peer, wish, now());
  Result<std::uint64_t> id = shared_.group->request(peer, wish, *answer_by, now());
  if (id) shared_.answers[*id];
  return id;
}

Result<std::uint64_t> Member::put(const std::string& peer, const Wish& wish, std::optional<TimePoint> answer_by,
                                  TimePoint deadline) {
  std::optional<Result<std::uint64_t>> id;
  const auto try_it = [&] { return (id = try_put(peer, wish, answer_by)).has_value(); };
  {
    const std::lock_guard lock(shared_.mutex);
    if (try_it()) return *std::move(id);
  }
  if (wait(deadline, try_it)) return *std::move(id);
  return fail(Errc::timed_out, "there was no room for a message to " + peer + " in time");
}

Result<std::uint64_t> Member::send(const std::string& peer, const Wish& wish, TimePoint deadline) {
  Result<std::uint64_t> id = put(peer, wish, std::nullopt, deadline);
  if (id) switchboard_.settle_soon();
  return id;
}

Member::Outcome Member::await_answer(std::uint64_t request, TimePoint deadline) {
  const TimePoint latest = deadline > TimePoint::max() - answer_grace ? deadline : deadline + answer_grace;
  static_cast<void>(wait(latest, [&] { return shared_.failed || shared_.answers.at(request); }));
  const std::lock_guard lock(shared_.mutex);
  auto found = shared_.answers.extract(request);
  if (found.mapped()) return *std::move(found.mapped());
  if (shared_.group) shared_.group->forget(request);
  if (shared_.failed) return Failure(*shared_.failed);
  return fail(Errc::timed_out, "there was no answer in time");
}

Member::Outcome Member::request(const std::string& peer, const Wish& wish, TimePoint deadline) {
  TRY_ASSIGN(id, put(peer, wish, deadline, deadline));
  return await_answer(id, deadline);
}

/// Who has no room keeps nobody else waiting.
std::vector<Member::Outcome> Member::scatter(const std::vector<std::pair<std::string, Wish>>& wishes,
                                             TimePoint deadline) {
  std::vector<std::optional<Result<std::uint64_t>>> ids;
  {
    const std::lock_guard lock(shared_.mutex);
    for (const auto& [peer, wish] : wishes) ids.push_back(try_put(peer, wish, deadline));
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    if (!ids[i]) ids[i] = put(wishes[i].first, wishes[i].second, deadline, deadline);
  }
  std::vector<Outcome> outcomes;
  for (const std::optional<Result<std::uint64_t>>& id : ids) {
    *id ? outcomes.push_back(await_answer(**id, deadline)) : outcomes.push_back(Failure(id->error()));
  }
  return outcomes;
}

Result<remote::Letter> Member::receive(TimePoint deadline) {
  return receive(deadline, [] { return false; });
}

Result<remote::Letter> Member::receive(TimePoint deadline, const std::function<bool()>& unless) {
  std::optional<remote::Letter> letter;
  const auto take = [&] { return shared_.group && (letter = shared_.group->take()); };
  bool has_some = false;
  {
    const std::lock_guard lock(shared_.mutex);
    has_some = take();
  }
  if (!has_some) static_cast<void>(wait(deadline, [&] { return take() || obstacle() || unless(); }));
  bool wants_flush = false;
  {
    const std::lock_guard lock(shared_.mutex);
    if (!letter && obstacle()) return Failure(*obstacle());
    wants_flush = shared_.group && shared_.group->wants_flush();
  }
  if (!letter) return fail(Errc::timed_out, "nothing came in time");
  if (wants_flush) switchboard_.settle_soon();
  return *std::move(letter);
}

Result<void> Member::reply(const remote::Letter& to, Note::Kind kind, const Slice& body, TimePoint deadline) {
  const std::size_t cost = Note::overhead + to.note.tag.size() + body.size();
  std::optional<Result<void>> replied;
  const auto try_it = [&] {
    if (const std::optional<Error> error = obstacle()) {
      replied = Failure(*error);
    } else if (shared_.group->has_room(to.peer, cost)) {
      replied = shared_.group->reply(to, kind, body, now());
    }
    return replied.has_value();
  };
  bool is_through = false;
  {
    const std::lock_guard lock(shared_.mutex);
    is_through = try_it();
  }
  if (!is_through && !wait(deadline, try_it)) {
    return fail(Errc::timed_out, "there was no room for the answer to " + to.peer + " in time");
  }
  engine_.run(switchboard_.guarded(&Switchboard::settle));  // somebody waits for it
  return *std::move(replied);
}

std::vector<std::string> Member::live(const std::string& type) {
  const std::lock_guard lock(shared_.mutex);
  return shared_.group ? shared_.group->live(type) : std::vector<std::string>();
}

std::vector<remote::Card> Member::live_cards() {
  const std::lock_guard lock(shared_.mutex);
  std::vector<remote::Card> cards;
  if (!shared_.group) return cards;
  for (const std::string& name : shared_.group->live()) cards.push_back(*shared_.group->find(name));
  return cards;
}

Group::Counters Member::counters() {
  const std::lock_guard lock(shared_.mutex);
  return shared_.group ? shared_.group->counters() : Group::Counters();
}

std::uint64_t Member::copied_bytes() {
  const auto counted = std::make_shared<std::atomic<bool>>(false);
  const auto count = [&engine = engine_, call = switchboard_.guarded(&Switchboard::count_copies), counted] {
    call();
    *counted = true;
    engine.changed();
  };
  static_cast<void>(engine_.wait(TimePoint::max(), count, [&] { return counted->load(); }));
  const std::lock_guard lock(shared_.mutex);
  return shared_.copied_bytes;
}

std::vector<std::uint64_t> Member::close(Duration linger) {
  bool is_first = false;
  {
    const std::lock_guard lock(shared_.mutex);
    is_first = !std::exchange(shared_.is_closing, true);
  }
  if (is_first) {
    const TimePoint end_of_linger = now() + std::clamp<Duration>(linger, 0s, longest);
    if (linger > 0s) {
      static_cast<void>(
          wait(end_of_linger, [&] { return !shared_.group || shared_.failed || shared_.group->undelivered() == 0; }));
    }
    engine_.post(switchboard_.guarded(&Switchboard::leave));
    static_cast<void>(
        wait(std::max(end_of_linger, now() + goodbye_max), [&] { return !shared_.group || shared_.has_left; }));
    static_cast<void>(engine_.wait(TimePoint::max(), switchboard_.guarded(&Switchboard::end), [this] {
      const std::lock_guard lock(shared_.mutex);
      return shared_.is_ended;
    }));
  } else {
    static_cast<void>(wait(TimePoint::max(), [&] { return shared_.is_ended; }));
  }
  const std::lock_guard lock(shared_.mutex);
  return shared_.undelivered;
}

}  // namespace cadre::client
