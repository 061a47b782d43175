#include "cli/access_views.h"
#include "cli/commands/show.h"
#include "cli/secret_input.h"

namespace cadre::cli {
namespace {

struct UserOptions {
  ClientOptions client;
  std::string name;
  bool password_stdin = false;
  bool is_admin = false;
  bool is_no_admin = false;
  bool is_active = false;
  bool is_inactive = false;
  bool without_password = false;
  std::optional<std::int64_t> max_slots;
  std::string workspace = api::default_workspace;
  std::optional<access::Role> role;
  std::optional<std::string> password;
  std::optional<std::string> old_password;
  std::optional<std::string> unix_user;
};

From from_of(const UserOptions& options) { return options.password_stdin ? From::standard_input : From::terminal; }

loop::Task<int> me(CommandContext& session, std::shared_ptr<const UserOptions> options) {
  const Result<access::Me> got = co_await ask(session, access::GetMe{});
  co_return show(session, options->client, got, [&](const access::Me& one) {
    const std::string task = one.task.empty() ? "" : "as task " + one.task + "\n";
    return user_text(one.user, showing(session)) + task;
  });
}

loop::Task<int> list_users(CommandContext& session, std::shared_ptr<const UserOptions> options) {
  access::ListUsers request;
  request.most = 1'000;
  access::Users all;
  for (;;) {
    Result<access::Users> page = co_await ask(session, request);
    if (!page) co_return session.complain(page.error());
    std::move(page->users.begin(), page->users.end(), std::back_inserter(all.users));
    if (page->next.empty()) break;
    request.after = page->next;
  }
  const Result<access::Users> got = std::move(all);
  co_return show(session, options->client, got,
                 [&](const access::Users& one) { return users_text(one.users, showing(session)); });
}

loop::Task<int> describe_user(CommandContext& session, std::shared_ptr<const UserOptions> options) {
  access::GetUser request{options->name};
  const Result<access::UserView> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got,
                 [&](const access::UserView& one) { return user_text(one, showing(session)); });
}

loop::Task<int> create_user(CommandContext& session, std::shared_ptr<const UserOptions> options) {
  access::CreateUser request{options->name, options->password.value_or(""), options->is_admin,
                             options->max_slots.value_or(access::unlimited), options->unix_user.value_or("")};
  Result<access::UserView> user = co_await ask(session, std::move(request));
  if (user && options->role) {
    access::SetMember membership{options->workspace, options->name, *options->role};
    const Result<access::WorkspaceView> joined = co_await ask(session, std::move(membership));
    if (!joined) co_return session.complain(joined.error());
    user->workspaces[options->workspace] = *options->role;
  }
  co_return show(session, options->client, user,
                 [&](const access::UserView& one) { return user_text(one, showing(session)); });
}

loop::Task<int> set_user(CommandContext& session, std::shared_ptr<const UserOptions> options) {
  access::SetUser request;
  request.user = options->name;
  request.max_slots = options->max_slots;
  request.password = options->password;
  request.old_password = options->old_password;
  request.unix_user = options->unix_user;
  if (options->is_admin || options->is_no_admin) request.is_admin = options->is_admin;
  if (options->is_active || options->is_inactive) request.is_active = options->is_active;
  const Result<access::UserView> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got,
                 [&](const access::UserView& one) { return user_text(one, showing(session)); });
}

loop::Task<int> remove_user(CommandContext& session, std::shared_ptr<const UserOptions> options) {
  access::DeleteUser request{options->name};
  const Result<access::Done> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got,
                 [&](const access::Done&) { return "user " + options->name + " is deleted\n"; });
}

/// Asks for passwords before it connects to a master.
void on_choice_with_password(CLI::App& command, Chosen& chosen, const std::shared_ptr<UserOptions>& options,
                             Result<void> (*read)(UserOptions&),
                             loop::Task<int> (*body)(CommandContext&, std::shared_ptr<const UserOptions>)) {
  command.callback([&command, &chosen, options, read, body] {
    chosen = [&command, options, read, body] {
      if (const Result<void> got = read(*options); !got) {
        print_error(full_name(command) + ": " + got.error().message + "\n");
        return static_cast<int>(exit_code_of_usage(got.error()));
      }
      return with_master(full_name(command), settled(command, options->client),
                         [options, body](CommandContext& session) { return body(session, options); });
    };
  });
}

Result<void> read_first_password(UserOptions& options) {
  if (options.without_password) return {};
  Result<std::string> password = read_new_secret("password for " + options.name, from_of(options));
  if (!password) return Failure(password.error());
  options.password = *std::move(password);
  return {};
}

Result<void> read_changed_password(UserOptions& options) {
  if (options.without_password) {
    options.password = "";
    return {};
  }
  if (!options.password_stdin) {
    Result<std::string> old =
        read_secret("current password (empty if there is none, or to change that of another user)", From::terminal);
    if (!old) return Failure(old.error());
    if (!old->empty()) options.old_password = *std::move(old);
  }
  return read_first_password(options);
}

