/// Passes standard input on to a program inside a task, in order and once each, with the size of the terminal and how
/// much of its output was seen. For the thread of the session's loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>

#include "cli/command_context.h"
#include "cluster/requests.h"
#include "loop/inbox.h"
#include "loop/signals.h"
#include "loop/tasks.h"

namespace cadre::cli {

/// Reads a descriptor on a thread of its own, since files, pipes and terminals all may block, and hands on what it
/// reads, a bounded amount ahead of who takes it.
class InputReader {
 public:
  struct Piece {
    std::string bytes;  ///< empty: that was the end
  };
  /// Calls `on_piece` on its thread.
  InputReader(int descriptor, std::function<void(Piece)> on_piece);
  InputReader(const InputReader&) = delete;
  InputReader& operator=(const InputReader&) = delete;
  ~InputReader();

  /// One piece was taken: another may be read.
  void taken();

 private:
  void read_all(int descriptor, const std::function<void(Piece)>& on_piece);

  struct Gate;
  std::unique_ptr<Gate> gate_;
  std::thread thread_;
};

/// Whether standard input may be read: not by a command in the background of a terminal, which would be stopped.
bool may_read_input();

class InputSender {
 public:
  struct Options {
    cluster::TaskId task;
    std::uint64_t exec = 0;     ///< 0: the task itself, which is waited for until it runs
    int descriptor = 0;         ///< what is read; -1: nothing
    bool has_terminal = false;  ///< its size is passed on
    std::int64_t window = 0;    ///< of output that may be under way
  };
  InputSender(CommandContext& session, const Options& options);

  /// So much more of its output was seen.
  void saw(std::size_t bytes);

 private:
  struct Resized {};
  struct Seen {};
  using Event = std::variant<InputReader::Piece, Resized, Seen>;

  loop::Task<void> run();
  /// Until all of it was taken; false: it takes no more.
  loop::Task<bool> send(std::string bytes, bool end, std::optional<cluster::Terminal> terminal);

  CommandContext& session_;
  const Options options_;
  std::int64_t offset_ = 0;
  std::int64_t seen_ = 0;
  std::int64_t seen_told_ = 0;
  loop::Inbox<Event> events_;
  std::optional<loop::SignalWatch> resizes_;
  std::unique_ptr<InputReader> reader_;
  loop::Tasks tasks_;
};

}  // namespace cadre::cli
