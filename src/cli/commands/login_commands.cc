#include <algorithm>

#include "cli/access_views.h"
#include "cli/commands/show.h"
#include "cli/secret_input.h"
#include "client/cluster/which_master.h"
#include "loop/file.h"

namespace cadre::cli {
namespace {

struct LoginOptions {
  ClientOptions client;
  std::string url;
  std::string user;
  std::string ca;
  bool password_stdin = false;
  std::optional<Duration> valid;
  std::string password;
};

Result<void> remember(const cluster::KnownMaster& master) {
  Result<client::Logins> logins = client::read_logins();
  if (!logins) return Failure(logins.error());
  std::erase_if(logins->masters, [&](const cluster::KnownMaster& one) { return one.url == master.url; });
  logins->masters.push_back(master);
  logins->current = master.url;
  return client::write_logins(*logins);
}

loop::Task<int> login(CommandContext& session, std::shared_ptr<const LoginOptions> options) {
  access::Login request;
  request.user = options->user;
  request.password = options->password;
  request.valid = options->valid.value_or(request.valid);
  const Result<access::NewToken> made = co_await ask(session, std::move(request));
  if (!made) co_return session.complain(made.error());
  const rest::Endpoint& at = session.connection.master();
  const cluster::KnownMaster master{at.url, options->user, made->token, at.ca_file, at.socket};
  if (const Result<void> kept = remember(master); !kept) co_return session.complain(failed, kept.error().message);
  const Result<access::TokenView> about = made->about;
  co_return show(session, options->client, about, [&](const access::TokenView& token) {
    const std::string until =
        token.expires ? " until " + to_utc(std::chrono::floor<std::chrono::seconds>(*token.expires)) : "";
    return "logged in as " + token.user + " at " + master.url + until + "\n";
  });
}

int run_login(const CLI::App& command, const std::shared_ptr<LoginOptions>& options) {
  const std::string name = full_name(command);
  Result<cluster::KnownMaster> master =
      client::find_master(options->url.empty() ? settled(command, options->client).master : options->url);
  if (!master) {
    print_error(name + ": " + master.error().message + "\n");
    return exit_code_of_usage(master.error());
  }
  Result<std::string> password = read_secret("password of " + options->user + " at " + master->url,
                                             options->password_stdin ? From::standard_input : From::terminal);
  if (!password) {
    print_error(name + ": " + password.error().message + "\n");
    return exit_code_of_usage(password.error());
  }
  options->password = *std::move(password);
  master->token.clear();
  if (!options->ca.empty()) master->ca = options->ca;
  return with_master(name, *master, [options](CommandContext& session) { return login(session, options); });
}

loop::Task<int> logout(CommandContext& session, std::shared_ptr<const LoginOptions> options) {
  Result<client::Logins> logins = client::read_logins();
  if (!logins) co_return session.complain(logins.error());
  const std::string url = session.connection.master().url;
  const auto kept = std::find_if(logins->masters.begin(), logins->masters.end(),
                                 [&](const cluster::KnownMaster& one) { return one.url == url; });
  if (kept == logins->masters.end()) co_return session.complain(failed, "you are not logged in at " + url);
  const Result<access::Done> ended = co_await ask(session, access::Logout{});
  // A token that the master refuses needs no logout.
  if (!ended && exit_code_of(ended.error()) != refused) co_return session.complain(ended.error());
  logins->masters.erase(kept);
  if (logins->current == url) logins->current.clear();
  if (const Result<void> written = client::write_logins(*logins); !written) {
    co_return session.complain(failed, written.error().message);
  }
  const Result<access::Done> got = access::Done{};
  co_return show(session, options->client, got, [&](const access::Done&) { return "logged out of " + url + "\n"; });
}

struct AuditOptions {
  ClientOptions client;
  std::int32_t most = 100;
};

loop::Task<int> audit(CommandContext& session, std::shared_ptr<const AuditOptions> options) {
  access::AuditPage all;
  for (std::int32_t left = options->most; left > 0;) {
    const access::ListAudit request{all.next, std::min(left, 1'000)};
    Result<access::AuditPage> page = co_await ask(session, request);
    if (!page) co_return session.complain(page.error());
    left -= static_cast<std::int32_t>(page->entries.size());
    std::move(page->entries.begin(), page->entries.end(), std::back_inserter(all.entries));
    all.next = page->next;
    if (all.next == 0) break;
  }
  const Result<access::AuditPage> got = std::move(all);
  co_return show(session, options->client, got,
                 [&](const access::AuditPage& one) { return audit_text(one.entries, showing(session)); });
}

}  // namespace

void add_login_commands(CLI::App& app, Chosen& chosen) {
  const auto in = std::make_shared<LoginOptions>();
  CLI::App& login_command = add_verb(app,
                                     {"login", "Log in to a master and use it for later commands",
                                      "  cadre login https://cluster.example:7310 --user ann\n"},
                                     in->client);
  login_command.add_option("url", in->url, "URL of the master; default: the master that --master selects")
      ->type_name("URL");
  login_command.add_option("--user", in->user, "User name")->required()->type_name("NAME");
  login_command.add_option("--ca", in->ca, "PEM file of trusted CA certificates; default: those of the system")
      ->type_name("FILE");
  login_command.add_flag("--password-stdin", in->password_stdin, "Read the password from standard input");
  add_duration(login_command, "--valid", in->valid, std::chrono::seconds(1), "Time for which the login is valid")
      .default_str(to_string(access::Login{}.valid));
  login_command.callback(
      [&login_command, &chosen, in] { chosen = [&login_command, in] { return run_login(login_command, in); }; });

  const auto out = std::make_shared<LoginOptions>();
  on_choice(add_verb(app, {"logout", "Log out of a master", "  cadre logout\n"}, out->client), chosen, out, logout);

  const auto looking = std::make_shared<AuditOptions>();
  CLI::App& audit_command = add_verb(
      app, {"audit", "Show the audit log of changes and refused changes, newest first", "  cadre audit --most 20\n"},
      looking->client);
  audit_command.add_option("--most", looking->most, "Maximum number of entries to show")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  on_choice(audit_command, chosen, looking, audit);
}

}  // namespace cadre::cli
