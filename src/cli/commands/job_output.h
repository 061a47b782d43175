/// The output of the tasks of a job, for commands that show it. For the thread of the session's loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/verb.h"
#include "cli/follow.h"
#include "cli/line_printer.h"
#include "experiment/ids.h"

namespace cadre::cli {

/// Which output is shown.
struct OutputOptions {
  bool follow = false;
  std::int64_t tail = 0;
  std::optional<Duration> since;
  std::optional<std::uint64_t> epoch;
  std::optional<std::int32_t> rank;
  LineFilter filter;
};
/// Adds -f, --tail, --since, --level and --grep.
void add_output_options(CLI::App& command, OutputOptions& options);

/// Gets a line, and how many tasks of its job are shown.
using OnJobLine = std::function<void(cluster::TaskId, const logs::Line&, std::size_t)>;

/// Shows the output of a job or a task, to the end if it is followed. The exit code; complains about what went wrong.
[[nodiscard]] loop::Task<int> show_output(CommandContext& session, Target target, const OutputOptions& options,
                                          const OnJobLine& on_line);

struct OutputLine {
  std::optional<experiment::TrialId> trial;
  cluster::TaskId task;
  TimePoint time;
  std::string stream;
  std::string text;
  bool continues = false;
};
template <class V>
void describe(V& v, OutputLine& l) {
  v.field("trial", l.trial, "Trial to which the task belongs; only in the output of experiments and trials.");
  v.required("task", l.task, "Task that wrote the line.");
  v.required("time", l.time, "When it was written.");
  v.required("stream", l.stream, "out, err, or note for a message from cadre.");
  v.required("text", l.text, "The line.");
  v.field("continues", l.continues, "Whether the line continues in the next one, or ended without a newline.");
}

/// Prints lines, as text or as JSON.
class LineSink {
 public:
  /// What is followed has no end and comes line by line; all else is one JSON value.
  enum class Form : std::uint8_t { text, json_lines, json_list };
  explicit LineSink(Form form);
  static Form form_of(const ClientOptions& client, const OutputOptions& options);

  void take(cluster::TaskId task, const logs::Line& line, const std::string& prefix,
            std::optional<experiment::TrialId> trial = std::nullopt);
  void finish() const;

 private:
  const Form form_;
  LinePrinter printer_;
  std::vector<OutputLine> lines_;
};

/// The code of a task that runs beside others; the first failure counts.
[[nodiscard]] loop::Task<void> note_code(loop::Task<int> task, int& code);

}  // namespace cadre::cli
