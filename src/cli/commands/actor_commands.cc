#include "cli/commands/show.h"
#include "cli/words.h"
#include "describe/utf8.h"

namespace cadre::cli {
namespace {

using cluster::requests::JobView;
namespace requests = cluster::requests;

struct ActorListOptions {
  ClientOptions client;
  requests::ListActors request;
  std::string session;
  std::int32_t most = 100;
};

/// As many as asked for, page by page.
loop::Task<Result<requests::Actors>> list_actors(CommandContext& session, const ActorListOptions& options) {
  constexpr std::int32_t page_most = 1'000;
  requests::ListActors request = options.request;
  if (!options.session.empty()) request.session = cluster::SessionId(options.session);
  requests::Actors all;
  for (std::int32_t left = options.most; left > 0;) {
    request.most = std::min(left, page_most);
    Result<requests::Actors> page = co_await ask(session, request);
    if (!page) co_return page;
    left -= static_cast<std::int32_t>(page->actors.size());
    std::move(page->actors.begin(), page->actors.end(), std::back_inserter(all.actors));
    all.next = request.before = page->next;
    if (!page->next) break;
  }
  co_return all;
}

loop::Task<int> list_actors(CommandContext& session, std::shared_ptr<const ActorListOptions> options) {
  const Result<requests::Actors> actors = co_await list_actors(session, *options);
  co_return show(session, options->client, actors, [&](const requests::Actors& one) -> std::string {
    if (one.actors.empty() && !options->request.ended) {
      return "no active actors; to include actors that have ended: cadre actor list --all\n";
    }
    return actors_text(one.actors, showing(session));
  });
}

struct KillOptions {
  ClientOptions client;
  std::vector<cluster::JobId> actors;
};

loop::Task<Result<JobView>> kill_one(CommandContext& session, cluster::JobId id) {
  const std::string number = std::to_string(id.value);
  const Result<JobView> job = co_await ask(session, requests::GetJob{id, std::nullopt});
  if (job && job->actor.empty()) {
    co_return fail(Errc::denied, "job " + number + " is not an actor; kill it with: cadre task kill " + number);
  }
  if (!job) co_return job;
  const Result<JobView> killed = co_await ask(session, requests::KillJob{id});
  co_return killed;
}

loop::Task<int> kill(CommandContext& session, std::shared_ptr<const KillOptions> options) {
  int code = done;
  std::vector<JobView> jobs;
  for (const cluster::JobId id : options->actors) {  // a failure does not spare the other actors
    const Result<JobView> job = co_await kill_one(session, id);
    if (!job) {
      const int bad = session.complain(job.error());
      code = code == done ? bad : code;
      continue;
    }
    jobs.push_back(*job);
    if (options->client.json) continue;
    const bool has_ended = job->stage == cluster::JobStage::ended;
    print("actor " + std::to_string(id.value) + " (" + describe::escaped(job->actor) + ") " +
          (has_ended ? "has ended: " + ending_words(*job) : "is being killed") + "\n");
  }
  if (options->client.json) print_json(jobs);
  co_return code;
}

struct SessionOptions {
  ClientOptions client;
  std::string session;
};

/// All of them, page by page.
loop::Task<Result<requests::Sessions>> list_all(CommandContext& session) {
  requests::ListSessions request;
  requests::Sessions all;
  for (;;) {
    Result<requests::Sessions> page = co_await ask(session, request);
    if (!page) co_return page;
    std::move(page->sessions.begin(), page->sessions.end(), std::back_inserter(all.sessions));
    if (!page->next) co_return all;
    request.after = *page->next;
  }
}

loop::Task<int> list_sessions(CommandContext& session, std::shared_ptr<const SessionOptions> options) {
  const Result<requests::Sessions> sessions = co_await list_all(session);
  co_return show(session, options->client, sessions,
                 [&](const requests::Sessions& one) { return sessions_text(one.sessions, showing(session)); });
}

loop::Task<int> end_session(CommandContext& session, std::shared_ptr<const SessionOptions> options) {
  const requests::EndSession request{cluster::SessionId(options->session)};
  const Result<requests::Done> ended = co_await ask(session, request);
  co_return show(session, options->client, ended, [&](const requests::Done&) {
    return "session " + options->session + " has ended; its jobs are being killed\n";
  });
}

}  // namespace

void add_actor_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& actor =
      add_verb(app, {"actor", "Manage actors: objects that run in their own processes", "  cadre actor list\n"});
  actor.require_subcommand(1);

  const auto listing = std::make_shared<ActorListOptions>();
  CLI::App& list_command = add_verb(
      actor, {"list", "List actors, newest first", "  cadre actor list\n  cadre actor list --all --owner ann\n"},
      listing->client);
  list_command.add_flag("--all", listing->request.ended, "Include actors that have ended");
  add_watch(list_command, listing->client);
  list_command.add_option("--session", listing->session, "Only actors of this session")->type_name("SESSION");
  list_command.add_option("--workspace", listing->request.workspace, "Only actors of this workspace")
      ->type_name("NAME");
  list_command.add_option("--owner", listing->request.owner, "Only actors of this user")->type_name("NAME");
  list_command.add_option("--most", listing->most, "Maximum number of actors to list")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  on_choice(list_command, chosen, listing, list_actors);

  add_actor_logs_command(actor, chosen);

  const auto killing = std::make_shared<KillOptions>();
  CLI::App& kill_command = add_verb(
      actor, {"kill", "Kill actors immediately", "  cadre actor kill 17\n  cadre actor kill 17 18\n"}, killing->client);
  kill_command
      .add_option_function<std::vector<std::string>>(
          "actor",
          [killing](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              const Result<cluster::TaskId> id = cluster::parse_task_id(word);
              if (!id) {
                throw CLI::ValidationError("actor",
                                           "'" + word + "' is not the number of an actor; use a number such as 17");
              }
              killing->actors.push_back(id->job);
            }
          },
          "Numbers of the actors")
      ->required()
      ->type_name("ID");
  on_choice(kill_command, chosen, killing, kill);
}

void add_session_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& session =
      add_verb(app, {"session", "List and end the sessions of programs that use actors", "  cadre session list\n"});
  session.require_subcommand(1);

  const auto listing = std::make_shared<SessionOptions>();
  CLI::App& list_command =
      add_verb(session, {"list", "List sessions of programs", "  cadre session list\n"}, listing->client);
  on_choice(list_command, chosen, listing, list_sessions);

  const auto ending = std::make_shared<SessionOptions>();
  CLI::App& end_command = add_verb(
      session, {"end", "End a session and kill its jobs immediately", "  cadre session end qkzhvmeuxwpatsdo\n"},
      ending->client);
  end_command.add_option("session", ending->session, "Session ID")->required()->type_name("SESSION");
  on_choice(end_command, chosen, ending, end_session);
}

}  // namespace cadre::cli
