/// Requests to run commands inside tasks and to send input. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cluster/views.h"

namespace cadre::cluster::requests {

using api::Need;
using api::Repeated;
using api::Route;

/// Runs a command inside a running task. Its output arrives in separate replies, of which the last reports its end. The
/// command is killed when its client disconnects.
struct RunExec {
  static constexpr std::string_view type_name = "exec";
  static constexpr Route route =
      Route{"POST", "/tasks/{task}/exec",
            "Runs a command inside a running task. The response has one line of JSON for each piece of output, and a "
            "last "
            "one for the end of the command. Closing the connection before that kills the command.",
            Need::editor}
          .in_lines();
  using Answer = messages::ExecNews;
  TaskId task;
  std::vector<std::string> argv;
  bool input = false;
  std::optional<Terminal> terminal{};
  std::int64_t window = 0;
};
template <class V>
void describe(V& v, RunExec& m) {
  v.required("task", m.task, "Task ID.");
  v.required("argv", m.argv, "Program and arguments.", length(1, 4096));
  v.field("input", m.input,
          "Whether the command reads what is sent to `/tasks/{task}/input`; otherwise its standard input is empty.");
  v.field("terminal", m.terminal, "Terminal on which the command runs. Default: no terminal.");
  v.field("window", m.window,
          "Maximum bytes of output in flight; the client acknowledges output with `seen` of its input. 0: a default "
          "window, in which the master acknowledges output once the connection has accepted it.",
          range(0, std::int64_t{1} << 30));
}

/// Input for a command that RunExec runs or, with `exec` 0, for a task that was submitted with `input`. The offset
/// makes retries safe.
struct SendInput {
  static constexpr std::string_view type_name = "send_input";
  static constexpr Route route =
      Route{"POST", "/tasks/{task}/input", "Sends input to a command inside a task, or to the task itself.",
            Need::editor, Repeated::idempotent}
          .without_audit();
  using Answer = InputState;
  TaskId task;
  std::uint64_t exec = 0;
  std::int64_t offset = 0;
  Bytes bytes;
  bool end = false;
  std::optional<Terminal> terminal{};
  std::int64_t seen = 0;
};
template <class V>
void describe(V& v, SendInput& m) {
  v.required("task", m.task, "Task ID.");
  v.field("exec", m.exec, "`number` of the command, as reported with its output; 0: the task itself.");
  v.field("offset", m.offset, "Bytes of input sent before this piece.", at_least(0));
  v.field("bytes", m.bytes, "The input, at most 16 KiB.");
  v.field("end", m.end, "Whether this is the end of the input.");
  v.field("terminal", m.terminal, "New size of the terminal.");
  v.field("seen", m.seen, "Bytes of the command's output received so far.", at_least(0));
  v.check(m.bytes.size() <= supervision::input_piece_max, "bytes",
          "are more than 16 KiB; send the rest in another request");
}

/// All requests about commands inside tasks.
using ExecRequest = std::variant<RunExec, SendInput>;

}  // namespace cadre::cluster::requests
