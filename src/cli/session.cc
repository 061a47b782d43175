#include "cli/session.h"

#include <cstdio>

#include "cli/which_master.h"

namespace cadre::cli {
namespace {

loop::Task<void> run_body(Session& session, loop::Task<int> body) {
  const int code = co_await std::move(body);
  session.leave(code);
}

}  // namespace

Refusal refusal_of(const Error& error) { return {error.code == Errc::corrupt ? failed : unreachable, error.message}; }

Refusal refusal_of(const cluster::requests::Failed& no) {
  const bool declined = no.code == Errc::denied || no.code == Errc::conflict || no.code == Errc::invalid;
  if (no.code == Errc::unavailable) return {unreachable, no.message};
  return {declined ? refused : failed, no.message};
}

int Session::complain(const Refusal& refusal) const {
  print_error(name + ": " + refusal.message + "\n");
  return refusal.code;
}

int with_master(const std::string& name, const ClientOptions& options,
                const std::function<loop::Task<int>(Session&)>& body) {
  Result<cluster::DataFolder> folder = find_master(options.master);
  if (!folder) {
    print_error(name + ": " + folder.error().message + "\n");
    return bad_usage;
  }
  loop::RealLoop loop;
  auto connection = Connection::open(loop, *std::move(folder));
  if (!connection) {
    print_error(name + ": " + connection.error().message + "\n");
    return refusal_of(connection.error()).code;
  }
  Session session{name, loop, **connection, loop::Calendar(loop)};
  loop.spawn(run_body(session, body(session)));
  loop.run();
  loop.destroy_tasks();  // before what they talk over
  flush_output();
  return session.exit_code;
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_error(std::string_view text) {
  flush_output();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void flush_output() { std::fflush(stdout); }

}  // namespace cadre::cli
