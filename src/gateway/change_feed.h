/// The changes that were written last, for who follows them. For the loop's thread.
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
#include "cluster/control/rows.h"
#include "cluster/requests.h"
#include "loop/loop.h"

namespace cadre::gateway {

struct Change {
  static constexpr std::string_view doc = "What became of something.";
  std::uint64_t seq = 0;
  TimePoint time;
  std::string noun;
  std::string id;
  std::string what;
};
template <class V>
void describe(V& v, Change& c) {
  v.required("seq", c.seq, "Its number; later ones are larger.");
  v.required("time", c.time, "When.");
  v.required("noun", c.noun, "job, task or agent.");
  v.required("id", c.id, "Which one.");
  v.required("what", c.what, "Its new stage, or what was done.");
}

struct Changes {
  static constexpr std::string_view type_name = "changes";
  static constexpr std::string_view doc = "What has changed since the message before, as far as one may know of it.";
  std::string cursor;
  std::vector<Change> changes;
};
template <class V>
void describe(V& v, Changes& c) {
  v.required("cursor", c.cursor, "All up to here is known now; who comes back says since=CURSOR.");
  v.required("changes", c.changes, "Each once, in their order; none: only time has passed.");
}

struct Reset {
  static constexpr std::string_view type_name = "reset";
  static constexpr std::string_view doc =
      "Too much was missed, or other things may be seen than before: forget what you know, this is how things are.";
  std::string cursor;
  cluster::requests::Snapshot snapshot;
  bool more = false;
};
template <class V>
void describe(V& v, Reset& r) {
  v.required("cursor", r.cursor,
             "All up to here is in the snapshot, once it is complete; who comes back says since=CURSOR.");
  v.required("snapshot", r.snapshot, "All that is there, or the first part of it.");
  v.field("more", r.more, "Whether messages of type snapshot follow with the rest.");
}

struct SnapshotPart {
  static constexpr std::string_view type_name = "snapshot";
  static constexpr std::string_view doc = "More of the snapshot that the reset before it began.";
  cluster::requests::Snapshot snapshot;
  bool more = false;
};
template <class V>
void describe(V& v, SnapshotPart& r) {
  v.required("snapshot", r.snapshot, "The next part.");
  v.required("more", r.more, "Whether yet another one follows.");
}

/// One message to who follows.
using ChangeMessage = std::variant<Changes, Reset, SnapshotPart>;

/// How far somebody has followed, and what he could see: who sees other things now cannot just go on. Its text is for
/// those who follow to keep and hand back.
struct Cursor {
  std::uint64_t seq = 0;
  std::uint64_t sight = 0;
  bool operator==(const Cursor&) const = default;
};
std::string to_string(const Cursor& cursor);
/// Nothing: it is none of ours.
std::optional<Cursor> parse_cursor(std::string_view text);
/// Equal for two who may see the same changes.
std::uint64_t sight_of(const access::UserView& user);

class ChangeFeed {
 public:
  /// `kept` ends with `last`; of too many, the newest count.
  ChangeFeed(std::uint64_t last, const std::vector<cluster::control::ChangeRow>& kept);

  void add(const std::vector<cluster::control::ChangeRow>& changes);

  std::uint64_t last() const { return last_; }
  /// Whether everything after this number is still here, and nothing after it is yet to come.
  bool can_follow(std::uint64_t seq) const { return seq >= forgotten_ && seq <= last_; }
  /// At most so many after that number, all of which must be here.
  std::vector<cluster::control::ChangeRow> after(std::uint64_t seq, std::size_t most) const;

  class News;
  /// co_await feed.news(loop, seq, wait): goes on when there is something after `seq`, or after so long.
  News news(loop::Loop& loop, std::uint64_t seq, Duration wait);

  static constexpr std::size_t kept_max = 100'000;

 private:
  void forget_oldest();

  std::deque<cluster::control::ChangeRow> rows_;
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

 private:
  friend ChangeFeed;
  /// Soon, never at once: others wait, too.
  void wake() {
    wake_ = loop_.after(Duration{0}, [waiting = waiter_] { waiting.resume(); });
  }

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
