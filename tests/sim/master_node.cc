#include "tests/sim/master_node.h"

#include <utility>

#include "app/parts.h"
#include "master/cluster_shell.h"
#include "master/master.h"

namespace cadre::sim {
namespace {

const std::string token_hash(64, 'a');

/// The keys by which agents are known.
Result<std::map<net::PublicKey, cluster::AgentId>> keys_in(records::Records& records) {
  TRY_ASSIGN(rows, records.agent_keys());
  std::map<net::PublicKey, cluster::AgentId> keys;
  for (const records::AgentKey& row : rows) {
    TRY_ASSIGN(key, net::parse_public_key(row.public_key));
    keys.emplace(key, row.agent);
  }
  return keys;
}

}  // namespace

Result<std::unique_ptr<MasterNode>> MasterNode::start(const MasterDependencies& deps, Events events, Dice dice) {
  std::unique_ptr<MasterNode> node(new MasterNode(deps, std::move(events), dice));
  TRY(node->open(deps));
  return node;
}

MasterNode::MasterNode(const MasterDependencies& deps, Events events, Dice dice)
    : wires_(deps.network),
      records_(deps.records),
      events_(std::move(events)),
      loop_(deps.world, TimePoint{}, dice.split()),
      network_(deps.network.host(host), loop_, deps.weather, deps.traffic, dice.split()),
      tapped_(network_,
              [this](const net::Peer&, const cluster::messages::FromMaster& message) { events_.sent(message); }),
      pool_(loop_, deps.disk, dice.split()),
      calendar_(loop_, deps.wall),
      dice_(dice.split()) {}

MasterNode::~MasterNode() {
  wires_.crash(host);
  loop_.destroy_tasks();
}

Result<void> MasterNode::open(const MasterDependencies& deps) {
  TRY_ASSIGN(boot, deps.records.begin_boot());
  TRY_ASSIGN(rows, deps.records.load({1'000'000, std::int64_t{1} << 40}));
  events_.loaded(rows);
  TRY_ASSIGN(agents, keys_in(deps.records));
  net::HubOptions hub{{control_address}, deps.keys, net::Admission::only({}), {}};
  for (const auto& [key, agent] : agents) hub.admission.allow(key);
  net::HubOptions bulk = hub;
  bulk.addresses = {bulk_address};
  TRY_ASSIGN(output, OutputStore::open(network_, std::move(bulk), deps.output));
  output_ = std::move(output);

  app::PartOptions parts;
  parts.cluster.settings = deps.settings;
  parts.cluster.has_archive = false;
  for (const auto& [key, agent] : agents) parts.cluster.keyed.insert(agent);
  parts.access.local_token = access::TokenRow{std::string(access::local_token_id), token_hash, "admin", "", {}, {}};
  parts.cluster_loaded = cluster::control::ClusterPart::Loaded{boot, std::move(rows)};
  parts.ended_most = {1'000'000, std::int64_t{1} << 40};
  master::ClusterShell::Options shell;
  shell.settings = deps.settings;
  shell.agents = std::move(hub);
  shell.agent_keys = std::move(agents);
  shell.tell_revoked = [this](const net::PublicKey& key) { output_->revoke(key); };
  // A bulk side that takes its time to fence off older leases, sometimes longer than an agent waits for a welcome: a
  // newer one is not started before.
  shell.fence = [this](const std::vector<cluster::LeaseId>& newest, std::function<void()> done) {
    loop_
        .after(std::chrono::milliseconds(dice_.percent(30) ? dice_.below(dice_.percent(10) ? 15'000 : 3'000) : 0),
               [this, newest, done = std::move(done)] {
                 fenced_.insert(newest.begin(), newest.end());
                 done();
               })
        .detach();
  };
  shell.make_pass = [this](cluster::LeaseId lease) {
    if (lease.epoch.value > 1 && !fenced_.contains(lease)) {
      events_.failed({Errc::conflict, to_string(lease) + " is started before older leases are fenced off"});
    }
    return cluster::messages::Pass{};
  };
  parts.cluster_shell =
      [this, shell = std::move(shell)](const master::Dependencies& on) -> Result<std::unique_ptr<master::PartShell>> {
    TRY_ASSIGN(made, master::ClusterShell::make({on.loop, tapped_, on.pool, on.records, on.calendar, on.log}, shell));
    cluster_ = made.get();
    return made;
  };

  master::Options options;
  options.tick_every = deps.settings.beat_every / 4;
  options.confirm_every = deps.settings.agent_timeout / 12;
  options.changes_kept = 1'000'000;
  options.reply = events_.reply;
  for (app::PartDeclaration& part : app::parts_of(std::move(parts))) options.parts.push_back(std::move(part.setup));
  TRY_ASSIGN(last_change, deps.records.last("change"));
  TRY_ASSIGN(master,
             master::Master::make({loop_, pool_, deps.records, calendar_, deps.log}, std::move(options), last_change));
  master_ = std::move(master);
  loop_.spawn(serve());
  return {};
}

loop::Task<void> MasterNode::serve() {
  const Result<void> ended = co_await master_->run();
  if (!ended) events_.failed(ended.error());
}

Result<void> MasterNode::join(const cluster::AgentId& agent, const net::PublicKey& key) {
  TRY(records_.put_agent_key({agent, key.text(), "default", calendar_.wall()}));
  output_->allow(key);
  cluster_->admit_key(key, agent);
  return {};
}

void MasterNode::ask(api::CallId call, const std::string& key, cluster::requests::Request request) {
  api::Credential credential;
  credential.token_hash = token_hash;
  credential.address = "a client";
  credential.idempotency = {key, key};
  master_->ask(call, std::move(credential), std::move(request));
}

}  // namespace cadre::sim
