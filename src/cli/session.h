/// A command's talk with a master, from its options to its exit code. For the main thread.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "cli/connection.h"
#include "cli/exit_code.h"
#include "loop/calendar.h"
#include "loop/real_loop.h"
#include "loop/task.h"

namespace cadre::cli {

/// What every command that speaks to a master takes.
struct ClientOptions {
  std::string master;
  bool json = false;
};

/// Why a command did not get what it wanted, and what it ends with.
struct Refusal {
  ExitCode code = failed;
  std::string message;
  bool operator==(const Refusal&) const = default;
};

template <class T>
using Got = tl::expected<T, Refusal>;
using NotGot = tl::unexpected<Refusal>;

/// No answer came.
[[nodiscard]] Refusal refusal_of(const Error& error);
/// The master said no.
[[nodiscard]] Refusal refusal_of(const cluster::requests::Failed& failed);

struct Session {
  const std::string name;  ///< of the command, before what it says on standard error
  loop::RealLoop& loop;
  Connection& connection;
  loop::Calendar calendar;
  int exit_code = failed;

  /// Ends the command at once.
  void leave(int code) {
    exit_code = code;
    loop.stop();
  }

  /// Says it on standard error, and gives the exit code.
  int complain(const Refusal& refusal) const;
};

/// Connects, runs the body to its end, and gives the exit code.
int with_master(const std::string& name, const ClientOptions& options,
                const std::function<loop::Task<int>(Session&)>& body);

/// The answer, if it is a T.
template <class T>
[[nodiscard]] Got<T> as(Result<cluster::requests::Reply> reply) {
  if (!reply) return NotGot(refusal_of(reply.error()));
  if (const auto* no = std::get_if<cluster::requests::Failed>(&*reply)) return NotGot(refusal_of(*no));
  if (auto* wanted = std::get_if<T>(&*reply)) return std::move(*wanted);
  return NotGot(Refusal{failed, "the master gave an answer of another kind; is it of another version?"});
}

/// Asks, and gives the answer, if it is a T.
template <class T>
[[nodiscard]] loop::Task<Got<T>> ask_for(Session& session, cluster::requests::Request request,
                                         Duration wait = answer_max) {
  Result<cluster::requests::Reply> reply = co_await session.connection.ask(std::move(request), wait);
  co_return as<T>(std::move(reply));
}

/// Writes a text to standard output, where it may wait for flush_output(), or to standard error, after all of that.
void print(std::string_view text);
void print_error(std::string_view text);
void flush_output();

/// One value as one line of JSON.
template <class T>
void print_json(const T& value) {
  print(describe::write_json(value) + "\n");
}

}  // namespace cadre::cli
