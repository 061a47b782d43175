/// How notes and greetings are spelled on the way between two processes. Pure; safe on any thread. Nothing in a frame
/// is believed: sizes are checked before anything is taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "describe/describe.h"
#include "remote/card.h"
#include "remote/note.h"

namespace cadre::remote {

/// The first that is said over a connection, by who opened it.
struct Hello {
  std::string group;
  Card from;
  std::uint64_t epoch = 0;  ///< of who says it
  std::uint64_t to = 0;     ///< the epoch of whom it wants to speak with
  std::string ticket;       ///< that one's, which only those know who may speak with it
  std::uint64_t line = 0;   ///< numbers the connections that it opened to that one
};
template <class V>
void describe(V& v, Hello& h) {
  v.required("group", h.group, "Its group.");
  v.required("from", h.from, "Who it is, and where it can be reached itself.");
  v.required("epoch", h.epoch, "Its epoch.");
  v.required("to", h.to, "The epoch of whom it wants.");
  v.required("ticket", h.ticket, "The ticket of whom it wants.");
  v.required("line", h.line, "Which connection this is.");
}

/// The answer to it.
struct Welcome {
  std::uint64_t line = 0;
  std::uint64_t arrived = 0;  ///< of what the other sent before, all up to this number has come
  std::uint32_t held = 0;     ///< how many of them wait to be taken
  std::uint64_t held_bytes = 0;
  std::uint32_t window = 0;  ///< so many may wait there, or be under way
  std::uint64_t window_bytes = 0;
};
template <class V>
void describe(V& v, Welcome& w) {
  v.required("line", w.line, "To which connection it is the answer.");
  v.required("arrived", w.arrived, "What has come before.");
  v.required("held", w.held, "How much of it waits to be taken.");
  v.required("held_bytes", w.held_bytes, "And what that counts for.");
  v.required("window", w.window, "How much may wait there, or be under way.");
  v.required("window_bytes", w.window_bytes, "The same in bytes.");
}

/// Notes, numbered one after another, and what the sender has of those of the other side.
struct Notes {
  std::uint64_t hears = 0;         ///< the line of the other side that it listens to …
  bool is_deaf = false;            ///< … or did, but does not any more
  std::uint64_t acknowledged = 0;  ///< all up to this number has come
  std::uint32_t held = 0;          ///< how many of them wait to be taken
  std::uint64_t held_bytes = 0;    ///< and what they count for
  std::uint64_t first = 0;         ///< the number of the first note
  std::vector<Note> notes;
};

using Frame = std::variant<Hello, Welcome, Notes>;

[[nodiscard]] Bytes spell(const Hello& hello);
[[nodiscard]] Bytes spell(const Welcome& welcome);

/// Begins a frame of notes; append() adds to it, in their order.
[[nodiscard]] Bytes spell(const Notes& head);
void append(Bytes& frame, const Note& note);

/// Where the body begins in a frame that holds nothing else.
constexpr std::size_t body_offset(std::size_t tag_bytes) { return 2 + 37 + 32 + tag_bytes; }

/// What can be spelled.
constexpr std::size_t tag_bytes_max = 1'024;
constexpr std::size_t body_bytes_max = std::size_t{1} << 30;
constexpr std::size_t greeting_bytes_max = 4'096;

/// Whether it may be a greeting, by its first bytes and its size: all that is looked at of who has not said hello.
bool is_greeting(BytesView frame);

/// Corrupt when it is none. The bodies of notes are slices of the frame.
[[nodiscard]] Result<Frame> read_frame(const Slice& frame);

}  // namespace cadre::remote
