#include "cli/access_views.h"
#include "cli/commands/show.h"

namespace cadre::cli {
namespace {

struct WorkspaceOptions {
  ClientOptions client;
  std::string workspace;
  std::string user;
  std::optional<access::Role> role;
  std::optional<std::int64_t> max_slots;
};

int show_one(const Session& session, const ClientOptions& client, const Got<access::WorkspaceView>& got) {
  return show(session, client, got,
              [&](const access::WorkspaceView& one) { return workspace_text(one, showing(session)); });
}

loop::Task<int> list(Session& session, std::shared_ptr<const WorkspaceOptions> options) {
  const Got<access::Workspaces> got = co_await ask(session, access::ListWorkspaces{});
  co_return show(session, options->client, got,
                 [&](const access::Workspaces& one) { return workspaces_text(one.workspaces, showing(session)); });
}

loop::Task<int> describe_one(Session& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::GetWorkspace request{options->workspace};
  const Got<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> create(Session& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::CreateWorkspace request{options->workspace, options->max_slots.value_or(access::unlimited)};
  const Got<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> set(Session& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::SetWorkspace request{options->workspace, options->max_slots};
  const Got<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> remove(Session& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::DeleteWorkspace request{options->workspace};
  const Got<access::Done> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got,
                 [&](const access::Done&) { return "workspace " + options->workspace + " is removed\n"; });
}

loop::Task<int> add(Session& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::SetMember request{options->workspace, options->user, options->role.value_or(access::Role::editor)};
  const Got<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> take_out(Session& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::RemoveMember request{options->workspace, options->user};
  const Got<access::Done> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got, [&](const access::Done&) {
    return options->user + " has no role in workspace " + options->workspace + " any more\n";
  });
}

using Body = loop::Task<int> (*)(Session&, std::shared_ptr<const WorkspaceOptions>);

/// A verb on one workspace.
CLI::App& add_one(CLI::App& workspace, Chosen& chosen, const Verb& verb, Body body,
                  const std::shared_ptr<WorkspaceOptions>& options) {
  CLI::App& command = add_verb(workspace, verb, options->client);
  command.add_option("workspace", options->workspace, "Which one")->required()->type_name("NAME");
  on_choice(command, chosen, options, body);
  return command;
}

}  // namespace

void add_workspace_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& workspace = add_verb(app, {"workspace", "Look after workspaces: who sees and does what",
                                       "  cadre workspace list\n  cadre workspace add vision ann --role editor\n"});
  workspace.require_subcommand(1);
  const auto fresh = [] { return std::make_shared<WorkspaceOptions>(); };

  auto options = fresh();
  on_choice(add_verb(workspace, {"list", "List the workspaces that you may see", "  cadre workspace list\n"},
                     options->client),
            chosen, options, list);
  add_one(workspace, chosen, {"describe", "Say all about one workspace", "  cadre workspace describe vision\n"},
          describe_one, fresh());

  options = fresh();
  CLI::App& making =
      add_one(workspace, chosen, {"create", "Make a new workspace", "  cadre workspace create vision --max-slots 16\n"},
              create, options);
  add_max_slots(making, options->max_slots, "Most slots that its jobs may hold together");

  options = fresh();
  CLI::App& changing =
      add_one(workspace, chosen, {"set", "Change a workspace", "  cadre workspace set vision --max-slots none\n"}, set,
              options);
  add_max_slots(changing, options->max_slots, "Most slots that its jobs may hold together").required();

  add_one(workspace, chosen,
          {"delete", "Remove a workspace in which nothing runs", "  cadre workspace delete vision\n"}, remove, fresh());

  options = fresh();
  CLI::App& adding = add_one(
      workspace, chosen,
      {"add", "Give a user a role in a workspace, or another one", "  cadre workspace add vision ann --role editor\n"},
      add, options);
  adding.add_option("user", options->user, "Who")->required()->type_name("NAME");
  add_role(adding, options->role, "viewer reads; editor creates, and changes what is his own; admin does all")
      .default_str("editor");

  options = fresh();
  CLI::App& removing =
      add_one(workspace, chosen, {"remove", "Take a user out of a workspace", "  cadre workspace remove vision ann\n"},
              take_out, options);
  removing.add_option("user", options->user, "Who")->required()->type_name("NAME");
}

}  // namespace cadre::cli
