#include "base/rounded.h"
#include "cli/commands/show.h"

namespace cadre::cli {
namespace {

using cluster::control::SlotState;
namespace requests = cluster::requests;

struct ListAgentsOptions {
  ClientOptions client;
};

/// All of them, page by page.
loop::Task<Result<requests::Agents>> list_agents(CommandContext& session) {
  requests::ListAgents request;
  requests::Agents all;
  for (;;) {
    Result<requests::Agents> page = co_await ask(session, request);
    if (!page) co_return page;
    std::move(page->agents.begin(), page->agents.end(), std::back_inserter(all.agents));
    if (!page->next) co_return all;
    request.after = *page->next;
  }
}

loop::Task<int> list_agents(CommandContext& session, std::shared_ptr<const ListAgentsOptions> options) {
  const Result<requests::Agents> agents = co_await list_agents(session);
  co_return show(session, options->client, agents,
                 [&](const requests::Agents& one) { return agents_text(one.agents, showing(session)); });
}

struct OneAgentOptions {
  ClientOptions client;
  std::string agent;
};

loop::Task<int> describe_agent(CommandContext& session, std::shared_ptr<const OneAgentOptions> options) {
  const requests::GetAgent request{cluster::AgentId(options->agent)};
  const Result<requests::AgentView> got = co_await ask(session, request);
  co_return show(session, options->client, got, [&](const requests::AgentView& one) { return agent_text(one); });
}

loop::Task<int> remove_agent(CommandContext& session, std::shared_ptr<const OneAgentOptions> options) {
  const requests::RemoveAgent request{cluster::AgentId(options->agent)};
  const Result<requests::Done> made = co_await ask(session, request);
  if (!made) co_return session.complain(made.error());
  if (options->client.json) {
    print_json(*made);
  } else {
    print("agent " + options->agent + " is removed: its key is revoked, and its jobs run again on other agents\n");
  }
  co_return done;
}

template <class Act>
void add_one(CLI::App& agent, Chosen& chosen, const Verb& verb, Act act) {
  const auto options = std::make_shared<OneAgentOptions>();
  CLI::App& command = add_verb(agent, verb, options->client);
  command.add_option("agent", options->agent, "Agent ID, as shown by cadre agent list")->required()->type_name("ID");
  on_choice(command, chosen, options, act);
}

struct SetAgentOptions {
  ClientOptions client;
  std::string agent;
  std::optional<std::int32_t> slot;
  SlotState state = SlotState::enabled;
};

std::string words_of(const SetAgentOptions& options) {
  const std::string what =
      options.slot ? "slot " + std::to_string(*options.slot) + " of agent " + options.agent : "agent " + options.agent;
  switch (options.state) {
    case SlotState::enabled: return what + " is enabled: it accepts tasks";
    case SlotState::draining: return what + " is draining: it accepts no new tasks, and its running tasks may finish";
    case SlotState::disabled:
      return what + " is disabled: it accepts no new tasks, and its running tasks are being stopped";
  }
  return what;
}

loop::Task<int> set_agent(CommandContext& session, std::shared_ptr<const SetAgentOptions> options) {
  Result<requests::Done> made;
  if (options->slot) {
    const requests::SetSlot request{cluster::AgentId(options->agent), *options->slot, options->state};
    made = co_await ask(session, request);
  } else {
    const requests::SetAgent request{cluster::AgentId(options->agent), options->state};
    made = co_await ask(session, request);
  }
  if (!made) co_return session.complain(made.error());
  if (options->client.json) {
    print_json(*made);
  } else {
    print(words_of(*options) + "\n");
  }
  co_return done;
}

void add_set(CLI::App& agent, Chosen& chosen, const Verb& verb, SlotState state) {
  const auto options = std::make_shared<SetAgentOptions>();
  options->state = state;
  CLI::App& command = add_verb(agent, verb, options->client);
  command.add_option("agent", options->agent, "Agent ID, as shown by cadre agent list")->required()->type_name("ID");
  command.add_option("--slot", options->slot, "Only this slot of the agent")
      ->type_name("NUMBER")
      ->check(CLI::Range(0, plan::most_slots));
  on_choice(command, chosen, options, set_agent);
}

struct JoinTokenOptions {
  ClientOptions client;
  requests::MakeJoinToken request;
  std::optional<Duration> valid;
};

struct JoinToken {
  std::string token;
  std::string pool;
  Duration valid{};
};
template <class V>
void describe(V& v, JoinToken& t) {
  v.required("token", t.token, "Token for cadre agent --join.");
  v.required("pool", t.pool, "Pool that the agent joins.");
  v.required("valid", t.valid, "Time for which the token can be used; it can be used only once.");
}

loop::Task<int> token(CommandContext& session, std::shared_ptr<const JoinTokenOptions> options) {
  requests::MakeJoinToken request = options->request;
  request.valid = options->valid.value_or(request.valid);
  const Result<requests::Text> text = co_await ask(session, request);
  if (!text) co_return session.complain(text.error());
  if (options->client.json) {
    print_json(JoinToken{text->text, request.pool, request.valid});
    co_return done;
  }
  print_error("Run this command once on the host that joins, within " + rounded(request.valid) + ":\n");
  print("cadre agent --join " + text->text + "\n");
  co_return done;
}

loop::Task<int> list_pools(CommandContext& session, std::shared_ptr<const ListAgentsOptions> options) {
  const Result<requests::Pools> got = co_await ask(session, requests::ListPools{});
  co_return show(session, options->client, got,
                 [&](const requests::Pools& one) { return pools_text(one.pools, showing(session)); });
}

loop::Task<int> list_slots(CommandContext& session, std::shared_ptr<const ListAgentsOptions> options) {
  requests::ListSlots request;  // named: g++ 12 destroys such a temporary twice
  request.most = 20'000;
  const Result<requests::Slots> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got,
                 [&](const requests::Slots& one) { return slots_text(one.slots, showing(session)); });
}

}  // namespace

