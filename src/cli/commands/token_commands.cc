#include "cli/access_views.h"
#include "cli/commands/show.h"

namespace cadre::cli {
namespace {

struct TokenOptions {
  ClientOptions client;
  access::ListTokens listing;
  access::CreateToken creation;
  std::string id;
};

loop::Task<int> list_tokens(CommandContext& session, std::shared_ptr<const TokenOptions> options) {
  const Result<access::Tokens> got = co_await ask(session, options->listing);
  co_return show(session, options->client, got,
                 [&](const access::Tokens& one) { return tokens_text(one.tokens, showing(session)); });
}

loop::Task<int> create_token(CommandContext& session, std::shared_ptr<const TokenOptions> options) {
  const Result<access::NewToken> got = co_await ask(session, options->creation);
  if (got && !options->client.json) {
    print_error("A token for " + got->about.user + ", shown only once; use it as CADRE_TOKEN:\n");
  }
  co_return show(session, options->client, got, [&](const access::NewToken& one) { return one.token + "\n"; });
}

loop::Task<int> revoke(CommandContext& session, std::shared_ptr<const TokenOptions> options) {
  access::RevokeToken request{options->id};
  const Result<access::Done> got = co_await ask(session, std::move(request));
  co_return show(session, options->client, got,
                 [&](const access::Done&) { return "token " + options->id + " is revoked\n"; });
}

}  // namespace

void add_token_commands(CLI::App& app, Chosen& chosen) {
  CLI::App& token = add_verb(
      app, {"token", "Manage tokens, with which programs authenticate", "  cadre token create --name laptop\n"});
  token.require_subcommand(1);

  const auto listing = std::make_shared<TokenOptions>();
  CLI::App& list_command =
      add_verb(token, {"list", "List tokens; default: your own", "  cadre token list\n"}, listing->client);
  list_command.add_option("--user", listing->listing.user, "Tokens of this user")->type_name("NAME");
  list_command.add_flag("--all", listing->listing.all, "Tokens of all users");
  on_choice(list_command, chosen, listing, list_tokens);

  const auto making = std::make_shared<TokenOptions>();
  CLI::App& create_command = add_verb(token,
                                      {"create", "Create a token and print it; it is shown only once",
                                       "  cadre token create --name laptop --valid 24h\n"
                                       "  cadre token create --user robot\n"},
                                      making->client);
  create_command.add_option("--name", making->creation.name, "Name that says what the token is for")->type_name("TEXT");
  create_command.add_option("--user", making->creation.user, "User of the token; default: you")->type_name("NAME");
  add_duration(create_command, "--valid", making->creation.valid, std::chrono::seconds(1),
               "Time for which the token is valid; default: until it is revoked");
  on_choice(create_command, chosen, making, create_token);

  const auto ending = std::make_shared<TokenOptions>();
  CLI::App& revoke_command =
      add_verb(token, {"revoke", "Revoke a token", "  cadre token revoke 3f2a9c01b7de\n"}, ending->client);
  revoke_command.add_option("token", ending->id, "Token ID, as shown by cadre token list")->required()->type_name("ID");
  on_choice(revoke_command, chosen, ending, revoke);
}

}  // namespace cadre::cli
