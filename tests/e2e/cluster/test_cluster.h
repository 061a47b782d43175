/// A real master and real agents as processes, on this host or on several, to be killed and started again. One thread
/// at a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cluster/requests.h"
#include "tests/e2e/process.h"
#include "tests/servers/hosts.h"
#include "tests/servers/scratch.h"
#include "tests/servers/small_disk.h"

namespace cadre::e2e {

/// Lets tasks, which run as users of their own, reach files in a folder of a test.
void open_to_tasks(const std::string& folder);

/// Keeps its records in SQLite, or, when CADRE_TEST_ENGINE is `postgresql`, on a server that the test program starts:
/// the same tests hold for both.
class TestCluster {
 public:
  struct Setup {
    std::string agent_timeout = "3s";
    std::vector<std::string> master;                        ///< further arguments
    std::optional<std::int64_t> disk_bytes = std::nullopt;  ///< the master's data folder is a file system of this size
    servers::Hosts* hosts = nullptr;                        ///< the first runs the master and its clients
  };

  TestCluster() : TestCluster(Setup{}) {}
  explicit TestCluster(Setup setup);
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;
  /// Nothing of it is left running.
  ~TestCluster();

  servers::SmallDisk& disk() { return *disk_; }
  const std::string& folder() const { return folder_.path(); }
  std::string database_url() const { return database_.empty() ? "sqlite://" + data() + "/cadre.db" : database_; }
  std::string data() const { return folder() + "/m"; }

  /// Each waits until it is ready.
  void start_master();
  void start_agent(const std::string& name, const std::vector<std::string>& arguments = {"--artificial-slots", "4"});
  /// On another host, by whose name it is called; it joins with a token when it is not known yet.
  void start_agent_on(int host, const std::vector<std::string>& arguments = {"--artificial-slots", "4"});
  /// As a power cut would, but for the tasks and their supervisors.
  void kill_master();
  void kill_agent(const std::string& name);
  /// The same, with everything that the agent has started: its host is gone.
  void kill_host(const std::string& name);
  /// On several hosts.
  void kill_master_host();
  void stop_agent(const std::string& name);
  pid_t master() const { return master_; }
  /// It has ended by itself, and was waited for.
  void forget_master() { master_ = -1; }
  pid_t agent(const std::string& name) const { return agents_.at(name).pid; }
  std::string agent_folder(const std::string& name) const { return folder() + "/" + name; }

  /// Runs cadre for this cluster.
  Said cadre(const std::vector<std::string>& arguments, const std::string& input = "") const;
  /// The same in the background; what it says goes into files.
  struct Background {
    pid_t pid = -1;
    std::string out;
    std::string err;
    /// Waits for its end.
    Said wait() const;
  };
  Background start_cadre(const std::vector<std::string>& arguments) const;

  /// Options of a job, and then a command, whose task sees the host as the test does.
  static std::vector<std::string> on_the_host(std::vector<std::string> options, std::vector<std::string> command);

  /// `cadre run --detach`; the job's number.
  std::uint64_t submit(std::vector<std::string> arguments) const;
  cluster::requests::JobView job(std::uint64_t id) const;
  std::vector<cluster::requests::JobView> jobs() const;
  std::vector<cluster::requests::AgentView> agents() const;
  bool is_up(const std::string& agent) const;
  /// Whether a job's first task does.
  bool runs_on(std::uint64_t id, const std::string& agent) const;
  /// With which one agent may join, when the master listens to other hosts.
  std::string join_token() const;
  /// Fails the test when it has not ended after a minute.
  cluster::requests::JobView wait_for_end(std::uint64_t id) const;
  /// Everything that a job's first task has written, in all its lines.
  std::string output(std::uint64_t id) const;

  /// Tries until it holds, for a minute at most; false if it never does.
  [[nodiscard]] static bool until(const std::function<bool()>& holds);
  /// Processes of this cluster's tasks and their supervisors: those whose folder lies in an agent's.
  std::vector<pid_t> processes(const std::string& agent = "") const;
  /// Of these, those of tasks, without their supervisors.
  std::vector<pid_t> task_processes(const std::string& agent) const;
  /// The control groups of an agent's tasks, and those that it has made for them.
  std::vector<std::string> groups_of_tasks(const std::string& agent) const;
  std::vector<std::string> groups_of_agent(const std::string& agent) const;

 private:
  std::vector<pid_t> processes_in(const std::string& folder, const std::string& part) const;
  /// What the system calls the control groups of an agent.
  std::string group_name(const std::string& agent) const;
  /// Where a host's processes are made.
  servers::Fork on(int host) const { return setup_.hosts == nullptr ? servers::Fork() : setup_.hosts->on(host); }
  pid_t start_logged(int host, const std::string& name, std::vector<std::string> arguments) const;
  void start_agent_with(const std::string& name, int host, std::vector<std::string> arguments);

  Setup setup_;
  std::string database_;
  servers::TempDir folder_;
  std::unique_ptr<servers::SmallDisk> disk_;
  pid_t master_ = -1;
  struct OneAgent {
    pid_t pid = -1;
    int host = 1;
  };
  std::map<std::string, OneAgent> agents_;
};

}  // namespace cadre::e2e
