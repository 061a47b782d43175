#include "tests/e2e/cluster/test_cluster.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "base/hash.h"
#include "database/database.h"
#include "describe/describe.h"
#include "tests/servers/postgres.h"
#include "tests/servers/process.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
namespace requests = cluster::requests;

template <class T>
T read_answer(const Said& said) {
  auto value = describe::read_json<T>(said.out);
  if (!value) {
    throw std::runtime_error("exit code " + std::to_string(said.code) + ", not understood: " + said.out + said.err);
  }
  return *std::move(value);
}

/// Zombies have ended.
bool is_alive(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'Z';
}

std::vector<std::string> groups_where(const std::function<bool(const fs::path&)>& holds) {
  std::vector<std::string> found;
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator("/sys/fs/cgroup", error); at != fs::end(at); at.increment(error)) {
    if (at->is_directory(error) && holds(at->path())) found.push_back(at->path());
  }
  return found;
}

}  // namespace

void open_to_tasks(const std::string& folder) {
  ::chmod(fs::path(folder).parent_path().c_str(), 0755);
  ::chmod(folder.c_str(), 0777);
}

TestCluster::TestCluster(Setup setup) : setup_(std::move(setup)) {
  open_to_tasks(folder());
  if (servers::uses_postgres()) database_ = servers::make_postgres_schema();
  if (setup_.disk_bytes) {
    fs::create_directory(data());
    disk_ = std::make_unique<servers::SmallDisk>(data(), *setup_.disk_bytes);
    fs::permissions(data(), fs::perms::owner_all);
  }
  start_master();
}

TestCluster::~TestCluster() {
  if (::testing::Test::HasFailure()) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder())) {
      if (entry.path().extension() != ".log") continue;
      std::fprintf(stderr, "--- %s\n%s", entry.path().filename().c_str(), read_text(entry.path()).c_str());
    }
  }
  for (auto& [name, agent] : agents_) {
    if (agent.pid > 0) servers::kill_tree(agent.pid);
  }
  if (master_ > 0) servers::kill_tree(master_);
  while (!processes().empty()) {
    for (const pid_t pid : processes()) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(10ms);
  }
}

pid_t TestCluster::start_logged(int host, const std::string& name, std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), CADRE_PROGRAM);
  return servers::start({arguments, "", folder() + "/" + name + ".log", SIGKILL, {}, on(host)});
}

void TestCluster::start_master() {
  std::vector<std::string> arguments{"master", "--data", data(), "--agent-timeout", setup_.agent_timeout};
  const bool serves_others = std::find(setup_.master.begin(), setup_.master.end(), "--http") != setup_.master.end();
  if (!serves_others) arguments.insert(arguments.end(), {"--port", "0"});
  if (!database_.empty()) arguments.insert(arguments.end(), {"--database", database_});
  arguments.insert(arguments.end(), setup_.master.begin(), setup_.master.end());
  master_ = start_logged(1, "master", std::move(arguments));
  ASSERT_TRUE(until([this] { return cadre({"status"}).code == 0; })) << read_text(folder() + "/master.log");
}

void TestCluster::start_agent(const std::string& name, const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"--master", data()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  start_agent_with(name, 1, std::move(all));
}

void TestCluster::start_agent_on(int host, const std::vector<std::string>& arguments) {
  const std::string name = servers::Hosts::name(host);
  std::vector<std::string> all = arguments;
  if (!fs::exists(agent_folder(name))) all.insert(all.end(), {"--join", join_token()});
  start_agent_with(name, host, std::move(all));
}

void TestCluster::start_agent_with(const std::string& name, int host, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"agent", "--id", name, "--data", agent_folder(name), "--allow-isolation-off"});
  agents_[name] = {start_logged(host, name, std::move(arguments)), host};
  ASSERT_TRUE(until([&] { return is_up(name); })) << read_text(folder() + "/" + name + ".log");
}

void TestCluster::kill_master() {
  servers::kill_tree(master_);
  master_ = -1;
}

void TestCluster::kill_agent(const std::string& name) {
  ::kill(agents_.at(name).pid, SIGKILL);
  servers::wait_for(agents_.at(name).pid);
  agents_.at(name).pid = -1;
}

void TestCluster::kill_host(const std::string& name) {
  if (setup_.hosts != nullptr) {
    setup_.hosts->kill(agents_.at(name).host);
    agents_.at(name).pid = -1;
    return;
  }
  kill_agent(name);
  while (!processes(name).empty()) {
    for (const pid_t pid : processes(name)) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(1ms);
  }
}

void TestCluster::kill_master_host() {
  setup_.hosts->kill(1);
  master_ = -1;
}

void TestCluster::stop_agent(const std::string& name) {
  ::kill(agents_.at(name).pid, SIGTERM);
  servers::wait_for(agents_.at(name).pid);
  agents_.at(name).pid = -1;
}

