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

#include "cluster/data_folder.h"
#include "describe/describe.h"

namespace cadre::bench {

using namespace std::chrono_literals;
namespace bulk = cluster::bulk;
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

Process::Process(const std::vector<std::string>& arguments, const std::string& log) : pid_(::fork()) {
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(file, 1);
  ::dup2(file, 2);
  std::string program = "/proc/self/exe";
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

Result<std::unique_ptr<Client>> Client::connect(const std::string& data, Log& log) {
  std::unique_ptr<Client> client(new Client(log));
  TRY_ASSIGN(network, net::ZmqNetwork::make(client->loop_, log));
  client->network_ = std::move(network);
  const cluster::DataFolder folder{data};
  for (int i = 0; i < 1'000 && !std::filesystem::exists(folder.run() + "/clients"); ++i) ::usleep(10'000);
  net::LinkOptions control{folder.clients_address(), {}, {}, {}};
  control.limits.queue_max = 100'000;
  TRY_ASSIGN(link, client->network_->connect(control, [self = client.get()](const Bytes& bytes) {
    if (auto answer = describe::read_msgpack<requests::Answer>(bytes)) {
      self->answers_[answer->number] = std::move(answer->reply);
    }
    self->loop_.stop();
  }));
  client->control_ = std::move(link);
  TRY_ASSIGN(bulk_link,
             client->network_->connect({folder.bulk_address(), {}, {}, {}}, [self = client.get()](const Bytes& bytes) {
               const auto message = describe::read_msgpack<bulk::FromMaster>(bytes);
               if (!message) return;
               const auto* output = std::get_if<bulk::Output>(&*message);
               self->has_output_ |= output != nullptr && !output->records.empty();
               self->loop_.stop();
             }));
  client->bulk_ = std::move(bulk_link);
  return client;
}

Client::~Client() = default;

Result<void> Client::run_until(const std::function<bool()>& done) {
  bool late = false;
  const loop::Timer give_up = loop_.after(2min, [&] {
    late = true;
    loop_.stop();
  });
  while (!done()) {
    if (late) return fail(Errc::timed_out, "the master does not answer");
    loop_.run();
  }
  return {};
}

Result<std::vector<requests::Reply>> Client::ask(const std::vector<requests::Request>& requests) {
  const std::uint64_t first = number_ + 1;
  answers_.clear();
  for (const requests::Request& request : requests) {
    TRY(control_->send(describe::write_msgpack(requests::Question{++number_, request})));
  }
  TRY(run_until([&] { return answers_.size() == requests.size(); }));
  std::vector<requests::Reply> replies;
  for (std::size_t i = 0; i < requests.size(); ++i) replies.push_back(std::move(answers_[first + i]));
  return replies;
}

Result<requests::Reply> Client::ask(const requests::Request& request) {
  TRY_ASSIGN(replies, ask(std::vector<requests::Request>{request}));
  return std::move(replies.front());
}

Result<void> Client::await_output(const cluster::LeaseId& lease) {
  has_output_ = false;
  TRY(bulk_->send(describe::write_msgpack(bulk::ToMaster(bulk::ReadOutput{++number_, lease, 0, 0, true}))));
  return run_until([&] { return has_output_; });
}

Result<void> Client::until(const std::function<bool(const requests::Status&)>& wanted) {
  for (;;) {
    TRY_ASSIGN(reply, ask(requests::GetStatus{}));
    const auto* status = std::get_if<requests::Status>(&reply);
    if (status != nullptr && wanted(*status)) return {};
    ::usleep(10'000);
  }
}

requests::Submit job_of(std::vector<std::string> argv) {
  cluster::JobSpec spec;
  spec.members.emplace_back();
  spec.members[0].command.argv = std::move(argv);
  return {std::move(spec)};
}

}  // namespace cadre::bench
