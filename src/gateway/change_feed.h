/// The most recent changes, for clients that follow them. For the loop's thread.
#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "access/requests.h"
#include "api/change.h"
#include "describe/value.h"
#include "loop/loop.h"

namespace cadre::gateway {

struct Change {
  static constexpr std::string_view doc = "A change of an object.";
  std::uint64_t seq = 0;
  TimePoint time;
  std::string noun;
  std::string id;
  std::string what;
};
template <class V>
void describe(V& v, Change& c) {
  v.required("seq", c.seq, "Sequence number; later changes have larger ones.");
  v.required("time", c.time, "Time of the change.");
  v.required("noun", c.noun, "Kind of object.");
  v.required("id", c.id, "ID of the object.");
  v.required("what", c.what, "New stage, or what was done.");
}

struct Changes {
  static constexpr std::string_view type_name = "changes";
  static constexpr std::string_view doc = "Changes since the previous message, as far as the caller may see them.";
  std::string cursor;
  std::vector<Change> changes;
};
template <class V>
void describe(V& v, Changes& c) {
  v.required("cursor", c.cursor, "Cursor after these changes; to resume, pass it as since=CURSOR.");
  v.required("changes", c.changes,
             "Changes, each once, in order; empty: nothing has changed, the message is a heartbeat.");
}

struct Reset {
  static constexpr std::string_view type_name = "reset";
  static constexpr std::string_view doc =
      "Too many changes were missed, or the caller may see other objects than before: discard the known state and use "
      "this snapshot.";
  std::string cursor;
  std::uint64_t seq = 0;
  std::string part;
  describe::Value snapshot;
  bool more = false;
};
template <class V>
void describe(V& v, Reset& r) {
  v.required("cursor", r.cursor, "Cursor after the complete snapshot; to resume, pass it as since=CURSOR.");
  v.required("seq", r.seq, "All changes up to this sequence number are in the snapshot.");
  v.required("part", r.part, "Part of the master whose state this is.");
  v.required("snapshot", r.snapshot, "Its current state, or the first page of it. Of the part cluster: jobs, agents.");
  v.field("more", r.more, "Whether messages of type snapshot with further pages follow.");
}

struct SnapshotPart {
  static constexpr std::string_view type_name = "snapshot";
  static constexpr std::string_view doc = "A further page of the snapshot that the preceding reset began.";
  std::string part;
  describe::Value snapshot;
  bool more = false;
};
template <class V>
void describe(V& v, SnapshotPart& r) {
  v.required("part", r.part, "Part of the master whose state this is.");
  v.required("snapshot", r.snapshot, "Next page of its state.");
  v.required("more", r.more, "Whether another page follows.");
}

/// One message to a client that follows changes.
using ChangeMessage = std::variant<Changes, Reset, SnapshotPart>;

/// How far a client has followed, and what it could see: a client that may see other objects now must start again. Its
/// text is opaque to clients.
struct Cursor {
  std::uint64_t seq = 0;
  std::uint64_t sight = 0;
  bool operator==(const Cursor&) const = default;
};
std::string to_string(const Cursor& cursor);
/// Nothing: it is not a valid cursor.
std::optional<Cursor> parse_cursor(std::string_view text);
/// Equal for two users who may see the same changes.
std::uint64_t sight_of(const access::UserView& user);

class ChangeFeed {
 public:
  /// `kept` ends with `last`; of too many, the newest count.
  ChangeFeed(std::uint64_t last, const std::vector<api::ChangeRow>& kept);

  void add(const std::vector<api::ChangeRow>& changes);

  std::uint64_t last() const { return last_; }
  /// Whether everything after this number is still here, and nothing after it is yet to come.
  bool can_follow(std::uint64_t seq) const { return seq >= forgotten_ && seq <= last_; }
  /// At most `most` changes after that number, all of which must be here.
  std::vector<api::ChangeRow> after(std::uint64_t seq, std::size_t most) const;

  class News;
  /// co_await feed.news(loop, seq, wait): resumes when there is a change after `seq`, or after `wait`.
  News news(loop::Loop& loop, std::uint64_t seq, Duration wait);

  static constexpr std::size_t kept_max = 100'000;

 private:
  void forget_oldest();

  std::deque<api::ChangeRow> rows_;
  std::uint64_t forgotten_ = 0;  ///< all up to this number are not here
  std::uint64_t last_ = 0;
  std::list<News*> waiting_;
};

class [[nodiscard]] ChangeFeed::News {
 public:
  News(ChangeFeed& feed, loop::Loop& loop, std::uint64_t seq, Duration wait)
      : feed_(feed), loop_(loop), seq_(seq), wait_(wait) {}
  News(const News&) = delete;
  News& operator=(const News&) = delete;
  ~News() { feed_.waiting_.remove(this); }

  bool await_ready() const { return feed_.last_ > seq_; }
  void await_suspend(std::coroutine_handle<> waiting) {
    feed_.waiting_.push_back(this);
    wake_ = loop_.after(wait_, [waiting] { waiting.resume(); });
    waiter_ = waiting;
  }
  void await_resume() const {}
  /// Soon, never at once: others wait, too.
  void wake() {
    wake_ = loop_.after(Duration{0}, [waiting = waiter_] { waiting.resume(); });
  }

 private:
  ChangeFeed& feed_;
  loop::Loop& loop_;
  std::uint64_t seq_;
  Duration wait_;
  loop::Timer wake_;
  std::coroutine_handle<> waiter_;
};

inline ChangeFeed::News ChangeFeed::news(loop::Loop& loop, std::uint64_t seq, Duration wait) {
  return {*this, loop, seq, wait};
}

}  // namespace cadre::gateway
