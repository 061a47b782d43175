/// The wire format of notes and handshakes between two processes. Pure; safe on any thread. Frames are not trusted:
/// sizes are checked before anything is read.
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

/// The first frame of a connection, sent by the side that opened it.
struct Hello {
  std::string group;
  Card from;
  std::uint64_t epoch = 0;  ///< of the sender
  std::uint64_t to = 0;     ///< the epoch of the receiver
  std::string ticket;       ///< of the receiver; only peers that may connect know it
  std::uint64_t line = 0;   ///< number of this connection from the sender to the receiver
};
template <class V>
void describe(V& v, Hello& h) {
  v.required("group", h.group, "Group of the sender.");
  v.required("from", h.from, "Card of the sender, with its addresses.");
  v.required("epoch", h.epoch, "Epoch of the sender.");
  v.required("to", h.to, "Epoch of the receiver.");
  v.required("ticket", h.ticket, "Ticket of the receiver.");
  v.required("line", h.line, "Number of this connection.");
}

/// The answer to a Hello.
struct Welcome {
  std::uint64_t line = 0;
  std::uint64_t arrived = 0;  ///< all earlier notes of the other side up to this number have arrived
  std::uint32_t held = 0;     ///< number of notes that wait to be taken
  std::uint64_t held_bytes = 0;
  std::uint32_t window = 0;  ///< maximum number of notes that may wait there or be in flight
  std::uint64_t window_bytes = 0;
};
template <class V>
void describe(V& v, Welcome& w) {
  v.required("line", w.line, "Number of the connection that it answers.");
  v.required("arrived", w.arrived, "Number up to which earlier notes have arrived.");
  v.required("held", w.held, "Number of notes that wait to be taken.");
  v.required("held_bytes", w.held_bytes, "Bytes of these notes.");
  v.required("window", w.window, "Maximum number of notes that may wait or be in flight.");
  v.required("window_bytes", w.window_bytes, "Maximum bytes of notes that may wait or be in flight.");
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

/// Whether it may be a handshake, by its first bytes and its size: nothing else is read from a peer that has not sent
/// a Hello.
bool is_greeting(BytesView frame);

/// Corrupt when it is none. The bodies of notes are slices of the frame.
[[nodiscard]] Result<Frame> read_frame(const Slice& frame);

}  // namespace cadre::remote