Said TestCluster::cadre(const std::vector<std::string>& arguments, const std::string& input) const {
  ::setenv("CADRE_MASTER", data().c_str(), 1);
  return run_cadre(arguments, input, on(1));
}

TestCluster::Background TestCluster::start_cadre(const std::vector<std::string>& arguments) const {
  static int number = 0;
  Background background;
  background.out = folder() + "/cadre-" + std::to_string(++number) + ".out";
  background.err = background.out + ".err";
  ::setenv("CADRE_MASTER", data().c_str(), 1);
  const auto become_cadre = [&] {
    if (::freopen(background.out.c_str(), "w", stdout) == nullptr) return 125;
    if (::freopen(background.err.c_str(), "w", stderr) == nullptr) return 125;
    std::vector<char*> argv{const_cast<char*>(CADRE_PROGRAM)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    ::execv(CADRE_PROGRAM, argv.data());
    return 126;
  };
  background.pid = servers::fork_child(become_cadre, on(1));
  return background;
}

Said TestCluster::Background::wait() const {
  const int code = servers::wait_for(pid);
  return {code, read_text(out), read_text(err)};
}

std::vector<std::string> TestCluster::on_the_host(std::vector<std::string> options, std::vector<std::string> command) {
  options.insert(options.end(), {"--isolation", "off"});
  if (::geteuid() == 0) options.emplace_back("--run-as-root");
  options.emplace_back("--");
  options.insert(options.end(), command.begin(), command.end());
  return options;
}

std::uint64_t TestCluster::submit(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"run", "--detach", "--json"});
  const Said said = cadre(std::move(arguments));
  if (said.code != 0) throw std::runtime_error("not submitted: " + said.err);
  return read_answer<requests::JobView>(said).id.value;
}

requests::JobView TestCluster::job(std::uint64_t id) const {
  return read_answer<requests::JobView>(cadre({"job", "describe", std::to_string(id), "--json"}));
}

std::vector<requests::JobView> TestCluster::jobs() const {
  return read_answer<requests::Jobs>(cadre({"job", "list", "--kind", "all", "--most", "100000", "--json"})).jobs;
}

std::vector<requests::AgentView> TestCluster::agents() const {
  return read_answer<requests::Agents>(cadre({"agent", "list", "--json"})).agents;
}

bool TestCluster::is_up(const std::string& name) const {
  for (const requests::AgentView& agent : agents()) {
    if (agent.id.value == name && agent.state == "up") return true;
  }
  return false;
}

bool TestCluster::runs_on(std::uint64_t id, const std::string& agent) const {
  const requests::JobView view = job(id);
  return !view.tasks.empty() && view.tasks[0].stage == cluster::lease::Stage::running &&
         view.tasks[0].agent.value == agent;
}

std::string TestCluster::join_token() const {
  const Said said = cadre({"agent", "token", "--json"});
  const std::size_t from = said.out.find("\"token\":\"") + 9;
  return said.out.substr(from, said.out.find('"', from) - from);
}

requests::JobView TestCluster::wait_for_end(std::uint64_t id) const {
  requests::JobView view;
  const bool ended = until([&] {
    view = job(id);
    return view.stage == cluster::JobStage::ended;
  });
  EXPECT_TRUE(ended) << "job " << id << " has not ended: " << cadre({"why", std::to_string(id)}).out;
  return view;
}

std::string TestCluster::output(std::uint64_t id) const { return cadre({"task", "logs", std::to_string(id)}).out; }

bool TestCluster::until(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + 60s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

std::vector<pid_t> TestCluster::processes(const std::string& agent) const {
  return processes_in(agent.empty() ? folder() + "/" : agent_folder(agent) + "/tasks/", "");
}

std::vector<pid_t> TestCluster::task_processes(const std::string& agent) const {
  return processes_in(agent_folder(agent) + "/tasks/", "/work");
}

std::string TestCluster::group_name(const std::string& agent) const {
  std::string identity = read_text(agent_folder(agent) + "/identity");
  identity.resize(identity.find('\n'));
  return "cadre-agent-" + std::to_string(fnv1a(identity));
}

std::vector<std::string> TestCluster::groups_of_tasks(const std::string& agent) const {
  return groups_where(
      [name = group_name(agent)](const fs::path& path) { return path.parent_path().filename() == name; });
}

std::vector<std::string> TestCluster::groups_of_agent(const std::string& agent) const {
  return groups_where([name = group_name(agent)](const fs::path& path) { return path.filename() == name; });
}

std::vector<pid_t> TestCluster::processes_in(const std::string& inside, const std::string& part) const {
  std::vector<pid_t> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string where = fs::read_symlink(entry.path() / "cwd", error).string();
    const pid_t pid = std::stoi(name);
    if (where.starts_with(inside) && where.find(part) != std::string::npos && is_alive(pid)) found.push_back(pid);
  }
  return found;
}

}  // namespace cadre::e2e