void add_unix_user(CLI::App& command, std::optional<std::string>& unix_user) {
  command
      .add_option("--unix-user", unix_user, "Unix account for the user's tasks on agents that run as root; '' for none")
      ->type_name("ACCOUNT");
}

CLI::App& add_user_verb(CLI::App& user, const Verb& verb, UserOptions& options) {
  CLI::App& command = add_verb(user, verb, options.client);
  command.add_option("user", options.name, "User name")->required()->type_name("NAME");
  return command;
}

void add_create(CLI::App& user, Chosen& chosen) {
  const auto options = std::make_shared<UserOptions>();
  CLI::App& command = add_user_verb(user,
                                    {"create", "Create a user",
                                     "  cadre user create ann --role editor --max-slots 4\n"
                                     "  cadre user create robot --no-password --role viewer --workspace vision\n"
                                     "  echo \"$SECRET\" | cadre user create bob --password-stdin --role editor\n"},
                                    *options);
  command.add_flag("--password-stdin", options->password_stdin, "Read the password from standard input");
  command.add_flag("--no-password", options->without_password,
                   "Set no password: the user can authenticate only with tokens");
  command.add_flag("--admin", options->is_admin, "Make the user an admin of the cluster");
  add_max_slots(command, options->max_slots, "Maximum number of slots that all jobs of the user may hold");
  add_unix_user(command, options->unix_user);
  add_role(command, options->role, "Role in the workspace: viewer, editor or admin; default: no role");
  command.add_option("--workspace", options->workspace, "Workspace for --role")
      ->capture_default_str()
      ->type_name("NAME");
  on_choice_with_password(command, chosen, options, read_first_password, create_user);
}

void add_set(CLI::App& user, Chosen& chosen) {
  const auto options = std::make_shared<UserOptions>();
  CLI::App& command = add_user_verb(user,
                                    {"set", "Change a user",
                                     "  cadre user set ann --max-slots 8\n  cadre user set ann --max-slots none\n"
                                     "  cadre user set bob --inactive\n  cadre user set ann --unix-user ann\n"},
                                    *options);
  CLI::Option_group& what = *command.add_option_group("what");
  add_max_slots(what, options->max_slots, "Maximum number of slots that all jobs of the user may hold");
  add_unix_user(what, options->unix_user);
  CLI::Option* admin = what.add_flag("--admin", options->is_admin, "Make the user an admin of the cluster");
  what.add_flag("--no-admin", options->is_no_admin, "Remove the admin role from the user")->excludes(admin);
  CLI::Option* active = what.add_flag("--active", options->is_active, "Let the user use the cluster again");
  what.add_flag("--inactive", options->is_inactive, "Refuse the user and their tokens; their jobs continue")
      ->excludes(active);
  what.require_option(1, 0);
  on_choice(command, chosen, options, set_user);
}

}  // namespace

CLI::Option& add_role(CLI::App& command, std::optional<access::Role>& role, const std::string& help) {
  return *command
              .add_option_function<std::string>(
                  "--role",
                  [&role](const std::string& text) {
                    const auto read = describe::read<access::Role>(describe::Value(text));
                    if (!read) throw CLI::ValidationError("--role", read.error().begin()->message);
                    role = *read;
                  },
                  help)
              ->type_name("ROLE");
}

void add_user_commands(CLI::App& app, Chosen& chosen) {
  const auto self = std::make_shared<UserOptions>();
  CLI::App& me_command =
      add_verb(app, {"me", "Show your user account, roles and limits", "  cadre me\n"}, self->client);
  on_choice(me_command, chosen, self, me);

  CLI::App& user =
      add_verb(app, {"user", "Manage users", "  cadre user list\n  cadre user create ann --role editor\n"});
  user.require_subcommand(1);
  const auto listing = std::make_shared<UserOptions>();
  on_choice(add_verb(user, {"list", "List users", "  cadre user list\n"}, listing->client), chosen, listing,
            list_users);
  const auto one = std::make_shared<UserOptions>();
  on_choice(add_user_verb(user, {"describe", "Show the details of a user", "  cadre user describe ann\n"}, *one),
            chosen, one, describe_user);
  add_create(user, chosen);
  add_set(user, chosen);

  const auto secret = std::make_shared<UserOptions>();
  CLI::App& password = add_user_verb(
      user, {"password", "Change the password of a user: your own or, as an admin, any", "  cadre user password ann\n"},
      *secret);
  password.add_flag("--password-stdin", secret->password_stdin, "Read the new password from standard input");
  password.add_flag("--no-password", secret->without_password,
                    "Remove the password: the user can authenticate only with tokens");
  on_choice_with_password(password, chosen, secret, read_changed_password, set_user);

  const auto gone = std::make_shared<UserOptions>();
  on_choice(
      add_user_verb(
          user, {"delete", "Delete a user without active jobs, and their tokens", "  cadre user delete ann\n"}, *gone),
      chosen, gone, remove_user);
}

}  // namespace cadre::cli
