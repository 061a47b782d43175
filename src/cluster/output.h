/// Requests and responses over HTTP for the output of tasks and for packed code. Values; safe on any thread.
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
  static constexpr std::string_view doc = "One line of task output.";
  TimePoint time;
  OutputStream stream = OutputStream::out;
  Level level = Level::info;
  std::optional<std::string> text;
  std::optional<Bytes> bytes;
  bool continues = false;
};
template <class V>
void describe(V& v, LogLine& m) {
  v.required("time", m.time, "Time at which it was written.");
  v.field("stream", m.stream, "Standard output or error; `note`: written by the system, not by the program.");
  v.field("level", m.level, "Log level, as detected in the line.");
  v.field("text", m.text, "The line, if it is valid UTF-8.");
  v.field("bytes", m.bytes, "The line, if it is not valid UTF-8.");
  v.field("continues", m.continues, "Whether the line continues in the next entry of its stream.");
}

struct LogPage {
  static constexpr std::string_view type_name = "log_page";
  static constexpr std::string_view doc = "A page of the output of one lease of a task.";
  TaskId task;
  std::int32_t rank = 0;
  std::uint64_t epoch = 0;
  std::int64_t offset = 0;
  std::int64_t next = 0;
  std::vector<LogLine> lines;
};
template <class V>
void describe(V& v, LogPage& m) {
  v.required("task", m.task, "Task ID.");
  v.field("rank", m.rank, "Rank of the task in its job.");
  v.field("epoch", m.epoch, "Epoch of the lease.");
  v.field("offset", m.offset,
          "Offset at which the page begins; if larger than requested, the output before it is lost.");
  v.field("next", m.next, "Offset of the next page.");
  v.field("lines", m.lines, "The lines.");
}

/// The output of one lease of a task from an offset on, the end of which is the `next` of the page.
struct ReadLogs {
  static constexpr std::string_view type_name = "read_logs";
  static constexpr api::Route route{
      "GET", "/tasks/{task}/logs",
      "Returns the output of a task in pages; over a WebSocket, sends pages as they arrive.", api::Need::viewer};
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
  v.required("task", m.task, "Task ID.");
  v.field("epoch", m.epoch, "Epoch of the lease. Default: the last one.");
  v.field("offset", m.offset, "Offset at which to begin: 0, or `next` of an earlier page.", describe::at_least(0));
  v.field("tail", m.tail, "Begin this many lines before the end instead.", describe::range(0, 1'000'000));
  v.field("since", m.since, "Only lines written at or after this time.");
  v.field("level", m.level, "Only lines of at least this level.");
  v.field("grep", m.grep, "Only lines that contain this text.", describe::length(0, 1024));
  v.field("wait", m.wait, "Whether to wait for output if there is none yet, at most about 20 s.");
}

struct CodeState {
  static constexpr std::string_view type_name = "code_state";
  static constexpr std::string_view doc = "How much of the packed code is stored.";
  std::int64_t have = 0;
  bool complete = false;
};
template <class V>
void describe(V& v, CodeState& m) {
  v.field("have", m.have, "Number of bytes stored, from the beginning.");
  v.field("complete", m.complete, "Whether all of it is stored and its hash is correct.");
}

struct GetCode {
  static constexpr std::string_view type_name = "get_code";
  static constexpr api::Route route{"GET", "/code/{hash}", "Returns how much of the packed code is stored.",
                                    api::Need::token};
  using Answer = CodeState;
  std::string hash;
};
template <class V>
void describe(V& v, GetCode& m) {
  v.required("hash", m.hash, "SHA-256 of the packed code, in hexadecimal digits.", describe::length(64, 64));
}

struct PutCode {
  static constexpr std::string_view type_name = "put_code";
  static constexpr api::Route route =
      api::Route{"PUT", "/code/{hash}",
                 "Uploads the next bytes of packed code, at most 1 MiB; continue at `have` of the response.",
                 api::Need::token}
          .with_bytes();
  using Answer = CodeState;
  std::string hash;
  std::int64_t size = 0;
  std::int64_t offset = 0;
};
template <class V>
void describe(V& v, PutCode& m) {
  v.required("hash", m.hash, "SHA-256 of the packed code, in hexadecimal digits.", describe::length(64, 64));
  v.required("size", m.size, "Size of the whole packed code, in bytes.", describe::at_least(0));
  v.required("offset", m.offset, "Offset of these bytes.", describe::at_least(0));
}

}  // namespace cadre::cluster::requests
