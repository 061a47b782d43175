#include "app/agent_process.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include "agent/agent.h"
#include "agent/devices.h"
#include "agent/home.h"
#include "agent/host_facts.h"
#include "agent/joining.h"
#include "agent/process/data_folders.h"
#include "agent/process/process_runtime.h"
#include "app/descriptor_limit.h"
#include "app/folder.h"
#include "base/hash.h"
#include "client/cluster/data_folder.h"
#include "cluster/agent_id.h"
#include "cluster/data_folder.h"
#include "loop/file.h"
#include "loop/real_loop.h"
#include "loop/signals.h"
#include "loop/thread_pool.h"
#include "net/zmq_network.h"
#include "supervisor/forking/nursery.h"
#include "supervisor/isolation/cgroup_parent.h"
#include "supervisor/leftovers.h"

namespace cadre::app {
namespace {

namespace fs = std::filesystem;
namespace messages = cluster::messages;
using namespace std::chrono_literals;

constexpr Duration grace_at_end = 5s;
const std::string cgroup_prefix = "cadre-agent-";
constexpr Duration stop_patience = 3s;  // beyond the grace
constexpr std::size_t templates_max = 8;
constexpr unsigned stop_max_s = 20;
constexpr unsigned stop_at_once_max_s = 5;
constexpr Duration leftovers_max = 10s;

/// By which the master knows the agent again, whatever becomes of its process.
Result<std::string> identity_in(const std::string& data) {
  const std::string path = data + "/identity";
  std::string identity;
  if (std::getline(std::ifstream(path), identity) && !identity.empty()) return identity;
  identity = net::make_keys().open.text();
  TRY(loop::write_whole(path, as_bytes(identity + "\n")));
  return identity;
}

/// The name by which the agent of this folder is known stays, whatever the host is called: under another one its tasks
/// would be given up.
Result<std::string> id_in(const std::string& data, const agent::Config& options) {
  const std::string kept = agent::kept_id(data);
  if (kept.empty() || kept == options.id || (options.adopt && !options.id.empty())) return options.id;
  if (options.id.empty()) return kept;
  return fail(Errc::invalid, "--id " + options.id + ": the data folder " + data + " belongs to agent '" + kept +
                                 "'; omit --id, use another --data folder, or rename the agent with --adopt, which "
                                 "sets its tasks aside");
}

class AgentProcess {
 public:
  AgentProcess(const AgentOptions& options, std::string data, std::unique_ptr<supervisor::Nursery> nursery, Log& log)
      : options_(options),
        config_(options.config),
        data_(std::move(data)),
        nursery_(std::move(nursery)),
        log_(log),
        pool_(loop_, {"the agent's files", 4, 100'000}) {}

  ~AgentProcess() { loop_.destroy_tasks(); }

  Result<void> run() {
    raise_descriptor_limit(log_);  // tasks are started by the nursery, which keeps its own
    TRY_ASSIGN(network, net::ZmqNetwork::make(loop_, log_));
    network_ = std::move(network);
    TRY_ASSIGN(introduction, introduce());
    TRY_ASSIGN(way, way_to_master(introduction.agent.id));
    // Before the master can have heard of it: an agent that is killed right after it was accepted keeps its name.
    if (agent::kept_id(data_).empty()) TRY(agent::keep_id(data_, id_));
    if (!way.pool.empty()) introduction.pool = way.pool;
    const agent::WarmProcesses::Rules warm = warm_rules(introduction.agent.cpus);
    TRY_ASSIGN(walls, wall_options());
    agent::ProcessRuntime::Options tasks{introduction.agent.id,
                                         introduction.agent.slot_kind,
                                         introduction.slots,
                                         data_ + "/tasks",
                                         data_ + "/code",
                                         cgroup_,
                                         warm,
                                         walls,
                                         python_path(),
                                         [this](const std::string& folder) -> Result<loop::Descriptor> {
                                           TRY_ASSIGN(born, nursery_->start(folder));
                                           return std::move(born.socket);
                                         },
                                         [this](const std::string& folder, const cluster::LeaseId& home) {
                                           supervisor::end_group(cgroup_, home);
                                           end_leftovers({folder});
                                         },
                                         agent::boot_id(),
                                         {},
                                         config_.setup_timeout};
    TRY(make_private_folder(tasks.tasks, log_));
    end_leftovers(agent::unsupervised_folders(tasks.tasks));
    sweep(tasks.tasks);
    bulk_ = std::make_unique<agent::BulkLink>(*network_, log_);
    TRY_ASSIGN(runtime, agent::ProcessRuntime::make({loop_, pool_, *bulk_, log_}, std::move(tasks)));
    runtime_ = std::move(runtime);
    agent::Options options{introduction, way.control, way.bulk, agent::load_of_host,
                           [this](const std::string& cluster) { note_cluster(cluster); }};
    TRY_ASSIGN(agent, agent::Agent::make({loop_, *network_, *runtime_, *bulk_, log_}, std::move(options)));
    agent->on_end([this](const std::string& why) {
      ended_ = why;
      loop_.stop();
    });
    agent_ = std::move(agent);
    TRY_ASSIGN(signals, loop::on_signal(loop_, {SIGTERM, SIGINT}, [this](int) { stop(); }));
    announce(introduction);
    loop_.run();
    loop_.destroy_tasks();
    agent_.reset();
    runtime_.reset();
    supervisor::remove_cgroups(cgroup_);  // unless tasks go on
    if (!ended_.empty()) return fail(Errc::denied, ended_);
    return {};
  }

 private:
  Result<messages::Hello> introduce() {
    const agent::HostFacts facts = agent::facts_of_host();
    messages::Hello hello;
    hello.protocols = protocol::own();
    hello.pool = config_.pool;
    hello.host = facts.name;
    id_ = config_.id.empty() ? facts.name : config_.id;
    hello.agent.id = cluster::AgentId(id_);
    hello.agent.labels = config_.labels;
    hello.agent.cpus = config_.cpus.value_or(facts.cpus);
    hello.agent.memory = config_.memory.value_or(facts.memory);
    TRY_ASSIGN(home, agent::settle_in(data_, config_.adopt ? agent::Adopt::yes : agent::Adopt::no, log_));
    hello.place = home.place;
    hello.boot = home.boot;
    hello.cluster = home.cluster;
    TRY_ASSIGN(identity, identity_in(data_));
    hello.identity = identity;
    TRY_ASSIGN(devices, agent::find_slots(config_.slots));
    hello.slots = devices.slots;
    hello.agent.slots = static_cast<std::int32_t>(devices.slots.size());
    hello.agent.slot_kind = devices.kind;
    // By the identity, not the name: agents of other clusters on this host may be called the same.
    cgroup_ = supervisor::prepare_cgroups(cgroup_prefix + std::to_string(fnv1a(identity)));
    cgroup_hold_ = supervisor::CgroupHold(cgroup_);
    supervisor::remove_abandoned_cgroups(cgroup_, cgroup_prefix);
    hello.isolation = supervisor::in_words(nursery_->features(), cgroup_);
    hello.owner = config_.owner;
    hello.owner_only = !has_namespaces();
    if (hello.owner_only) {
      hello.isolation.insert(hello.isolation.begin(),
                             "none: accepts only jobs of " +
                                 (config_.owner.empty() ? "the owner of the cluster" : "'" + config_.owner + "'"));
    } else if (::geteuid() == 0) {
      hello.isolation.emplace_back("the tasks of each user run as a separate unix user");
    }
    device_nodes_ = devices.nodes;
    return hello;
  }

  bool has_namespaces() const { return nursery_->features().mount_namespace && nursery_->features().pid_namespace; }

  Result<agent::WallOptions> wall_options() const {
    agent::WallOptions walls;
    walls.data = data_;
    walls.is_root = ::geteuid() == 0;
    walls.has_namespaces = has_namespaces();
    walls.allow_isolation_off = config_.allow_isolation_off;
    walls.device_nodes = device_nodes_;
    walls.shared_nodes = agent::shared_device_nodes();
    walls.uids = config_.uids;
    walls.mounts = config_.allow_mounts;
    if (is_master_folder()) walls.hidden.push_back(config_.master);
    walls.others = [folders = agent::DataFolders::of_this_account(), own = data_] { return folders.all(own); };
    walls.shown = programs();
    for (const std::string& python : config_.pythons) {
      const std::vector<std::string> folders = agent::folders_of_python(python);
      if (folders.empty()) return fail(Errc::not_found, "--python: '" + python + "' does not exist on this host");
      walls.shown.insert(walls.shown.end(), folders.begin(), folders.end());
    }
    return walls;
  }

  /// What tasks use of cadre, wherever it was built.
  static std::vector<std::string> programs() {
    std::vector<std::string> found;
    std::error_code unknown;
    for (const auto& entry : fs::directory_iterator(fs::path(supervisor::program_beside_us()).parent_path(), unknown)) {
      const std::string name = entry.path().filename();
      if (name == "cadre" || name.starts_with("cadre-") || name.starts_with("libcadre")) found.push_back(entry.path());
    }
    if (const std::string python = python_path(); !python.empty()) {
      found.push_back(python);
      found.push_back(fs::canonical(python + "/cadre", unknown));  // a link, when it was installed
    }
    return found;
  }

  bool is_master_folder() const { return config_.join.empty() && config_.master.starts_with('/'); }

  /// A folder with nothing but the Python package: of the build, or of the installation.
  static std::string python_path() {
    const fs::path programs = fs::path(supervisor::program_beside_us()).parent_path();
    for (const fs::path& folder : {programs / "python", programs.parent_path() / "lib/cadre/python"}) {
      std::error_code unknown;
      if (fs::exists(folder / "cadre/__init__.py", unknown)) return folder;
    }
    return "";
  }

  agent::WarmProcesses::Rules warm_rules(plan::Cpus offered) const {
    const std::int64_t cpus = std::max<std::int64_t>(offered.milli / 1000, 1);
    cluster::host::WarmRules rules;
    rules.each_max = static_cast<std::size_t>(config_.warm.value_or(static_cast<std::int32_t>(cpus)));
    rules.all_max = 8 * rules.each_max;
    rules.starting_max = static_cast<std::size_t>(std::clamp<std::int64_t>(cpus / 2, 2, 8));
    rules.memory_max = config_.warm_memory.value_or(ByteSize{agent::facts_of_host().memory.value / 10});
    cluster::host::TemplateRules templates;
    templates.all_max = rules.each_max == 0 ? 0 : templates_max;
    templates.memory_max = rules.memory_max;
    return {rules, templates};
  }

  Result<agent::Way> way_to_master(const cluster::AgentId& id) {
    if (is_master_folder()) {
      return agent::way_by_folder({loop_, *network_, log_, data_, id, cluster::DataFolder{config_.master}});
    }
    return agent::way_by_key({loop_, *network_, data_, id, config_.join, config_.master});
  }

  void note_cluster(const std::string& cluster) {
    if (const Result<void> kept = agent::keep_id(data_, id_); !kept) {
      log_.warning("cannot save the name of this agent: " + kept.error().message);
    }
    if (const Result<void> noted = agent::note_cluster(data_, cluster); !noted) {
      log_.warning("cannot save the cluster to which this agent belongs: " + noted.error().message);
    }
  }

  /// At the first signal gracefully, at the second at once, and in any case within a bound: what hangs by then is not
  /// worth waiting for, and supervisors that nobody told end their tasks by themselves.
  void stop() {
    ++stops_;
    ::alarm(stops_ == 1 ? stop_max_s : stop_at_once_max_s);  // as a last resort it ends the process
    if (!options_.end_tasks) {
      agent_->say_goodbye();
      return loop_.stop();
    }
    const Duration grace = stops_ == 1 ? grace_at_end : Duration{0};
    agent_->end_tasks(grace, [this] { loop_.stop(); });
    give_up_ = loop_.after(grace + stop_patience, [this] { loop_.stop(); });
  }

  void end_leftovers(const std::vector<std::string>& folders) {
    const int left = supervisor::end_leftovers(folders, leftovers_max);
    if (left > 0) log_.warning(std::to_string(left) + " processes of tasks without a supervisor cannot be killed");
  }

  /// Supervisors that died have left groups with processes in them.
  void sweep(const std::string& tasks) {
    std::set<cluster::LeaseId> alive = agent::supervised(tasks).homes;
    for (const agent::FoundTask& one : agent::find_tasks(tasks, agent::boot_id(), log_)) {
      if (!one.ending) alive.insert(one.launch.home());
    }
    supervisor::sweep_cgroups(cgroup_, alive);
  }

  void announce(const messages::Hello& hello) {
    log_.info("agent '" + hello.agent.id.value + "' offers " + std::to_string(hello.agent.slots) + " slots, " +
              plan::to_string(hello.agent.cpus) + " cpus, " + to_string(hello.agent.memory));
    for (const std::string& words : hello.isolation) log_.info("isolation: " + words);
    if (config_.join.empty() || !config_.owner.empty() || ::geteuid() == 0) return;
    log_.warning(
        "tasks of the owner of the cluster run here as your unix user: they can read and change your files, "
        "such as those in " +
        client::home_folder() + "; to allow that only to one user of the cluster, use --owner NAME");
  }

  const AgentOptions& options_;
  const agent::Config& config_;
  std::string data_;
  std::string id_;
  std::unique_ptr<supervisor::Nursery> nursery_;
  Log& log_;
  loop::RealLoop loop_;
  loop::ThreadPool pool_;
  std::unique_ptr<net::ZmqNetwork> network_;
  cluster::supervision::CgroupParent cgroup_;
  supervisor::CgroupHold cgroup_hold_;
  std::vector<std::string> device_nodes_;
  std::unique_ptr<agent::BulkLink> bulk_;
  std::unique_ptr<agent::ProcessRuntime> runtime_;
  std::unique_ptr<agent::Agent> agent_;
  std::string ended_;
  int stops_ = 0;
  loop::Timer give_up_;
};

}  // namespace

Result<void> run_agent(const AgentOptions& given, Log& log) {
  AgentOptions options = given;
  TRY_ASSIGN(id, id_in(given.config.data, given.config));
  options.config.id = id;
  TRY_ASSIGN(data, open_data_folder(options.config.data, log));
  std::optional<supervisor::IsolationFeatures> features;
  if (options.has_no_namespaces) features.emplace();
  TRY_ASSIGN(nursery,
             supervisor::Nursery::open(supervisor::program_beside_us(), features));  // before there are threads
  TRY_ASSIGN(lock, lock_folder(data));
  hide_from_tasks(data, log);
  AgentProcess process(options, data, std::move(nursery), log);
  return process.run();
}

}  // namespace cadre::app
