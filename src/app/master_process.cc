#include "app/master_process.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "agent/host_facts.h"
#include "app/folder.h"
#include "cluster/data_folder.h"
#include "describe/describe.h"
#include "loop/calendar.h"
#include "loop/real_loop.h"
#include "loop/signals.h"
#include "loop/thread_pool.h"
#include "master/bulk_server.h"
#include "master/join_desk.h"
#include "master/master.h"
#include "net/zmq_network.h"
#include "records/records.h"

namespace cadre::app {
namespace {

namespace fs = std::filesystem;
using cluster::DataFolder;

/// Where the master listens beyond its own host.
struct Endpoints {
  std::string control;
  std::string bulk;
  std::string join;
};

Result<Endpoints> endpoints(const std::string& listen) {
  const std::size_t colon = listen.rfind(':');
  int port = -1;
  if (colon != std::string::npos) {
    const std::string digits = listen.substr(colon + 1);
    if (!digits.empty() && digits.size() <= 5 && digits.find_first_not_of("0123456789") == std::string::npos) {
      port = std::stoi(digits);
    }
  }
  if (colon == 0 || port < 0 || port > 65'533) {
    return fail(Errc::invalid,
                "listen: '" + listen +
                    "' is no host:port; write one like 0.0.0.0:7300 (with port 0, three free ones are taken)");
  }
  const std::string host = "tcp://" + listen.substr(0, colon) + ":";
  const auto at = [&](int step) { return host + std::to_string(port == 0 ? 0 : port + step); };
  return Endpoints{at(0), at(1), at(2)};
}

/// The same address by the name under which others reach this host: one that is given, or, when it listens on all its
/// addresses, its own name.
std::string seen_from_outside(const std::string& address, std::string host) {
  const bool everywhere = address.starts_with("tcp://0.0.0.0:") || address.starts_with("tcp://*:");
  if (host.empty() && !everywhere) return address;
  if (host.empty()) host = agent::facts_of_host().name;
  return "tcp://" + host + address.substr(address.rfind(':'));
}

Result<net::Keys> keys_in(const std::string& path) {
  if (!fs::exists(path)) {
    const net::Keys keys = net::make_keys();
    TRY(net::save_keys(keys, path));
    return keys;
  }
  return net::load_keys(path);
}

/// Writes each plan and what it decided into files that `cadre plan` and people read.
class Recorder {
 public:
  explicit Recorder(std::string folder) : folder_(std::move(folder)) {}

  void operator()(const cluster::control::PlanRecord& record) {
    const std::string path = folder_ + "/" + std::to_string(1'000'000 + ++number_).substr(1);
    std::ofstream(path + ".plan.json") << describe::write_json(record.file, describe::Indent::two_spaces) << "\n";
    std::ofstream(path + ".decided.json")
        << describe::write_json(cluster::to_answer(record.file, record.plan), describe::Indent::two_spaces) << "\n";
  }

