#include <string>
#include <vector>

#include "cli/commands/verb.h"
#include "cli/operation_index.h"
#include "cli/table.h"

namespace cadre::cli {
namespace {

constexpr api::Route document_route{"GET", "/openapi.json", "Returns this document.", api::Need::nothing};

struct ApiOptions {
  ClientOptions client;
  std::string operation;
  std::vector<std::string> fields;
};

loop::Task<Result<OperationIndex>> operations_of(CommandContext& session) {
  loop::Task<Result<std::string>> asking =
      session.connection.ask_any(document_route, describe::Value(describe::Value::Map{}));
  Result<std::string> document = co_await std::move(asking);
  if (!document) co_return Failure(document.error());
  co_return OperationIndex::read(*document);
}

loop::Task<int> list_operations(CommandContext& session, std::shared_ptr<const ApiOptions> options) {
  const Result<OperationIndex> index = co_await operations_of(session);
  if (!index) co_return session.complain(index.error());
  if (options->client.json) {
    describe::Value::List all;
    for (const RemoteOperation& one : index->all()) {
      describe::Value entry;
      entry.set("name", describe::Value(one.name)).set("method", describe::Value(one.method));
      entry.set("path", describe::Value(one.path)).set("summary", describe::Value(one.summary));
      all.push_back(std::move(entry));
    }
    print(describe::to_json(describe::Value(std::move(all))) + "\n");
    co_return done;
  }
  Table table({"OPERATION", "METHOD", "PATH", "SUMMARY"});
  for (const RemoteOperation& one : index->all()) table.add({one.name, one.method, one.path, one.summary});
  print(table.to_text(showing(session).coloured));
  co_return done;
}

loop::Task<int> call_operation(CommandContext& session, std::shared_ptr<const ApiOptions> options) {
  const Result<OperationIndex> index = co_await operations_of(session);
  if (!index) co_return session.complain(index.error());
  const Result<RemoteOperation> operation = index->find(options->operation);
  if (!operation) co_return session.complain(bad_usage, operation.error().message);
  if (operation->takes_bytes) {
    co_return session.complain(bad_usage, options->operation + " takes a file, not fields; use the HTTP API");
  }
  Result<describe::Value> fields = fields_of(*operation, options->fields);
  if (!fields) co_return session.complain(bad_usage, fields.error().message);
  const api::Route route = operation->route();
  if (route.streams()) {
    loop::Task<Result<void>> streaming = session.connection.stream_any(
        route, *std::move(fields), [](std::string_view line) { print(std::string(line) + "\n"); });
    const Result<void> ended = co_await std::move(streaming);
    co_return ended ? done : session.complain(ended.error());
  }
  const Duration wait = operation->is_keyed ? rest::creation_max : rest::answer_max;
  loop::Task<Result<std::string>> asking = session.connection.ask_any(route, *std::move(fields), wait);
  Result<std::string> response = co_await std::move(asking);
  if (!response) co_return session.complain(response.error());
  if (!response->ends_with('\n')) *response += '\n';
  print(*response);
  co_return done;
}

}  // namespace

void add_api_command(CLI::App& app, Chosen& chosen) {
  CLI::App& noun = add_verb(
      app, {"api", "Call any operation of the HTTP API", "  cadre api list\n  cadre api call get_job job=17\n"});
  noun.require_subcommand(1);
  auto options = std::make_shared<ApiOptions>();
  on_choice(add_verb(noun, {"list", "List the operations of the master", "  cadre api list\n"}, options->client),
            chosen, options, list_operations);
  options = std::make_shared<ApiOptions>();
  CLI::App& call = add_verb(noun,
                            {"call", "Call an operation and print its response, which is JSON",
                             "  cadre api call list_jobs most=5\n  cadre api call set_job job=17 priority=10\n"},
                            options->client);
  call.add_option("operation", options->operation, "Operation, as cadre api list shows it")->required();
  call.add_option("fields", options->fields, "Fields of the request; values are JSON or text")
      ->type_name("FIELD=VALUE");
  on_choice(call, chosen, options, call_operation);
}

}  // namespace cadre::cli
