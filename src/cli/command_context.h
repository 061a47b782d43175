/// A command's talk with a master, from its options to its exit code. For the main thread.
#pragma once

#include <functional>
#include <string>

#include "cli/exit_code.h"
#include "cluster/data_folder.h"
#include "loop/calendar.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "rest/client.h"

namespace cadre::cli {

/// What every command that speaks to a master takes.
struct ClientOptions {
  std::string master;
  bool json = false;
  bool watch = false;        ///< show it again and again
  bool passes_code = false;  ///< it ends with the code of what it ran, so its own failures have one code of their own
};

struct CommandContext {
  const std::string name;  ///< of the command, before what it says on standard error
  loop::RealLoop& loop;
  rest::Client& connection;
  loop::Calendar calendar;
  bool passes_code = false;
  int exit_code = failed;

  /// Ends the command at once.
  void leave(int code) {
    exit_code = code;
    loop.stop();
  }

  /// Prints an error of a request on standard error, and gives its exit code.
  int complain(const Error& error) const { return complain(exit_code_of(error), error.message); }
  int complain(ExitCode code, const std::string& message) const;
};

enum class PassesCode : bool { no, yes };
/// Runs the body against this master to its end, and gives the exit code.
int with_master(const std::string& name, const cluster::KnownMaster& master,
                const std::function<loop::Task<int>(CommandContext&)>& body, PassesCode passes = PassesCode::no);
/// The same against the one that the options mean.
int with_master(const std::string& name, const ClientOptions& options,
                const std::function<loop::Task<int>(CommandContext&)>& body);

/// Asks, and gives the answer.
template <api::Routed T>
[[nodiscard]] loop::Task<Result<typename T::Answer>> ask(CommandContext& session, const T& request,
                                                         Duration wait = rest::answer_max) {
  return session.connection.ask(request, wait);
}

/// Writes a text to standard output, where it may wait for flush_output(), or to standard error, after all of that.
void print(std::string_view text);
void print_error(std::string_view text);
void flush_output();
/// errno of the first of these writes that failed; 0: none did.
[[nodiscard]] int write_error();

/// One value as one line of JSON.
template <class T>
void print_json(const T& value) {
  print(describe::write_json(value) + "\n");
}

}  // namespace cadre::cli