 private:
  std::string folder_;
  int number_ = 0;
};

/// Everything that a master process holds, in the order in which it comes and, backwards, goes.
class MasterProcess {
 public:
  MasterProcess(const master::Config& config, DataFolder data, std::function<void()> is_up, Log& log)
      : config_(config),
        data_(std::move(data)),
        is_up_(std::move(is_up)),
        log_(log),
        pool_(loop_, {"the records", 1, 1'000}),
        calendar_(loop_) {}

  ~MasterProcess() { loop_.destroy_tasks(); }

  Result<void> run() {
    TRY(open());
    TRY_ASSIGN(signals, loop::on_signal(loop_, {SIGTERM, SIGINT}, [this](int) { master_->stop(); }));
    log_.info("the master is up: " + data_.path + (config_.listen.empty() ? "" : ", " + join_.control));
    if (is_up_) is_up_();
    loop_.spawn(serve());
    loop_.run();
    bulk_->stop();
    log_.info("the master has stopped");
    return ended_;
  }

 private:
  Result<void> open() {
    TRY_ASSIGN(network, net::ZmqNetwork::make(loop_, log_));
    network_ = std::move(network);
    TRY_ASSIGN(records,
               records::Records::open(config_.database.empty() ? data_.database_url() : config_.database, log_));
    records_ = std::move(records);
    TRY_ASSIGN(boot, records_->begin_boot());
    TRY_ASSIGN(rows, records_->load(config_.cluster.ended_jobs_kept));
    TRY_ASSIGN(known, agent_keys());
    std::optional<Endpoints> outside;
    std::optional<net::Keys> keys;
    if (!config_.listen.empty()) {
      TRY_ASSIGN(where, endpoints(config_.listen));
      TRY_ASSIGN(own, keys_in(data_.keys_file()));
      outside = where;
      keys = own;
    }
    std::set<net::PublicKey> allowed;
    for (const auto& [key, agent] : known) allowed.insert(key);
    const auto hub = [&](std::string inside, const std::string& beyond) {
      net::HubOptions options{{std::move(inside)}, keys, net::Admission::only(allowed), {}};
      if (outside) options.addresses.push_back(beyond);
      options.limits.queue_max = 50'000;
      return options;
    };
    TRY_ASSIGN(bulk, master::BulkServer::start({hub(data_.bulk_address(), outside ? outside->bulk : ""),
                                                data_.output_folder(), data_.code_folder(), config_.bulk},
                                               log_));
    bulk_ = std::move(bulk);

    master::Options options;
    options.settings = config_.cluster;
    options.keeping = config_.keeping;
    options.agents = hub(data_.agents_address(), outside ? outside->control : "");
    options.clients.addresses = {data_.clients_address()};
    options.agent_keys = known;
    options.boot = boot;
    options.rows = std::move(rows);
    options.clients.limits.queue_max = 50'000;
    options.keep_code = [this](const std::string& hash) { bulk_->keep(hash); };
    options.release_code = [this](const std::string& hash) { bulk_->release(hash); };
    if (!config_.record.empty()) {
      TRY_ASSIGN(folder, make_private_folder(config_.record));
      options.settings.record_plans = true;
      options.record = Recorder(folder);
    }
    if (outside) {
      options.make_join_token = [this](cluster::requests::MakeJoinToken request) {
        return desk_->make_token(std::move(request));
      };
    }
    TRY_ASSIGN(master, master::Master::make({loop_, *network_, pool_, *records_, calendar_, log_}, std::move(options)));
    master_ = std::move(master);
    if (outside) TRY(open_desk(*outside, *keys));
    return {};
  }

  Result<void> open_desk(const Endpoints& outside, const net::Keys& keys) {
    join_.seen_from_outside = [this](const std::string& address) {
      return seen_from_outside(address, config_.advertise);
    };
    join_.control = join_.seen_from_outside(master_->agents_addresses().back());
    join_.bulk = join_.seen_from_outside(bulk_->addresses().back());
    join_.hub = {{outside.join}, keys, net::Admission::anyone(), {}};
    join_.admit = [this](const net::PublicKey& key, const cluster::AgentId& agent) {
      master_->admit(key, agent);
      bulk_->allow(key);
    };
    TRY_ASSIGN(desk, master::JoinDesk::open({loop_, *network_, pool_, *records_, calendar_, log_}, join_));
    desk_ = std::move(desk);
    return {};
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
  Log& log_;
  loop::RealLoop loop_;
  loop::ThreadPool pool_;
  loop::Calendar calendar_;
  std::unique_ptr<net::ZmqNetwork> network_;
  std::unique_ptr<records::Records> records_;
  std::unique_ptr<master::BulkServer> bulk_;
  std::unique_ptr<master::Master> master_;
  master::JoinDeskOptions join_;
  std::unique_ptr<master::JoinDesk> desk_;
  Result<void> ended_;
};

}  // namespace

Result<void> run_master(const master::Config& config, Log& log, std::function<void()> is_up) {
  TRY_ASSIGN(path, make_private_folder(config.data));
  TRY_ASSIGN(lock, lock_folder(path));
  const DataFolder data{path};
  TRY(make_private_folder(data.run()));
  MasterProcess process(config, data, std::move(is_up), log);
  return process.run();
}

}  // namespace cadre::app
