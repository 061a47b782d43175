/// What is asked of the output of tasks and of packed code over HTTP, and what is answered. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/requests.h"
#include "base/log.h"
#include "cluster/scalars.h"

namespace cadre {

constexpr auto enum_names(Level) {
  return std::array{std::pair{Level::debug, "debug"}, std::pair{Level::info, "info"},
                    std::pair{Level::warning, "warning"}, std::pair{Level::error, "error"}};
}

}  // namespace cadre

namespace cadre::cluster::requests {

enum class OutputStream : std::uint8_t { out = 1, err = 2, note = 3 };
constexpr auto enum_names(OutputStream) {
  return std::array{std::pair{OutputStream::out, "out"}, std::pair{OutputStream::err, "err"},
                    std::pair{OutputStream::note, "note"}};
}

struct LogLine {
  static constexpr std::string_view doc = "One line that a task wrote.";
  TimePoint time;
  OutputStream stream = OutputStream::out;
  Level level = Level::info;
  std::optional<std::string> text;
  std::optional<Bytes> bytes;
  bool continues = false;
};
template <class V>
void describe(V& v, LogLine& m) {
  v.required("time", m.time, "When it was written.");
  v.field("stream", m.stream, "Standard output or error; `note`: said by the system, not by the program.");
  v.field("level", m.level, "As the line itself says it.");
  v.field("text", m.text, "The line, if it is valid UTF-8.");
  v.field("bytes", m.bytes, "The line, if it is not.");
  v.field("continues", m.continues, "Whether it goes on in the next of its stream, without a line end.");
}

struct LogPage {
  static constexpr std::string_view type_name = "log_page";
  static constexpr std::string_view doc = "Some of the output of one lease of a task.";
  TaskId task;
  std::int32_t rank = 0;
  std::uint64_t epoch = 0;
  std::int64_t offset = 0;
  std::int64_t next = 0;
  std::vector<LogLine> lines;
};
template <class V>
void describe(V& v, LogPage& m) {
  v.required("task", m.task, "Of which task.");
  v.field("rank", m.rank, "Its rank in its job.");
  v.field("epoch", m.epoch, "Of which of its leases.");
  v.field("offset", m.offset, "Where what is here begins; if that is more than was asked for, the rest is gone.");
  v.field("next", m.next, "Ask for this offset next.");
  v.field("lines", m.lines, "The lines.");
}

/// The output of one lease of a task from an offset on, the end of which is the `next` of the page.
struct ReadLogs {
  static constexpr std::string_view type_name = "read_logs";
  static constexpr access::Route route{"GET", "/tasks/{task}/logs",
                                       "What a task wrote, page by page; over a WebSocket, page after page as it "
                                       "comes.",
                                       access::Need::viewer};
  using Answer = LogPage;
  TaskId task;
  std::optional<std::uint64_t> epoch;
  std::int64_t offset = 0;
  std::int64_t tail = 0;
  std::optional<TimePoint> since;
  std::optional<Level> level;
  std::string grep;
  bool wait = false;
};
template <class V>
void describe(V& v, ReadLogs& m) {
  v.required("task", m.task, "Which one.");
  v.field("epoch", m.epoch, "Of which lease; left out: the last.");
  v.field("offset", m.offset, "Where to begin: 0, or `next` of an earlier page.", describe::at_least(0));
  v.field("tail", m.tail, "Begin so many lines before the end instead.", describe::range(0, 1'000'000));
  v.field("since", m.since, "Only lines from this time on.");
  v.field("level", m.level, "Only lines of at least this level.");
  v.field("grep", m.grep, "Only lines that contain this text.", describe::length(0, 1024));
  v.field("wait", m.wait, "If there is nothing (more) yet, wait up to some 20 s for it.");
}

struct CodeState {
  static constexpr std::string_view type_name = "code_state";
  static constexpr std::string_view doc = "How much of a pack of code is there.";
  std::int64_t have = 0;
  bool complete = false;
};
template <class V>
void describe(V& v, CodeState& m) {
  v.field("have", m.have, "Bytes that are there, from its beginning on.");
  v.field("complete", m.complete, "Whether that is all, and its hash is right.");
}

struct GetCode {
  static constexpr std::string_view type_name = "get_code";
  static constexpr access::Route route{"GET", "/code/{hash}", "How much of a pack of code is there.",
                                       access::Need::token};
  using Answer = CodeState;
  std::string hash;
};
template <class V>
void describe(V& v, GetCode& m) {
  v.required("hash", m.hash, "SHA-256 of the pack, in hexadecimal digits.", describe::length(64, 64));
}

struct PutCode {
  static constexpr std::string_view type_name = "put_code";
  static constexpr access::Route route{
      "PUT", "/code/{hash}", "The next bytes of a pack of code, 1 MiB at most; go on from where the answer says.",
      access::Need::token, access::Body::bytes};
  using Answer = CodeState;
  std::string hash;
  std::int64_t size = 0;
  std::int64_t offset = 0;
};
template <class V>
void describe(V& v, PutCode& m) {
  v.required("hash", m.hash, "SHA-256 of the pack, in hexadecimal digits.", describe::length(64, 64));
  v.required("size", m.size, "Of the whole pack.", describe::at_least(0));
  v.required("offset", m.offset, "Of these bytes.", describe::at_least(0));
}

}  // namespace cadre::cluster::requests
