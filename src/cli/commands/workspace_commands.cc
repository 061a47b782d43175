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

int show_one(const CommandContext& session, const ClientOptions& client, const Result<access::WorkspaceView>& got) {
  return show(session, client, got,
              [&](const access::WorkspaceView& one) { return workspace_text(one, showing(session)); });
}

loop::Task<int> list_workspaces(CommandContext& session, std::shared_ptr<const WorkspaceOptions> options) {
  const Result<access::Workspaces> got = co_await ask(session, access::ListWorkspaces{});
  co_return show(session, options->client, got,
                 [&](const access::Workspaces& one) { return workspaces_text(one.workspaces, showing(session)); });
}

loop::Task<int> describe_workspace(CommandContext& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::GetWorkspace request{options->workspace};
  const Result<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> create_workspace(CommandContext& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::CreateWorkspace request{options->workspace, options->max_slots.value_or(access::unlimited)};
  const Result<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> set_workspace(CommandContext& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::SetWorkspace request{options->workspace, options->max_slots};
  const Result<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> remove_workspace(CommandContext& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::DeleteWorkspace request{options->workspace};
  const Result<access::Done> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got,
                 [&](const access::Done&) { return "workspace " + options->workspace + " is deleted\n"; });
}

loop::Task<int> add(CommandContext& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::SetMember request{options->workspace, options->user, options->role.value_or(access::Role::editor)};
  const Result<access::WorkspaceView> got = co_await ask(session, std::move(request));
  co_return show_one(session, options->client, got);
}

loop::Task<int> take_out(CommandContext& session, std::shared_ptr<const WorkspaceOptions> options) {
  access::RemoveMember request{options->workspace, options->user};
  const Result<access::Done> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got, [&](const access::Done&) {
    return options->user + " no longer has a role in workspace " + options->workspace + "\n";
  });
}

using Body = loop::Task<int> (*)(CommandContext&, std::shared_ptr<const WorkspaceOptions>);

/// A verb on one workspace.
CLI::App& add_one(CLI::App& workspace, Chosen& chosen, const Verb& verb, Body body,
                  const std::shared_ptr<WorkspaceOptions>& options) {
  CLI::App& command = add_verb(workspace, verb, options->client);
  command.add_option("workspace", options->workspace, "Workspace name")->required()->type_name("NAME");
  on_choice(command, chosen, options, body);
  return command;
}

}  // namespace

void add_workspace_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& workspace = add_verb(app, {"workspace", "Manage workspaces and the roles of users in them",
                                       "  cadre workspace list\n  cadre workspace add vision ann --role editor\n"});
  workspace.require_subcommand(1);
  const auto fresh = [] { return std::make_shared<WorkspaceOptions>(); };

  auto options = fresh();
  on_choice(add_verb(workspace, {"list", "List the workspaces that you can see", "  cadre workspace list\n"},
                     options->client),
            chosen, options, list_workspaces);
  add_one(workspace, chosen, {"describe", "Show the details of a workspace", "  cadre workspace describe vision\n"},
          describe_workspace, fresh());

  options = fresh();
  CLI::App& making =
      add_one(workspace, chosen, {"create", "Create a workspace", "  cadre workspace create vision --max-slots 16\n"},
              create_workspace, options);
  add_max_slots(making, options->max_slots, "Maximum number of slots that all jobs of the workspace may hold");

  options = fresh();
  CLI::App& changing =
      add_one(workspace, chosen, {"set", "Change a workspace", "  cadre workspace set vision --max-slots none\n"},
              set_workspace, options);
  add_max_slots(changing, options->max_slots, "Maximum number of slots that all jobs of the workspace may hold")
      .required();

  add_one(workspace, chosen, {"delete", "Delete a workspace without active jobs", "  cadre workspace delete vision\n"},
          remove_workspace, fresh());

  options = fresh();
  CLI::App& adding = add_one(workspace, chosen,
                             {"add", "Give a user a role in a workspace, or change that role",
                              "  cadre workspace add vision ann --role editor\n"},
                             add, options);
  adding.add_option("user", options->user, "User name")->required()->type_name("NAME");
  add_role(adding, options->role,
           "viewer reads; editor also creates objects and changes their own; admin also changes those of others and "
           "assigns roles")
      .default_str("editor");

  options = fresh();
  CLI::App& removing =
      add_one(workspace, chosen, {"remove", "Remove a user from a workspace", "  cadre workspace remove vision ann\n"},
              take_out, options);
  removing.add_option("user", options->user, "User name")->required()->type_name("NAME");
}

}  // namespace cadre::cli
