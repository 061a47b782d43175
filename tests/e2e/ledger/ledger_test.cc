// A ledger of jobs under chaos. Master, agents, supervisors and whole hosts are killed every second or two while jobs
// are submitted; in the end every accepted job has ended once and as it should, every line is there once, nothing is
// left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "base/dice.h"
#include "describe/describe.h"
#include "tests/e2e/cluster/test_cluster.h"

namespace cadre::e2e {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using cluster::JobStage;
using cluster::lease::Reason;
using cluster::requests::JobView;
using Clock = std::chrono::steady_clock;

constexpr std::size_t open_jobs_max = 24;
constexpr std::size_t submissions_max = 4;
constexpr auto agent_timeout = 3s;
constexpr const char* kinds[] = {"master", "agent", "supervisor", "host"};  ///< of what is killed

/// How long faults are made.
std::chrono::seconds chaos_time() {
  const char* chosen = std::getenv("CADRE_LEDGER_SECONDS");
  return std::chrono::seconds(chosen == nullptr ? 30 : std::atoi(chosen));
}

std::uint64_t seed() {
  const char* chosen = std::getenv("CADRE_SEED");
  return chosen == nullptr ? static_cast<std::uint64_t>(::getpid()) : std::strtoull(chosen, nullptr, 10);
}

struct Entry {
  std::string name;
  int count = 1;  ///< tasks of the gang
  int lines = 0;  ///< of each task
  int code = 0;   ///< with which each task exits
  int pause = 1;  ///< after each line, in units of 10 ms
  bool strict = false;
  bool killed = false;  ///< by its user, at some time
  std::optional<TestCluster::Background> submission;
  std::uint64_t job = 0;
  bool ended = false;
};

/// Prints `EPOCH NUMBER` for each line. A strict task holds a lock while it runs: a second process of it finds it
/// taken. Each agent runs it under a UID of its own, so all may write the file of the lock.
std::string script_of(const Entry& entry) {
  const std::string body = "i=0; while [ $i -lt " + std::to_string(entry.lines) +
                           " ]; do i=$((i+1)); echo $CADRE_EPOCH $i; sleep 0.0" + std::to_string(entry.pause) +
                           "; done; exit " + std::to_string(entry.code);
  if (!entry.strict) return body;
  return "umask 0; exec 9>>/mnt/" + entry.name + ".$CADRE_RANK; flock -n 9 || { echo overlap; exit 99; }; " + body;
}

class Ledger : public testing::Test {
 protected:
  Ledger() : cluster_(setup()), dice_(seed()), began_(Clock::now()) {
    fs::create_directory(shared());
    fs::permissions(shared(), fs::perms::all);
    for (const std::string& name : names_) start_agent(name);
  }

  static TestCluster::Setup setup() {
    TestCluster::Setup setup;
    setup.agent_timeout = "3s";
    return setup;
  }
  std::string shared() const { return cluster_.folder() + "/shared"; }
  bool in_time() const { return Clock::now() < began_ + chaos_time(); }
  int between(int low, int high) { return static_cast<int>(dice_.between(low, high)); }

  void start_agent(const std::string& name) {
    cluster_.start_agent(name, {"--artificial-slots", "4", "--cpus", "64"});
    down_.erase(name);
  }

  void submit_one() {
    Entry entry;
    entry.name = "ledger-" + std::to_string(entries_.size() + 1);
    entry.count = between(1, 4) == 1 ? 2 : 1;
    entry.lines = between(1, 60);
    entry.code = between(1, 3) == 1 ? between(1, 60) : 0;
    entry.strict = between(0, 1) == 1;
    entry.pause = between(1, 9);
    submit(entry);
    entries_.push_back(std::move(entry));
  }

  void submit(Entry& entry) {
    entry.submission =
        cluster_.start_cadre({"run", "--detach", "--json", "--name", entry.name, "--count", std::to_string(entry.count),
                              "--slots", "1", "--fence", entry.strict ? "strict" : "keep", "--mount",
                              shared() + ":/mnt:rw", "--", "sh", "-c", script_of(entry)});
  }

