#include "cli/command_context.h"

#include <cerrno>
#include <cstdio>

#include "client/cluster/which_master.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

int first_write_error = 0;

void note_write(bool is_done) {
  if (!is_done && first_write_error == 0) first_write_error = errno;
}

loop::Task<void> run_body(CommandContext& session, loop::Task<int> body) {
  const int code = co_await std::move(body);
  session.leave(code);
}

}  // namespace

int CommandContext::complain(ExitCode code, const std::string& message) const {
  print_error(name + ": " + describe::escaped_lines(message) + "\n");
  return passes_code ? own_failure : code;
}

int with_master(const std::string& name, const ClientOptions& options,
                const std::function<loop::Task<int>(CommandContext&)>& body) {
  const Result<cluster::KnownMaster> master = client::find_master(options.master);
  if (!master) {
    print_error(name + ": " + master.error().message + "\n");
    return options.passes_code ? own_failure : exit_code_of_usage(master.error());
  }
  return with_master(name, *master, body, options.passes_code ? PassesCode::yes : PassesCode::no);
}

int with_master(const std::string& name, const cluster::KnownMaster& master,
                const std::function<loop::Task<int>(CommandContext&)>& body, PassesCode passes) {
  loop::RealLoop loop;
  rest::Client connection(loop, client::endpoint_of(master), {.naming = std::string(client::naming_by_option)});
  CommandContext session{name, loop, connection, loop::Calendar(loop), passes == PassesCode::yes};
  loop.spawn(run_body(session, body(session)));
  loop.run();
  loop.destroy_tasks();  // before what they talk over
  flush_output();
  return session.exit_code;
}

namespace {

void write_to(std::FILE* stream, std::string_view text) {
  if (text.empty()) return;  // it may have no address, which fwrite does not take
  note_write(std::fwrite(text.data(), 1, text.size(), stream) == text.size());
}

}  // namespace

void print(std::string_view text) { write_to(stdout, text); }

void print_error(std::string_view text) {
  flush_output();
  write_to(stderr, text);
}

void flush_output() { note_write(std::fflush(stdout) == 0); }

int write_error() { return first_write_error; }

}  // namespace cadre::cli
