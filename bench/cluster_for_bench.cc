#include "bench/cluster_for_bench.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/cluster/which_master.h"

namespace cadre::bench {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

Scratch::Scratch() {
  // Where agents have their data when nothing else is said: on a disk, and not in /tmp, which every task has of its
  // own.
  const char* home = std::getenv("HOME");
  path_ = std::string(home == nullptr ? "/var/lib" : home) + "/.cache/cadre-bench-XXXXXX";
  std::error_code there_already;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), there_already);
  if (::mkdtemp(path_.data()) == nullptr) std::abort();
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Process::Process(std::string program, const std::vector<std::string>& arguments, const std::string& log)
    : pid_(::fork()) {
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(file, 1);
  ::dup2(file, 2);
  std::vector<char*> argv{program.data()};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  ::_exit(127);
}

Process::~Process() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

Duration Process::cpu_time() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream words(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) words >> skipped;
  std::int64_t user = 0;
  std::int64_t system = 0;
  words >> user >> system;
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK))));
}

double Process::memory_mib() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib / 1024;
  }
  return 0;
}

Result<std::unique_ptr<Client>> Client::connect(const std::string& data) {
  for (int i = 0; i < 1'000; ++i) {
    const Result<cluster::KnownMaster> master = client::find_master(data);
    if (master) return std::unique_ptr<Client>(new Client(client::endpoint_of(*master)));
    ::usleep(10'000);
  }
  return fail(Errc::timed_out, "the master did not start");
}

namespace {

loop::Task<void> stop_after(loop::RealLoop& loop, loop::Tasks& tasks) {
  co_await tasks.ended();
  loop.stop();
}

}  // namespace

void Client::run_all(std::vector<loop::Task<void>> all) {
  loop::Tasks tasks(loop_);
  for (loop::Task<void>& one : all) tasks.spawn(std::move(one));
  loop_.spawn(stop_after(loop_, tasks));
  loop_.run();
}

Result<void> Client::await_output(cluster::TaskId task) {
  requests::ReadLogs request;
  request.task = task;
  request.epoch = 1;
  request.wait = true;
  for (int i = 0; i < 1'000; ++i) {
    const auto page = ask(request);
    if (page && !page->lines.empty()) return {};
    if (!page) ::usleep(500);  // it is not placed yet
  }
  return fail(Errc::timed_out, "no output came");
}

Result<void> Client::until(const std::function<bool(const requests::Status&)>& wanted) {
  constexpr int attempts_max = 60'000;  // ten minutes: far more than anything here takes
  for (int i = 0; i < attempts_max; ++i) {
    TRY_ASSIGN(status, ask(requests::GetStatus{}));
    if (wanted(status)) return {};
    ::usleep(10'000);
  }
  return fail(Errc::timed_out, "the cluster did not do what was asked; see the logs of its master and agent");
}

requests::Submit job_of(std::vector<std::string> argv) {
  cluster::JobSpec spec;
  spec.members.emplace_back();
  spec.members[0].command.argv = std::move(argv);
  return {std::move(spec)};
}

Result<double> tasks_per_second(Client& client, std::size_t count, cluster::Isolation isolation) {
  using Clock = std::chrono::steady_clock;
  TRY_ASSIGN(before, client.ask(requests::GetStatus{}));
  const std::int64_t ended = before.ended + static_cast<std::int64_t>(count);
  requests::Submit job = job_of({"true"});
  job.job.members[0].policy.isolation = isolation;
  const auto begin = Clock::now();
  TRY(client.ask(std::vector<requests::Submit>(count, job)));
  TRY(client.until([&](const requests::Status& status) { return status.ended == ended; }));
  return static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace cadre::bench
