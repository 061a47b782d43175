/// What two processes say to each other over a line that may break: numbers it, knows what has arrived, and holds both
/// sides to their bounds. Pure; one thread at a time.
///
/// Each side sends what the other has room for: what is under way and what waits there to be taken never exceed the
/// window. Notes arrive at most once and in their order. After a break the other side says what has arrived; of the
/// rest those that are reliable are sent again.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "base/result.h"
#include "remote/frame.h"

namespace cadre::remote {

class Line {
 public:
  struct Limits {
    std::size_t window = 10'000;      ///< notes under way, or waiting at the other side to be taken
    ByteSize window_bytes{16 << 20};  ///< the same in bytes; one note may be larger, then it goes alone
    std::size_t queue = 10'000;       ///< notes that wait here, or were not acknowledged
    ByteSize queue_bytes{64 << 20};   ///< the same in bytes; one note may be larger if it is the only one
    ByteSize frame_bytes{64 << 10};   ///< of notes that are sent together
  };

  explicit Line(const Limits& limits)
      : limits_(limits), peer_window_(limits.window), peer_window_bytes_(limits.window_bytes) {}

  // What goes out.
  bool has_room(std::size_t cost) const;
  /// Only when there is room.
  void put(Note note);
  /// The oldest that was not sent yet; nothing: there is none.
  std::optional<Note> drop_oldest();
  /// Whether a note can be sent now: one waits, and the other side has room.
  bool has_notes() const;
  struct Hearing {
    std::uint64_t line = 0;
    bool is_deaf = false;
  };
  /// The next frame: as many notes as fit, perhaps none, and what is here of the other side's, heard over that line.
  [[nodiscard]] Bytes make_frame(Hearing hearing);

  // What comes in.
  /// The new notes in it. `corrupt` if they are not the next, or more than there is room for: the sender violates the
  /// protocol, and its connection must be closed.
  [[nodiscard]] Result<std::vector<Note>> take(Notes frame);
  /// One that came was taken out of here.
  void taken(const Note& note);
  /// Whether the other side waits to hear what has come and what was taken: soon, or only when there is time.
  enum class Debt : std::uint8_t { none, some, urgent };
  Debt debt() const;
  Welcome welcome(std::uint64_t line) const;

  // Breaks.
  enum class Unsent : std::uint8_t { keep, give_up };
  /// The connection is gone. Gives up what is not reliable and was not acknowledged, or, if so, not even sent.
  [[nodiscard]] std::vector<Note> broke(Unsent unsent);
  /// There is a new one, and the other side says what came over the old ones.
  void resumed(const Welcome& welcome);
  /// The other side is another one by that name: it knows of nothing. What was not acknowledged is sent to it, but for
  /// answers, which are given up: it has not asked.
  [[nodiscard]] std::vector<Note> begin_anew();
  /// Everything that was not acknowledged.
  [[nodiscard]] std::vector<Note> give_up();

  /// Not acknowledged, or not even sent.
  std::size_t waiting() const { return sent_.size() + queue_.size(); }
  std::size_t held() const { return held_; }
  /// Of notes that wait to be sent, or also to be acknowledged.
  std::set<std::uint64_t> queued_ids() const;
  std::set<std::uint64_t> waiting_ids() const;

 private:
  struct Out {
    Note note;
    std::uint64_t number = 0;  ///< 0: it was never sent
  };
  bool has_window(std::size_t cost) const;
  void acknowledge(std::uint64_t number);

  Limits limits_;
  std::deque<Out> queue_;
  std::deque<Out> sent_;  // in the order of their numbers
  std::size_t queue_cost_ = 0;
  std::size_t sent_cost_ = 0;
  std::uint64_t last_ = 0;   // number given out
  std::size_t peer_window_;  // as it said last
  ByteSize peer_window_bytes_;
  std::size_t peer_held_ = 0;
  std::size_t peer_held_cost_ = 0;

  std::uint64_t arrived_ = 0;
  std::size_t held_ = 0;
  std::size_t held_cost_ = 0;
  std::uint64_t told_arrived_ = 0;
  std::size_t told_held_ = 0;
  std::size_t told_held_cost_ = 0;
  std::size_t fresh_cost_ = 0;  // of what arrived since
};

}  // namespace cadre::remote
