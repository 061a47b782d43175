#include "app/master_process.h"

#include <csignal>
#include <filesystem>
#include <optional>
#include <tuple>

#include "agent/host_facts.h"
#include "app/bulk_threads.h"
#include "app/descriptor_limit.h"
#include "app/endpoints.h"
#include "app/folder.h"
#include "app/gateway_thread.h"
#include "app/listener.h"
#include "app/plan_recorder.h"
#include "cluster/data_folder.h"
#include "describe/describe.h"
#include "loop/calendar.h"
#include "loop/file.h"
#include "loop/real_loop.h"
#include "loop/signals.h"
#include "loop/thread_pool.h"
#include "master/bulk_server.h"
#include "master/cluster_files.h"
#include "master/cluster_shell.h"
#include "master/join_server.h"
#include "master/master.h"
#include "net/zmq_network.h"
#include "objects/hash.h"
#include "records/records.h"

namespace cadre::app {
namespace {

namespace fs = std::filesystem;
using cluster::DataFolder;

/// So many ended jobs are looked at in any case: their last output may still be under way.
constexpr records::EndedMost ended_loaded_min{1'000, std::int64_t{64} << 20};

Result<net::Keys> keys_in(const std::string& path) {
  if (!fs::exists(path)) {
    const net::Keys keys = net::make_keys();
    TRY(net::save_keys(keys, path));
    return keys;
  }
  return net::load_keys(path);
}

/// A text that only this master knows, the same after every start.
Result<std::string> secret_in(const std::string& path) {
  if (!fs::exists(path)) {
    const std::string secret = gateway::random_text(32);
    TRY(loop::write_whole(path, as_bytes(secret)));
    return secret;
  }
  TRY_ASSIGN(secret, loop::read_file(path));
  if (secret.size() < 32)
    return fail(Errc::corrupt, path + " is too short; remove it, and the master creates a new one");
  return secret;
}

/// The owner of the data folder is the admin who was created first: later ones do not take that place.
std::string owner_of(const access::Rows& rows) {
  const access::UserRow* first = nullptr;
  for (const access::UserRow& user : rows.users) {
    if (!user.is_admin || !user.is_active) continue;
    if (first == nullptr || std::tie(user.created, user.name) < std::tie(first->created, first->name)) first = &user;
  }
  return first != nullptr ? first->name : "admin";  // the first user, who is yet to be made
}

/// Everything that a master process holds, in the order in which it comes and, backwards, goes.
class MasterProcess {
 public:
  MasterProcess(const master::Config& config, DataFolder data, MasterExtras extras, Log& log)
      : config_(config),
        data_(std::move(data)),
        is_up_(std::move(extras.is_up)),
        listener_(extras.listener),
        make_extra_(std::move(extras.parts)),
        log_(log),
        pool_(loop_, {"the records", 1, 1'000}),
        archive_pool_(loop_, {"ended jobs", 1, 1'000}),
        calendar_(loop_),
        gateway_(log),
        part_bulk_(loop_) {}

  ~MasterProcess() {
    output_->close();
    gateway_.close();
    part_bulk_.stop();
    if (join_) join_->stop();
    loop_.destroy_tasks();
  }

  Result<void> run() {
    TRY(open());
    TRY_ASSIGN(signals, loop::on_signal(loop_, {SIGTERM, SIGINT}, [this](int) { master_->stop(); }));
    log_.info("the master is up: " + data_.path + ", " + known_.url +
              (config_.listen.empty() ? "" : ", agents at " + outside_control_ + ", their output at " + outside_bulk_));
    const Result<net::TcpAddress> http = parse_http_listen(config_.http.listen);
    if (http && !net::is_loopback(http->host) && config_.http.tls_certificates.empty()) {
      log_.warning(config_.http.listen + " is served without TLS: passwords and tokens are sent unencrypted");
    }
    if (is_up_) is_up_();
    loop_.spawn(serve());
    loop_.run();
    output_->close();
    gateway_.close();
    part_bulk_.stop();
    join_->stop();
    bulk_->stop();
    log_.info("the master has stopped");
    return ended_;
  }

 private:
  Result<void> open() {
    TRY_ASSIGN(network, net::ZmqNetwork::make(loop_, log_));
    network_ = std::move(network);
    database_ = config_.database.empty() ? data_.database_url() : config_.database;
    api::Sections sections = config_.sections;
    std::vector<PartDeclaration> declared = parts_of({}, sections);
    if (make_extra_) extra_ = make_extra_(sections);
    declared.insert(declared.end(), extra_.begin(), extra_.end());
    if (const describe::Faults faults = sections.faults(master::own_keys()); !faults.empty()) {
      return Failure(describe::to_error(faults, "the configuration"));
    }
    TRY_ASSIGN(records, records::Records::open(database_, log_, rows_of(declared)));
    records_ = std::move(records);
    TRY_ASSIGN(archive, records::Archive::open(database_));
    archive_ = std::move(archive);
    TRY_ASSIGN(boot, master::claim_files(data_, *records_, adopt(), log_));
    TRY_ASSIGN(rows, records_->load({std::max(config_.cluster.ended_jobs_kept, ended_loaded_min.jobs),
                                     std::max(config_.cluster.ended_bytes_kept.value, ended_loaded_min.bytes)}));
    TRY_ASSIGN(known, agent_keys());
    TRY_ASSIGN(keys, keys_in(data_.keys_file()));
    TRY(loop::write_whole(data_.public_key_file(), as_bytes(keys.open.text())));
    std::optional<Endpoints> outside;
    if (!config_.listen.empty()) {
      TRY_ASSIGN(where, endpoints(config_.listen));
      outside = where;
    }
    const auto hub = [&](std::string inside, const std::string& beyond) {
      net::HubOptions options{{std::move(inside)}, keys, net::Admission::only({}), {}};
      options.unix_proof = net::UnixProof::keys;
      if (outside) options.addresses.push_back(beyond);
      options.limits.queue_max = 50'000;
      return options;
    };
    TRY(open_bulk(hub(data_.bulk_address(), outside ? outside->bulk : ""), known, rows));
    PartOptions options;
    options.data = data_.path;
    options.output = output_;
    options.cluster.settings = config_.cluster;
    options.cluster.settings.cluster = records_->cluster();
    options.cluster.settings.record_plans = !config_.record.empty();
    options.cluster.refused = [this] { return master_->refused(); };
    for (const auto& [key, agent] : known) options.cluster.keyed.insert(agent);
    TRY(add_owner(options));
    options.audit_kept = config_.keeping.audit;
    options.cluster_loaded = cluster::control::ClusterPart::Loaded{boot, std::move(rows)};
    options.ended_most = {config_.cluster.ended_jobs_kept, config_.cluster.ended_bytes_kept.value};
    TRY_ASSIGN(shell, cluster_shell(options.cluster, hub(data_.agents_address(), outside ? outside->control : ""),
                                    known, outside.has_value()));
    options.cluster_shell = [this, shell = std::move(shell)](
                                const master::Dependencies& deps) -> Result<std::unique_ptr<master::PartShell>> {
      TRY_ASSIGN(made, master::ClusterShell::make({deps.loop, *network_, deps.pool, deps.records, deps.calendar,
                                                   deps.log, archive_.get(), &archive_pool_},
                                                  shell));
      shell_ = made.get();
      return made;
    };
    TRY(open_master(std::move(options)));
    TRY(open_join(outside, keys));
    return open_gateway();
  }

  /// A token for the owner of the data folder, which stays the same as long as its file is there.
  Result<void> add_owner(PartOptions& options) {
    TRY_ASSIGN(loaded, records_->load_part([](api::RowReader& reader) -> Result<std::any> {
      TRY_ASSIGN(rows, access::read_rows(reader));
      return std::any(std::move(rows));
    }));
    if (auto text = loop::read_file(data_.client_file())) {
      if (auto known = describe::read_json_of_peer<cluster::KnownMaster>(*text)) known_ = *std::move(known);
    }
    if (known_.token.empty()) known_.token = gateway::make_secret().text;
    known_.user = owner_of(*std::any_cast<access::Rows>(&loaded));
    options.cluster.settings.owner = known_.user;
    options.access.local_token = access::TokenRow{std::string(access::local_token_id),
                                                  gateway::hash_of_token(known_.token),
                                                  known_.user,
                                                  "owner of the data folder",
                                                  calendar_.now(),
                                                  TimePoint{}};
    TRY_ASSIGN(secret, secret_in(data_.pass_file()));
    pass_secret_ = std::move(secret);
    return {};
  }

  Result<master::ClusterShell::Options> cluster_shell(const cluster::control::ClusterPart::Options& part,
                                                      net::HubOptions agents,
                                                      const std::map<net::PublicKey, cluster::AgentId>& known,
                                                      bool others_can_join) {
    master::ClusterShell::Options options;
    options.settings = part.settings;
    options.keeping = config_.keeping;
    options.agents = std::move(agents);
    options.agent_keys = known;
    options.make_pass = [this, passes = gateway::Passes(pass_secret_)](cluster::LeaseId lease) {
      return cluster::messages::Pass{known_.url, passes.make(lease)};
    };
    options.tell_leases = [this](const std::vector<master::LeaseFact>& facts) {
      std::vector<cluster::LeaseId> over;
      for (const master::LeaseFact& fact : facts) {
        if (!fact.is_held) over.push_back(fact.lease);
      }
      if (!over.empty()) part_bulk_.end(over);
      bulk_->learn(facts);
    };
    options.fence = [this](const std::vector<cluster::LeaseId>& newest, const std::function<void()>& done) {
      part_bulk_.fence(newest, done);
    };
    options.tell_revoked = [this](const net::PublicKey& key) { bulk_->revoke(key); };
    options.keep_code = [this](const std::string& hash) { bulk_->keep(hash); };
    options.release_code = [this](const std::string& hash) { bulk_->release(hash); };
    options.release_output = [this](cluster::LeaseId lease) { bulk_->remove(lease); };
    if (!config_.record.empty()) {
      TRY_ASSIGN(folder, make_private_folder(config_.record, log_));
      options.record = PlanRecorder(folder);
    }
    if (others_can_join) {
      options.make_join_token = [this](cluster::requests::MakeJoinToken request) {
        return make_join_token(std::move(request));
      };
    }
    return options;
  }

  Result<void> open_master(PartOptions options) {
    const Duration beat_every = config_.cluster.beat_every;
    api::Sections sections = config_.sections;
    std::vector<PartDeclaration> declared = parts_of(std::move(options), sections);
    declared.insert(declared.end(), extra_.begin(), extra_.end());
    interfaces_ = interfaces_of(declared);
    master::Options all;
    for (PartDeclaration& part : declared) {
      const std::size_t at = all.parts.size();
      part.setup.tell_bulk = [this, at](std::vector<std::any> facts) { part_bulk_.learn(at, std::move(facts)); };
      std::any loaded = std::exchange(part.setup.loaded, {});  // not copied: it may be large
      all.parts.push_back(part.setup);
      all.parts.back().loaded = std::move(loaded);
    }
    all.tick_every = beat_every / 4;
    all.confirm_every = config_.cluster.agent_timeout / 12;
    all.tidy_every = config_.keeping.tidy_every;
    all.changes_kept = config_.keeping.changes;
    all.reply = [this](api::CallId call, api::Reply reply) { gateway_.tell(call, std::move(reply)); };
    all.tell_changes = [this](const auto& changes) { gateway_.tell_changes(changes); };
    TRY_ASSIGN(last_change, records_->last("change"));
    TRY_ASSIGN(master, master::Master::make({loop_, pool_, *records_, calendar_, log_}, std::move(all), last_change));
    master_ = std::move(master);
    TRY(part_bulk_.start(declared,
                         {database_, [this] { return records_->boot(); },
                          [this](api::CallId call, api::Reply reply) { gateway_.tell(call, std::move(reply)); }},
                         *master_, log_));
    for (std::size_t at = 0; at < interfaces_.size(); ++at) interfaces_[at].bulk = part_bulk_.service(at);
    return {};
  }

  Result<void> open_gateway() {
    GatewayThread::Options options;
    TRY_ASSIGN(last_change, records_->last("change"));
    options.parts = interfaces_;
    options.http = config_.http;
    options.pass_secret = pass_secret_;
    options.last_change = last_change;
    TRY_ASSIGN(names_begin, records_->begin_names(calendar_.wall()));
    options.names_begin = names_begin;
    const std::uint64_t kept = std::min<std::uint64_t>(last_change, gateway::ChangeFeed::kept_max);
    TRY_ASSIGN(changes, records_->changes_since(last_change - kept, static_cast<std::int64_t>(kept)));
    options.changes = std::move(changes);
    options.metrics = [this] {
      std::vector<Metric> all = bulk_->metrics().all.read();
      for (Metric& one : join_->metrics()) all.push_back(std::move(one));
      for (Metric& one : part_bulk_.metrics()) all.push_back(std::move(one));
      return all;
    };
    loop::Descriptor own;
    if (listener_ < 0) {
      TRY_ASSIGN(opened, open_listener(config_.http, data_, log_));
      own = std::move(opened);
    }
    options.listener = own ? own.get() : listener_;
    options.socket = data_.http_socket();
    TRY(gateway_.open(std::move(options), *master_, *bulk_));
    return write_client_file();
  }

  Result<void> write_client_file() {
    known_.url = url();
    known_.socket = data_.http_socket();
    known_.ca = config_.http.tls_ca.empty() ? "" : fs::absolute(config_.http.tls_ca).string();
    return loop::write_whole(data_.client_file(), as_bytes(describe::write_json(known_) + "\n"));
  }

  std::string url() const {
    const master::Http& http = config_.http;
    if (!http.url.empty()) return http.url;
    std::string host = parse_http_listen(http.listen)->host;
    if (host == "0.0.0.0" || host == "::")
      host = config_.advertise.empty() ? agent::facts_of_host().name : config_.advertise;
    return (http.tls_certificates.empty() ? "http://" : "https://") + net::host_in_address(host) + ":" +
           std::to_string(gateway_.port());
  }

  master::Adopt adopt() const { return config_.adopt ? master::Adopt::yes : master::Adopt::no; }

  /// Output of leases that the database does not know is of another life of the cluster.
  Result<void> open_bulk(const net::HubOptions& hub, const std::map<net::PublicKey, cluster::AgentId>& agents,
                         const cluster::control::Rows& rows) {
    const auto start = [&] {
      return master::BulkServer::start(
          {hub, agents, master::lease_facts(rows.tasks), data_.output_folder(), data_.code_folder(), config_.bulk,
           [&](const std::vector<std::string>& logs) { return master::check_logs(data_, logs, rows); },
           [this](api::CallId call, cluster::bulk::FromMaster message) {
             if (!output_->take(call, message)) gateway_.tell_bulk(call, std::move(message));
           }},
          log_);
    };
    auto bulk = start();
    if (!bulk && bulk.error().code == Errc::corrupt && config_.adopt) {
      TRY(master::set_aside(data_, records_->cluster(), records_->boot(), log_));
      TRY(master::mark_files(data_, *records_));
      bulk = start();
    }
    if (!bulk) return Failure(bulk.error());
    bulk_ = *std::move(bulk);
    output_->open([this](api::CallId call, cluster::bulk::ToMaster message) { bulk_->ask(call, std::move(message)); });
    return {};
  }

  Result<void> open_join(const std::optional<Endpoints>& outside, const net::Keys& keys) {
    TRY_ASSIGN(secret, secret_in(data_.local_secret_file()));
    TRY_ASSIGN(tokens, records_->join_tokens(calendar_.now(), 100'000));
    master::JoinOptions options;
    options.hub = {{data_.join_address()}, keys, net::Admission::anyone(), {}};
    options.hub.unix_proof = net::UnixProof::keys;
    options.inside = {data_.agents_address(), data_.bulk_address(), ""};
    options.local_secret_hash = objects::sha256(as_bytes(secret));
    options.tokens = std::move(tokens);
    if (outside) {
      options.hub.addresses.push_back(outside->join);
      outside_control_ = seen_from_outside(shell_->agents_addresses().back(), config_.advertise);
      outside_bulk_ = seen_from_outside(bulk_->addresses().back(), config_.advertise);
      options.outside = {outside_control_, outside_bulk_, ""};
    }
    options.admit = [this](master::JoinOptions::Wanted wanted, std::function<void(Result<std::string>)> done) {
      loop_.post([this, wanted = std::move(wanted), done = std::move(done)]() mutable {
        loop_.spawn(admit(std::move(wanted), std::move(done)));
      });
    };
    TRY_ASSIGN(join, master::JoinServer::start(std::move(options), log_));
    join_ = std::move(join);
    master_key_ = keys.open.text();
    return {};
  }

  loop::Task<void> admit(master::JoinOptions::Wanted wanted, std::function<void(Result<std::string>)> done) {
    Result<std::string> pool = co_await write_key(wanted);
    if (pool) {
      shell_->admit_key(wanted.key, wanted.agent);
      bulk_->allow(wanted.key, wanted.agent);
    }
    done(std::move(pool));
  }

  /// An agent of this host was started by the owner of the master, and may take the place of one that is gone.
  loop::Task<Result<std::string>> write_key(const master::JoinOptions::Wanted& wanted) {
    const TimePoint now = calendar_.wall();
    if (!wanted.token_hash.empty()) {
      const records::Joining joining{wanted.token_hash, wanted.agent, wanted.key.text(), now};
      co_return co_await pool_.run([&] { return records_->use_join_token(joining); });
    }
    if (shell_->knows(wanted.key, wanted.agent)) co_return std::string();
    if (shell_->is_alive(wanted.agent)) {
      co_return fail(Errc::conflict, "an agent '" + wanted.agent.value +
                                         "' is already connected; use another --id, or wait until that agent is lost");
    }
    const records::AgentKey key{wanted.agent, wanted.key.text(), "", now};
    const Result<void> put = co_await pool_.run([&] { return records_->put_agent_key(key); });
    if (!put) co_return Failure(put.error());
    co_return std::string();
  }

  loop::Task<Result<std::string>> make_join_token(cluster::requests::MakeJoinToken request) {
    const std::string secret = net::make_keys().secret.reveal();
    const records::JoinToken token{objects::sha256(as_bytes(secret)), calendar_.wall() + request.valid, request.pool};
    CO_TRY(co_await pool_.run([&] { return records_->add_join_token(token); }));
    join_->add(token);
    const std::string address = seen_from_outside(join_->addresses().back(), config_.advertise);
    co_return cluster::joining::to_token({address, master_key_, secret});
  }

  Result<std::map<net::PublicKey, cluster::AgentId>> agent_keys() {
    TRY_ASSIGN(rows, records_->agent_keys());
    std::map<net::PublicKey, cluster::AgentId> keys;
    for (const records::AgentKey& row : rows) {
      TRY_ASSIGN(key, net::parse_public_key(row.public_key));
      keys.emplace(key, row.agent);
    }
    return keys;
  }

  loop::Task<void> serve() {
    ended_ = co_await master_->run();
    loop_.stop();
  }

  const master::Config& config_;
  DataFolder data_;
  std::function<void()> is_up_;
  int listener_;  ///< the caller's; -1: there is none yet
  std::function<std::vector<PartDeclaration>(api::Sections&)> make_extra_;
  std::vector<PartDeclaration> extra_;
  Log& log_;
  loop::RealLoop loop_;
  loop::ThreadPool pool_;
  std::unique_ptr<records::Archive> archive_;
  loop::ThreadPool archive_pool_;  // joined before what it reads goes
  loop::Calendar calendar_;
  cluster::KnownMaster known_;
  std::string pass_secret_;
  std::string database_;   ///< its URL
  GatewayThread gateway_;  // closed before what it asks goes
  std::unique_ptr<net::ZmqNetwork> network_;
  std::unique_ptr<records::Records> records_;
  // Shared with the shell that reads it.
  const std::shared_ptr<master::OutputReader> output_ = std::make_shared<master::OutputReader>();
  std::unique_ptr<master::BulkServer> bulk_;
  master::ClusterShell* shell_ = nullptr;  ///< of the master
  std::vector<gateway::PartInterface> interfaces_;
  std::unique_ptr<master::Master> master_;
  BulkThreads part_bulk_;        // after the master, whom they ask
  std::string outside_control_;  ///< where agents of other hosts find the master
  std::string outside_bulk_;     ///< where they send the output of tasks
  std::string master_key_;
  std::unique_ptr<master::JoinServer> join_;
  Result<void> ended_;
};

}  // namespace

Result<void> run_master(const master::Config& config, Log& log, MasterExtras extras) {
  TRY_ASSIGN(path, open_data_folder(config.data, log));
  TRY_ASSIGN(lock, lock_folder(path));
  hide_from_tasks(path, log);
  const DataFolder data{path};
  TRY(make_private_folder(data.run(), log));
  raise_descriptor_limit(log);
  MasterProcess process(config, data, std::move(extras), log);
  return process.run();
}

}  // namespace cadre::app
