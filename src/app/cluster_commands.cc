#include "app/cluster_commands.h"

#include <cstdio>
#include <memory>
#include <optional>

#include "app/agent_options.h"
#include "app/agent_process.h"
#include "app/gateway_thread.h"
#include "app/master_of_agent.h"
#include "app/master_process.h"
#include "app/process_log.h"
#include "app/standard_streams.h"
#include "app/up.h"
#include "cli/exit_code.h"
#include "cli/files.h"
#include "client/cluster/data_folder.h"
#include "describe/describe.h"

namespace cadre::app {
namespace {

int exit_code_of(const Result<void>& result, const char* what) {
  if (result) return cli::done;
  std::fprintf(stderr, "cadre %s: %s\n", what, result.error().message.c_str());
  switch (result.error().code) {
    case Errc::denied:
    case Errc::conflict: return cli::refused;
    case Errc::timed_out: return cli::unreachable;
    case Errc::not_found:
    case Errc::invalid: return cli::bad_usage;
    default: return cli::failed;
  }
}

struct MasterOptions {
  std::string config;
  master::Config flags;
  std::string agent_timeout;
  std::string http;
  std::optional<std::uint16_t> port;
  bool verbose = false;
  LogForm log_form = LogForm::text;
};

LogOptions log_options(const MasterOptions& options) {
  return {options.verbose ? Level::debug : Level::info, options.log_form};
}

void add_log_form(CLI::App& command, LogForm& form) {
  command
      .add_option_function<std::string>(
          "--log", [&form](const std::string& text) { form = text == "json" ? LogForm::json : LogForm::text; },
          "Log format: text, or json with one object per line")
      ->check(CLI::IsMember({"text", "json"}))
      ->default_str("text");
}

/// Refuses to serve other hosts without TLS, unless --insecure-http allows it.
Result<void> check_encryption(const master::Http& http) {
  if (!http.tls_certificates.empty() || http.insecure) return {};
  TRY_ASSIGN(where, parse_http_listen(http.listen));
  if (net::is_loopback(where.host)) return {};
  return fail(Errc::invalid,
              "http.listen: " + http.listen +
                  " is reachable from other hosts without TLS: passwords and tokens would be sent unencrypted; set a "
                  "certificate with --tls-cert and --tls-key, listen on 127.0.0.1, or allow it with --insecure-http");
}

/// The file, with what was said on the command line in its place.
Result<master::Config> config_of(const MasterOptions& options) {
  master::Config config;
  if (!options.config.empty()) {
    TRY_ASSIGN(text, cli::read_file(options.config));
    auto read = master::read_config(text);
    if (!read) return Failure(describe::to_error(read.error(), options.config));
    config = *std::move(read);
    if (const auto faults = take_sections(config.sections).faults(master::own_keys()); !faults.empty()) {
      return Failure(describe::to_error(faults, options.config));
    }
  }
  const master::Config& flags = options.flags;
  if (!flags.data.empty()) config.data = flags.data;
  if (!flags.database.empty()) config.database = flags.database;
  if (!flags.listen.empty()) config.listen = flags.listen;
  if (!flags.advertise.empty()) config.advertise = flags.advertise;
  if (!flags.record.empty()) config.record = flags.record;
  config.adopt = config.adopt || flags.adopt;
  if (!options.http.empty()) config.http.listen = options.http;
  if (options.port) config.http.listen = "127.0.0.1:" + std::to_string(*options.port);
  if (!flags.http.tls_certificates.empty()) config.http.tls_certificates = flags.http.tls_certificates;
  if (!flags.http.tls_key.empty()) config.http.tls_key = flags.http.tls_key;
  if (!flags.http.tls_ca.empty()) config.http.tls_ca = flags.http.tls_ca;
  if (!flags.http.url.empty()) config.http.url = flags.http.url;
  config.http.insecure = config.http.insecure || flags.http.insecure;
  if (config.http.tls_certificates.empty() != config.http.tls_key.empty()) {
    return fail(Errc::invalid, "--tls-cert and --tls-key must be used together; set both or neither");
  }
  if (config.data.empty()) config.data = client::default_data_folder();
  TRY(check_encryption(config.http));
  if (!options.agent_timeout.empty()) {
    const auto timeout = parse_duration(options.agent_timeout);
    if (!timeout) return fail(Errc::invalid, "--agent-timeout: " + timeout.error().message);
    config.cluster.agent_timeout = *timeout;
    if (config.cluster.beat_every * 3 > *timeout) config.cluster.beat_every = *timeout / 4;
  }
  // What flags say passes the same checks as what stands in a file.
  const auto checked = describe::read<master::Config>(describe::write(config));
  if (!checked) return Failure(describe::to_error(checked.error(), "the options of the master"));
  return config;
}

void add_master_options(CLI::App& command, MasterOptions& options) {
  command.add_option("--config", options.config, "Configuration file in YAML (docs/reference/master-file.md)");
  command.add_option("--data", options.flags.data, "Data folder; default: ~/.local/share/cadre");
  command.add_option("--database", options.flags.database,
                     "Database, as postgresql://user:password@host/name; default: SQLite in the data folder");
  command.add_option("--listen", options.flags.listen,
                     "host:port for agents on other hosts; the next two ports are used as well");
  command.add_option("--port", options.port, "HTTP port, for users on this host; default: 7310; 0: a free port")
      ->check(CLI::Range(0, 65'535).description(""));
  command.add_option("--http", options.http, "host:port of the HTTP server, also for users on other hosts");
  command.add_option("--tls-cert", options.flags.http.tls_certificates,
                     "PEM file: certificate chain of the HTTP server");
  command.add_option("--tls-key", options.flags.http.tls_key, "PEM file: private key of the certificate");
  command.add_flag("--insecure-http", options.flags.http.insecure,
                   "Serve other hosts without TLS: passwords and tokens are sent unencrypted");
  command.add_option("--tls-ca", options.flags.http.tls_ca,
                     "PEM file: CA certificates that clients on this host trust");
  command.add_option("--url", options.flags.http.url, "URL at which users and tasks reach the HTTP server");
  command.add_option("--advertise", options.flags.advertise, "Host name or address at which agents reach the master");
  command.add_option("--record", options.flags.record, "Folder in which to save every plan, for cadre plan");
  command.add_option("--agent-timeout", options.agent_timeout,
                     "Time without a heartbeat after which an agent is lost; default: 30s");
  command.add_flag("--adopt", options.flags.adopt,
                   "Accept a data folder of another cluster, or one newer than the database; its output and code are "
                   "set aside in the folder");
  command.add_flag("-v,--verbose", options.verbose, "Log debug messages too");
  add_log_form(command, options.log_form);
}

/// What `cadre agent` is to run.
Result<AgentOptions> agent_of(const GivenAgentOptions& given) {
  TRY_ASSIGN(options, read_agent_options(given));
  agent::Config& config = options.config;
  if (config.data.empty()) config.data = client::default_data_folder() + "/agent";
  TRY_ASSIGN(master, master_of_agent(config));
  config.master = std::move(master);
  return options;
}

}  // namespace

CLI::App& add_cluster_commands(CLI::App& app, std::function<int()>& chosen) {
  auto master = std::make_shared<MasterOptions>();
  CLI::App* master_command = app.add_subcommand("master", "Run a master");
  add_master_options(*master_command, *master);
  master_command->callback([&chosen, master] {
    chosen = [master] {
      ignore_broken_pipes();
      const auto log = make_log("master", log_options(*master));
      const Result<master::Config> config = config_of(*master);
      return exit_code_of(config ? run_master(*config, *log) : Failure(config.error()), "master");
    };
  });

  auto agent = std::make_shared<GivenAgentOptions>();
  CLI::App* agent_command = app.add_subcommand("agent", "Run an agent, or manage agents");
  add_own_agent_options(*agent_command, *agent);
  add_agent_options(*agent_command, *agent);
  agent_command->require_subcommand(0, 1);
  const auto agent_form = std::make_shared<LogOptions>();
  agent_command->add_flag_callback(
      "-v,--verbose", [agent_form] { agent_form->lowest = Level::debug; }, "Log debug messages too");
  add_log_form(*agent_command, agent_form->form);
  agent_command->callback([&chosen, agent, agent_form, agent_command] {
    if (!agent_command->get_subcommands().empty()) return;
    chosen = [agent, agent_form] {
      ignore_broken_pipes();
      const auto log = make_log("agent", *agent_form);
      const Result<AgentOptions> options = agent_of(*agent);
      return exit_code_of(options ? run_agent(*options, *log) : Failure(options.error()), "agent");
    };
  });

  auto up = std::make_shared<std::pair<MasterOptions, GivenAgentOptions>>();
  CLI::App* up_command = app.add_subcommand("up", "Run a master and one agent on this host");
  add_master_options(*up_command, up->first);
  add_agent_options(*up_command, up->second);
  up_command->callback([&chosen, up] {
    chosen = [up] {
      ignore_broken_pipes();
      const Result<master::Config> config = config_of(up->first);
      Result<AgentOptions> own_agent = read_agent_options(up->second);
      if (!config || !own_agent) return exit_code_of(Failure(config ? own_agent.error() : config.error()), "up");
      own_agent->config.adopt = config->adopt;
      return exit_code_of(run_both(*config, *std::move(own_agent), log_options(up->first)), "up");
    };
  });
  return *agent_command;
}

}  // namespace cadre::app
