#include "tests/servers/hosts.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "tests/servers/links.h"
#include "tests/servers/rights.h"

namespace cadre::servers {
namespace {

using loop::Descriptor;

constexpr int hosts_max = 254;

/// A pipe on which a child says one number.
class OneNumber {
 public:
  OneNumber() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    from_ = Descriptor(ends[0]);
    to_ = Descriptor(ends[1]);
  }

  /// False when nobody listens any more.
  bool say(int number) const {
    signal(SIGPIPE, SIG_IGN);
    return write(to_.get(), &number, sizeof(number)) == sizeof(number);
  }
  /// In the parent. -1 when the child has ended without a word.
  int hear() {
    to_.close();
    int number = -1;
    return read(from_.get(), &number, sizeof(number)) == sizeof(number) ? number : -1;
  }
  void only_say() { from_.close(); }

 private:
  Descriptor from_;
  Descriptor to_;
};

/// fork(), but the child is where `go` leads; that may fail, with errno. Only a process of one thread may go
/// everywhere, and only its children live among the processes that it went to: there is one between, for a moment.
pid_t fork_elsewhere(const std::function<bool()>& go) {
  OneNumber told;
  const pid_t between = fork();
  if (between < 0) throw std::runtime_error("cannot fork");
  if (between == 0) {
    if (!go()) {
      told.say(-errno);
      _exit(1);
    }
    // A child of the test, as by fork().
    const auto child =
        static_cast<pid_t>(syscall(SYS_clone, CLONE_PARENT | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (child == 0) return 0;
    told.say(child < 0 ? -errno : child);
    _exit(0);
  }
  const int child = told.hear();
  wait_for(between);
  if (child < 0) throw std::system_error(-child, std::generic_category(), "no process on a host");
  return child;
}

/// 0, or the number of an error.
int furnish(const std::string& name) {
  // Mounts of the test reach the host, but not the other way round.
  if (mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return errno;
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) return errno;
  return sethostname(name.data(), name.size()) == 0 ? 0 : errno;
}

/// The first process of a host; when it ends, the kernel ends all others.
[[noreturn]] void be_first(const std::string& name, OneNumber& told) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  told.only_say();
  signal(SIGCHLD, SIG_IGN);                // children that nobody waits for go by themselves
  if (!told.say(furnish(name))) _exit(1);  // the test had ended before we asked to end with it
  close_range(3, UINT_MAX, 0);
  while (true) pause();
}

pid_t start_first_process(const std::string& name) {
  OneNumber told;
  const pid_t pid =
      fork_elsewhere([] { return unshare(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWUTS) == 0; });
  if (pid == 0) be_first(name, told);
  const int error = told.hear();
  if (error == 0) return pid;
  ::kill(pid, SIGKILL);
  wait_for(pid);
  throw std::system_error(error, std::generic_category(), "cannot furnish " + name);
}

Descriptor open_space(const std::string& process, const std::string& kind) {
  Descriptor space(open(("/proc/" + process + "/ns/" + kind).c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) throw std::system_error(errno, std::generic_category(), "open a namespace of " + process);
  return space;
}

Descriptor make_network() {
  return std::async(std::launch::async,
                    [] {
                      if (unshare(CLONE_NEWNET) != 0) {
                        throw std::system_error(errno, std::generic_category(), "a network for the switch");
                      }
                      return open_space("thread-self", "net");
                    })
      .get();
}

/// Those that somebody has waited for: their numbers may be given to others.
void forget_the_gone(std::vector<pid_t>& children) {
  std::erase_if(children, [](pid_t child) {
    siginfo_t ignored;
    return waitid(P_PID, static_cast<id_t>(child), &ignored, WEXITED | WNOHANG | WNOWAIT) != 0;
  });
}

}  // namespace

Hosts::Hosts(int count) {
  if (count < 1 || count > hosts_max) throw std::runtime_error("unsupported number of hosts: " + std::to_string(count));
  expect_network_rights();
  switch_network_ = make_network();
  hosts_.resize(static_cast<std::size_t>(count));
  for (int host = 1; host <= count; ++host) boot(host);
}

Hosts::~Hosts() {
  for (int host = 1; host <= count(); ++host) kill(host);
}

void Hosts::boot(int number) {
  Host& host = at(number);
  if (host.first_process > 0) return;
  host.first_process = start_first_process(name(number));
  const std::string process = std::to_string(host.first_process);
  host.processes = open_space(process, "pid");
  host.network = open_space(process, "net");
  host.mounts = open_space(process, "mnt");
  host.name = open_space(process, "uts");
  connect(number);
}

void Hosts::connect(int number) {
  const auto last = static_cast<std::uint8_t>(number);
  const CableEnd port{"port" + std::to_string(++cables_laid_), {2, 0, 0, 0, 1, last}};
  const CableEnd plug{"eth0", {2, 0, 0, 0, 0, last}};
  switch_.plug(number, in_network(switch_network_, [&] {
                 lay_cable(port, plug, at(number).network.get());
                 bring_up(port.interface);
                 return open_frames(port.interface);
               }));
  inside(number, [&] {
    bring_up("lo");
    set_address(plug.interface, address(number));
    bring_up(plug.interface);
  });
}

void Hosts::kill(int number) {
  Host& host = at(number);
  if (host.first_process < 0) return;
  switch_.unplug(number);  // first: nobody hears how connections are closed
  forget_the_gone(host.children);
  ::kill(host.first_process, SIGKILL);
  for (const pid_t child : host.children) wait_for(child);  // else the first one waits for them
  wait_for(host.first_process);
  host = Host{};
}

Fork Hosts::on(int host) {
  return [this, host] { return fork_on(at(host)); };
}

pid_t Hosts::fork_on(Host& host) {
  const pid_t child = fork_elsewhere([&] {
    for (const Descriptor* space : {&host.network, &host.mounts, &host.name, &host.processes}) {
      if (setns(space->get(), 0) != 0) return false;
    }
    return true;
  });
  if (child == 0) return 0;
  forget_the_gone(host.children);
  host.children.push_back(child);
  return child;
}

void Hosts::enter(const Descriptor& space) {
  if (setns(space.get(), 0) != 0) throw std::system_error(errno, std::generic_category(), "enter a namespace");
}

}  // namespace cadre::servers