void add_pool_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& pool = add_verb(app, {"pool", "List pools", "  cadre pool list\n"});
  pool.require_subcommand(1);
  const auto pools = std::make_shared<ListAgentsOptions>();
  on_choice(add_verb(pool, {"list", "List pools with their capacity and usage", "  cadre pool list\n"}, pools->client),
            chosen, pools, list_pools);
  CLI::App& slot = add_verb(app, {"slot", "List slots", "  cadre slot list\n"});
  slot.require_subcommand(1);
  const auto slots = std::make_shared<ListAgentsOptions>();
  on_choice(add_verb(slot, {"list", "List the slots of all agents and the tasks that use them", "  cadre slot list\n"},
                     slots->client),
            chosen, slots, list_slots);
}

void add_agent_verbs(CLI::App& agent, Chosen& chosen) {
  const auto listing = std::make_shared<ListAgentsOptions>();
  CLI::App& list_command =
      add_verb(agent, {"list", "List agents with their capacity and usage", "  cadre agent list\n"}, listing->client);
  on_choice(list_command, chosen, listing, list_agents);

  add_set(agent, chosen,
          {"enable", "Let an agent, or one of its slots, accept tasks again", "  cadre agent enable blue\n"},
          SlotState::enabled);
  add_set(agent, chosen,
          {"disable", "Accept no new tasks on an agent, or one of its slots, and stop its running tasks",
           "  cadre agent disable blue\n  cadre agent disable blue --slot 3\n"},
          SlotState::disabled);
  add_set(agent, chosen,
          {"drain", "Accept no new tasks on an agent, or one of its slots, and let its running tasks finish",
           "  cadre agent drain blue\n"},
          SlotState::draining);

  add_one(agent, chosen, {"describe", "Show the details of an agent", "  cadre agent describe blue\n"}, describe_agent);
  add_one(agent, chosen,
          {"remove", "Remove an agent: revoke its key, run its jobs on other agents, and free its name",
           "  cadre agent remove blue\n"},
          remove_agent);

  const auto options = std::make_shared<JoinTokenOptions>();
  CLI::App& command = add_verb(agent,
                               {"token", "Create a token with which one agent on another host can join",
                                "  cadre agent token --pool gpu --valid 10m\n"},
                               options->client);
  command.add_option("--pool", options->request.pool, "Pool that the agent joins")->capture_default_str();
  add_duration(command, "--valid", options->valid, std::chrono::seconds(1), "Time for which the token can be used")
      .default_str(to_string(options->request.valid));
  on_choice(command, chosen, options, token);
}

}  // namespace cadre::cli
