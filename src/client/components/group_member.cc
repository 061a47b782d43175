#include "client/components/group_member.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "loop/random_word.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using remote::GroupCore;
using remote::Note;

constexpr Duration goodbye_max = 1s;
constexpr Duration answer_grace = 50ms;  // the core says itself that the time is over
constexpr Duration longest_linger = std::chrono::hours(24 * 365);

MemberOptions named(MemberOptions options) {
  if (options.name.empty()) options.name = options.type + "-" + loop::random_word(8);
  return options;
}

/// Without the user and password, which are nobody's business.
std::string place_of(const std::string& names) {
  if (names.empty()) return "of the master";
  const std::size_t scheme = names.find("://");
  const std::size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const std::size_t end = std::min(names.find('/', begin), names.size());
  const std::size_t at = names.rfind('@', end);
  const bool has_user = at != std::string::npos && at >= begin;
  return "at " + names.substr(0, begin) + names.substr(has_user ? at + 1 : begin);
}

}  // namespace

GroupMember::GroupMember(Engine& engine, Log& log, Options options)
    : engine_(engine), shared_(named(std::move(options))), switchboard_(engine, log, shared_) {}

GroupMember::~GroupMember() { static_cast<void>(close(0s)); }

bool GroupMember::wait(TimePoint end, const std::function<bool()>& done) {
  return engine_.wait_or_interrupt(end, switchboard_.guarded(&Switchboard::settle), [&] {
    const std::lock_guard lock(shared_.mutex);
    return done();
  });
}

std::vector<std::string> GroupMember::missing() const {
  std::vector<std::string> all;
  for (const auto& [type, count] : shared_.options.peers) {
    const std::size_t there = shared_.group ? shared_.group->count_live(type) : 0;
    if (there < count) all.push_back(std::to_string(count - there) + " of " + std::to_string(count) + " " + type);
  }
  return all;
}

Result<void> GroupMember::join(TimePoint deadline) {
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
  if (!shared_.group) {  // it is not even registered
    return fail(Errc::timed_out, "could not be reached in time: the names " + place_of(shared_.options.names) +
                                     "; check the URL, and that the server is running");
  }
  std::string text;
  for (const std::string& one : missing()) text += (text.empty() ? "" : ", ") + one;
  return fail(Errc::timed_out,
              "could not be reached in time: " + text + "; check that they were started with the same names URL");
}

Result<std::uint64_t> GroupMember::put(const std::string& peer, const Wish& wish, std::optional<TimePoint> answer_by,
                                       TimePoint deadline) {
  std::optional<Result<std::uint64_t>> id;
  // What was sent before and waits for room goes first.
  const auto try_it = [&] {
    return !shared_.deferred.contains(peer) && (id = shared_.try_put(peer, wish, answer_by, now())).has_value();
  };
  {
    const std::lock_guard lock(shared_.mutex);
    if (try_it()) return *std::move(id);
  }
  if (wait(deadline, try_it)) return *std::move(id);
  return fail(Errc::timed_out, "there was no buffer space for a message to " + peer + " in time");
}

Result<std::uint64_t> GroupMember::send(const std::string& peer, const Wish& wish, TimePoint deadline) {
  Result<std::uint64_t> id = put(peer, wish, std::nullopt, deadline);
  if (id) switchboard_.settle_soon();
  return id;
}

std::shared_ptr<Promise> GroupMember::promise(const std::string& peer, const Wish& wish,
                                              std::optional<TimePoint> answer_by, TimePoint deadline) {
  auto promise = std::make_shared<Promise>();
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.put_or_defer({peer, wish, answer_by, deadline, promise}, now());
  }
  shared_.tell_kept();
  switchboard_.settle_soon();
  return promise;
}

bool GroupMember::await(const std::shared_ptr<Promise>& promise, TimePoint deadline) {
  if (promise->is_there()) return true;
  return engine_.wait_or_interrupt(deadline, switchboard_.guarded(&Switchboard::settle),
                                   [&] { return promise->is_there(); });
}

void GroupMember::cancel(const std::shared_ptr<Promise>& promise) {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.cancel(promise);
  }
  shared_.tell_kept();
  engine_.changed();
}

GroupMember::Outcome GroupMember::await_answer(std::uint64_t request, TimePoint deadline) {
  const TimePoint latest = deadline > TimePoint::max() - answer_grace ? deadline : deadline + answer_grace;
  static_cast<void>(wait(latest, [&] { return shared_.failed || shared_.answers.at(request).outcome; }));
  const std::lock_guard lock(shared_.mutex);
  auto found = shared_.answers.extract(request);
  if (found.mapped().outcome) return *std::move(found.mapped().outcome);
  if (shared_.group) shared_.group->forget(request);
  if (shared_.failed) return Failure(*shared_.failed);
  return fail(Errc::timed_out, "no reply arrived in time");
}