  /// Notes what has become of submissions and jobs.
  void look() {
    for (Entry& entry : entries_) {
      siginfo_t info{};
      if (!entry.submission) continue;
      if (::waitid(P_PID, static_cast<id_t>(entry.submission->pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
          info.si_pid == 0) {
        continue;
      }
      accept(entry);
    }
    if (Clock::now() < looked_ + 500ms) return;
    looked_ = Clock::now();
    for (const JobView& job : cluster_.jobs()) {
      if (Entry* entry = entry_of(job.id.value)) entry->ended = job.stage == JobStage::ended;
    }
  }

  void accept(Entry& entry) {
    const Said said = entry.submission->wait();
    entry.submission.reset();
    // A slow host may need longer to restart the master than a client waits that never met one. Nobody heard of the
    // job.
    if (said.code == 125 && said.err.find("no master answers") != std::string::npos) return submit(entry);
    ASSERT_EQ(said.code, 0) << entry.name << ": " << said.err;
    const auto job = describe::read_json<JobView>(said.out);
    ASSERT_TRUE(job) << said.out;
    entry.job = job->id.value;
    EXPECT_TRUE(by_job_.emplace(entry.job, &entry - entries_.data()).second) << "two submissions became one job";
  }

  Entry* entry_of(std::uint64_t job) {
    const auto found = by_job_.find(job);
    return found == by_job_.end() ? nullptr : &entries_[static_cast<std::size_t>(found->second)];
  }

  std::size_t submitting() const {
    std::size_t count = 0;
    for (const Entry& entry : entries_) count += entry.submission ? 1 : 0;
    return count;
  }
  std::size_t open() const {
    std::size_t count = 0;
    for (const Entry& entry : entries_) count += entry.ended ? 0 : 1;
    return count;
  }

  void kill_by_user() {
    std::vector<Entry*> running;
    for (Entry& entry : entries_) {
      if (entry.job != 0 && !entry.ended) running.push_back(&entry);
    }
    if (running.empty()) return;
    Entry& chosen = *running[static_cast<std::size_t>(between(0, static_cast<int>(running.size()) - 1))];
    chosen.killed = true;
    cluster_.cadre({"task", "kill", std::to_string(chosen.job)});
  }

  /// One supervisor, if there is any, whatever it is doing; its task may end by that.
  void kill_supervisor(const std::string& agent) {
    const std::string tasks = cluster_.agent_folder(agent) + "/tasks/";
    std::error_code gone;
    std::vector<std::pair<pid_t, std::uint64_t>> supervisors;  // and their jobs
    for (const pid_t pid : cluster_.processes(agent)) {
      const std::string where = fs::read_symlink("/proc/" + std::to_string(pid) + "/cwd", gone).string();
      const std::string name = where.size() > tasks.size() ? where.substr(tasks.size()) : "";
      const bool is_supervisor = !name.empty() && name.find('/') == std::string::npos && !name.starts_with("0.");
      if (is_supervisor) supervisors.emplace_back(pid, std::strtoull(name.c_str(), nullptr, 10));
    }
    if (supervisors.empty()) return;
    const auto [pid, job] = supervisors[dice_.below(supervisors.size())];
    orphaned_.insert(job);
    if (::kill(pid, SIGKILL) == 0) ++faults_["supervisor"];
  }

  void take_down(const std::string& agent, bool with_host) {
    if (down_.contains(agent)) return;
    if (with_host) {
      cluster_.kill_host(agent);
    } else {
      cluster_.kill_agent(agent);
    }
    ++faults_[with_host ? "host" : "agent"];
    // Usually back in time, sometimes too late.
    down_[agent] =
        Clock::now() + (between(1, 4) == 1 ? agent_timeout + 2s : std::chrono::milliseconds(between(0, 1500)));
  }

  void restart_master() {
    cluster_.kill_master();
    ++faults_["master"];
    std::this_thread::sleep_for(std::chrono::milliseconds(between(0, 500)));
    cluster_.start_master();
  }

  bool lacks_a_kind() const {
    const auto is_missing = [&](const char* kind) { return !faults_.contains(kind); };
    return std::any_of(std::begin(kinds), std::end(kinds), is_missing);
  }

  void make_fault() {
    const std::string& agent = names_[static_cast<std::size_t>(between(0, 1))];
    // The dice may leave out the rarest kind; it gets its turn at the end.
    if (!in_time() && !faults_.contains("supervisor")) return kill_supervisor(agent);
    switch (between(0, 9)) {
      case 0:
      case 1:
      case 2: return restart_master();
      case 3:
      case 4: return take_down(agent, false);
      case 5:
      case 6: return take_down(agent, true);
      case 7: return kill_supervisor(agent);
      case 8: return kill_by_user();
      default:  // everything at once
        for (const std::string& name : names_) take_down(name, between(0, 1) == 1);
        return restart_master();
    }
  }

  void check(const Entry& entry) {
    SCOPED_TRACE(entry.name + ", job " + std::to_string(entry.job) + (entry.strict ? ", strict" : ", keep"));
    const JobView job = cluster_.job(entry.job);
    ASSERT_EQ(job.stage, JobStage::ended);
    ++(job.reason == Reason::exited ? exited_ : ended_by_faults_);
    run_again_ += job.runs > 1 ? 1 : 0;
    const bool may_be_killed = entry.killed && job.reason == Reason::killed_by_user;
    const bool may_be_orphaned = orphaned_.contains(entry.job) && job.reason == Reason::signalled;
    if (!may_be_killed && !may_be_orphaned) {
      EXPECT_EQ(job.reason, Reason::exited) << job.detail;
      EXPECT_EQ(job.code, entry.code) << job.detail;
    }
    for (const auto& task : job.tasks) {
      const bool complete = task.ending && task.ending->reason == Reason::exited && task.ending->code == entry.code;
      check_lines(entry, cluster_.cadre({"task", "logs", cluster::to_string(task.id)}).out, task.epoch, complete);
    }
  }

  /// Each run of a task wrote its lines from the first on, each once; the last run all of them.
  void check_lines(const Entry& entry, const std::string& text, std::uint64_t last_epoch, bool complete) {
    std::map<std::uint64_t, int> seen;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::uint64_t epoch = 0;
      int number = 0;
      ASSERT_TRUE(words >> epoch >> number) << line;
      ASSERT_EQ(number, seen[epoch] + 1) << "epoch " << epoch << " of:\n" << text;
      seen[epoch] = number;
      ++lines_;
    }
    if (complete) {
      EXPECT_EQ(seen[last_epoch], entry.lines) << "epoch " << last_epoch << " of:\n" << text;
    }
  }

  void expect_nothing_left() {
    for (const std::string& name : names_) {
      EXPECT_TRUE(TestCluster::until([&] { return cluster_.processes(name).empty(); })) << "processes on " << name;
      const auto folders = [&] {
        std::string found;
        for (const fs::directory_entry& one : fs::directory_iterator(cluster_.agent_folder(name) + "/tasks")) {
          const std::string folder = one.path().filename();
          if (!folder.starts_with("spare-")) found += folder + " ";
        }
        return found;
      };
      EXPECT_TRUE(TestCluster::until([&] { return folders().empty(); })) << "folders on " << name << ": " << folders();
      EXPECT_FALSE(cluster_.groups_of_agent(name).empty() && ::geteuid() == 0) << "root can make control groups";
      EXPECT_TRUE(TestCluster::until([&] { return cluster_.groups_of_tasks(name).empty(); })) << "groups on " << name;
    }
    for (const auto& agent : cluster_.agents()) {
      EXPECT_EQ(agent.slots_used, 0) << agent.id.value;
      EXPECT_EQ(agent.tasks, 0) << agent.id.value;
    }
  }

  TestCluster cluster_;
  Dice dice_;
  Clock::time_point began_;
  Clock::time_point looked_{};
  const std::vector<std::string> names_{"a1", "a2"};
  std::vector<Entry> entries_;
  std::map<std::uint64_t, std::ptrdiff_t> by_job_;
  std::set<std::uint64_t> orphaned_;               ///< jobs of which a supervisor was killed
  std::map<std::string, Clock::time_point> down_;  ///< agents, and when they are to come back
  std::map<std::string, int> faults_;
  std::uint64_t lines_ = 0;
  std::size_t exited_ = 0;
  std::size_t ended_by_faults_ = 0;  ///< by their user, or with their supervisor
  std::size_t run_again_ = 0;
};

TEST_F(Ledger, BalancesUnderChaos) {
  SCOPED_TRACE("CADRE_SEED=" + std::to_string(seed()));
  entries_.reserve(100'000);  // entries keep their place
  auto next_fault = Clock::now() + 1s;
  const auto latest = began_ + 3 * chaos_time();
  while ((in_time() || (lacks_a_kind() && Clock::now() < latest)) && !HasFatalFailure()) {
    if (open() < open_jobs_max && submitting() < submissions_max) submit_one();
    look();
    for (const std::string& name : names_) {
      if (down_.contains(name) && Clock::now() >= down_[name]) start_agent(name);
    }
    if (Clock::now() >= next_fault) {
      make_fault();
      next_fault = Clock::now() + std::chrono::milliseconds(between(800, 2000));
    }
    std::this_thread::sleep_for(10ms);
  }
  for (const std::string& name : names_) {
    if (down_.contains(name)) start_agent(name);
  }
  const auto patience = Clock::now() + 3min;
  while ((open() > 0 || submitting() > 0) && Clock::now() < patience && !HasFatalFailure()) {
    look();
    std::this_thread::sleep_for(50ms);
  }
  std::set<std::string> names;
  for (const JobView& job : cluster_.jobs())
    EXPECT_TRUE(names.insert(job.name).second) << job.name << " is there twice";
  EXPECT_EQ(names.size(), entries_.size());
  EXPECT_EQ(by_job_.size(), entries_.size()) << "not every submission was accepted";
  for (const Entry& entry : entries_) check(entry);
  expect_nothing_left();
  int all = 0;
  for (const auto& [kind, count] : faults_) all += count;
  std::printf("ledger: %zu jobs, %llu lines, %d faults:", entries_.size(), static_cast<unsigned long long>(lines_),
              all);
  for (const auto& [kind, count] : faults_) std::printf(" %s %d", kind.c_str(), count);
  std::printf("; seed %llu\n", static_cast<unsigned long long>(seed()));
  EXPECT_GT(all, static_cast<int>(chaos_time().count()) / 8);
  for (const char* kind : kinds) EXPECT_GT(faults_[kind], 0) << "no " << kind << " was killed";
  EXPECT_GT(by_job_.size(), static_cast<std::size_t>(chaos_time().count()) / 2);
  EXPECT_GT(exited_, ended_by_faults_) << "few jobs ended by themselves";
  EXPECT_GT(run_again_, 0U) << "no job was hit by a fault";
  EXPECT_GE(lines_, exited_) << "each of them wrote a line or more";
}

}  // namespace
}  // namespace cadre::e2e