GroupMember::Outcome GroupMember::request(const std::string& peer, const Wish& wish, TimePoint deadline) {
  TRY_ASSIGN(id, put(peer, wish, deadline, deadline));
  return await_answer(id, deadline);
}

/// Who has no room keeps nobody else waiting.
std::vector<GroupMember::Outcome> GroupMember::scatter(const std::vector<std::pair<std::string, Wish>>& wishes,
                                                       TimePoint deadline) {
  std::vector<std::optional<Result<std::uint64_t>>> ids;
  {
    const std::lock_guard lock(shared_.mutex);
    for (const auto& [peer, wish] : wishes) {
      ids.push_back(shared_.deferred.contains(peer) ? std::nullopt : shared_.try_put(peer, wish, deadline, now()));
    }
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

Result<remote::Letter> GroupMember::receive(TimePoint deadline) {
  return receive(deadline, [] { return false; });
}

Result<remote::Letter> GroupMember::receive(TimePoint deadline, const std::function<bool()>& unless) {
  std::optional<remote::Letter> letter;
  const auto take = [&] { return shared_.group && (letter = shared_.group->take()); };
  bool has_some = false;
  {
    const std::lock_guard lock(shared_.mutex);
    has_some = take();
  }
  if (!has_some) static_cast<void>(wait(deadline, [&] { return take() || shared_.obstacle() || unless(); }));
  bool wants_flush = false;
  {
    const std::lock_guard lock(shared_.mutex);
    if (!letter && shared_.obstacle()) return Failure(*shared_.obstacle());
    wants_flush = shared_.group && shared_.group->wants_flush();
  }
  if (!letter) return fail(Errc::timed_out, "no message arrived in time");
  if (wants_flush) switchboard_.settle_soon();
  return *std::move(letter);
}

Result<void> GroupMember::reply(const remote::Letter& to, GroupCore::Response response, TimePoint deadline) {
  const std::size_t tag_size = response.tag.empty() ? to.note.tag.size() : response.tag.size();
  const std::size_t cost = Note::overhead + tag_size + response.body.size();
  std::optional<Result<void>> replied;
  const auto try_it = [&] {
    if (const std::optional<Error> error = shared_.obstacle()) {
      replied = Failure(*error);
    } else if (shared_.group->has_room(to.peer, cost)) {
      replied = shared_.group->reply(to, std::move(response), now());
    }
    return replied.has_value();
  };
  bool is_through = false;
  {
    const std::lock_guard lock(shared_.mutex);
    is_through = try_it();
  }
  if (!is_through && !wait(deadline, try_it)) {
    return fail(Errc::timed_out, "there was no buffer space for the reply to " + to.peer + " in time");
  }
  engine_.run(switchboard_.guarded(&Switchboard::settle));  // somebody waits for it
  return *std::move(replied);
}

std::vector<std::string> GroupMember::live(const std::string& type) {
  const std::lock_guard lock(shared_.mutex);
  return shared_.group ? shared_.group->live(type) : std::vector<std::string>();
}

std::vector<remote::Card> GroupMember::live_cards() {
  const std::lock_guard lock(shared_.mutex);
  std::vector<remote::Card> cards;
  if (!shared_.group) return cards;
  for (const std::string& name : shared_.group->live()) cards.push_back(*shared_.group->find(name));
  return cards;
}

GroupCore::Counters GroupMember::counters() {
  const std::lock_guard lock(shared_.mutex);
  return shared_.group ? shared_.group->counters() : GroupCore::Counters();
}

std::uint64_t GroupMember::copied_bytes() {
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

std::vector<std::uint64_t> GroupMember::close(Duration linger) {
  bool is_first = false;
  {
    const std::lock_guard lock(shared_.mutex);
    is_first = !std::exchange(shared_.is_closing, true);
  }
  if (is_first) {
    const TimePoint end_of_linger = now() + std::clamp<Duration>(linger, 0s, longest_linger);
    if (linger > 0s) {
      static_cast<void>(wait(end_of_linger, [&] {
        const bool is_empty = shared_.group && shared_.group->undelivered() == 0 && shared_.deferred.empty();
        return !shared_.group || shared_.failed || is_empty;
      }));
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
