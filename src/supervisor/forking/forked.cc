#include "supervisor/forking/forked.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "cluster/supervision.h"
#include "describe/describe.h"
#include "supervisor/forking/descriptor_packet.h"
#include "supervisor/isolation/isolation_features.h"
#include "supervisor/isolation/mounts.h"
#include "supervisor/isolation/rights.h"
#include "supervisor/messages.h"
#include "supervisor/processes.h"

namespace cadre::supervisor {

using fork_talk::FromForked;
using fork_talk::Request;

namespace {

constexpr std::size_t streams_count = 3;

bool tell(int line, const FromForked& message) { return send_descriptors(line, describe::write_msgpack(message), {}); }

pid_t wait_for(pid_t child, int& status, rusage& used) {
  pid_t ended = 0;
  while ((ended = ::wait4(child, &status, 0, &used)) < 0 && errno == EINTR) {
  }
  return ended;
}

}  // namespace

namespace forking {

bool say_ready(int socket) { return send_descriptors(socket, as_bytes("ready"), {}); }

Descriptor next(int socket) {
  std::array<std::byte, 16> word;
  for (;;) {
    DescriptorPacket came = receive_descriptors(socket, word);
    if (came.is_closed) return {};
    if (came.descriptors.size() == 1) return std::move(came.descriptors.front());
  }
}

void refuse(int line, const std::string& why) { static_cast<void>(supervisor::tell(line, fork_talk::Refused{why})); }

}  // namespace forking

bool Forked::tell(const FromForked& message) const { return supervisor::tell(line_.get(), message); }

void Forked::refuse(const Error& error) { forking::refuse(line_.get(), error.message); }

Result<Forked> Forked::receive(Descriptor line) {
  DescriptorPacket came = receive_descriptors(line.get(), packet_buffer());
  if (came.bytes.empty()) return fail(Errc::unavailable, "the process that requested the fork has ended");
  auto request = describe::read_msgpack<Request>(came.bytes, packet_bounds);
  const auto groups = request ? static_cast<std::size_t>(std::max(request->groups, 0)) : 0;
  if (!request || came.descriptors.size() != streams_count + groups + request->targets.size()) {
    forking::refuse(line.get(), "the template cannot read the request; check that both have the same version");
    return fail(Errc::invalid, "not a request for a process");
  }
  Forked forked(std::move(line), *std::move(request));
  auto next = came.descriptors.begin();
  const auto take = [&](std::size_t count, std::vector<Descriptor>& into) {
    for (std::size_t i = 0; i < count; ++i) into.push_back(std::move(*next++));
  };
  take(streams_count, forked.streams_);
  take(groups, forked.groups_);
  take(forked.request_.targets.size(), forked.mounts_);
  return forked;
}

Result<void> Forked::separate() {
  ::signal(SIGCHLD, SIG_DFL);
  TRY(enter_user_namespace());
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID) != 0) return system_failure("cannot make namespaces");
  return {};
}

void Forked::be_init() {
  ::prctl(PR_SET_NAME, "cadre-init");
  ::signal(SIGCHLD, SIG_IGN);  // the kernel reaps
  ::dup2(line_.get(), 0);
  ::close_range(1, ~0U, 0);
  std::array<std::byte, 16> word;
  while (!receive_descriptors(0, word).is_closed) {
  }
  ::_exit(0);
}

void Forked::tell_endings(pid_t init, pid_t task) {
  ::prctl(PR_SET_NAME, "cadre-keeper");
  ::dup2(line_.get(), 0);
  line_ = Descriptor(0);
  ::close_range(1, ~0U, 0);
  rusage used{};
  int status = 0;
  if (wait_for(task, status, used) == task) {
    const ByteSize most{std::int64_t{used.ru_maxrss} * 1024};
    static_cast<void>(tell(fork_talk::Ended{status, most, to_duration(used.ru_utime) + to_duration(used.ru_stime)}));
  }
  wait_for(init, status, used);  // the kernel lets it end when all others there are gone
  static_cast<void>(tell(fork_talk::Gone{}));
  ::_exit(0);
}

/// Over what the template sees, which is what any task of its kind does.
Result<void> Forked::mount_all() {
  for (std::size_t i = 0; i < mounts_.size(); ++i) {
    const std::string& target = request_.targets[i];
    TRY(attach_mount(mounts_[i].get(), target, "view of " + target));
  }
  if (::mount("shm", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") != 0) return system_failure("/dev/shm");
  if (::mount("run", request_.runtime.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700,size=1m") != 0) {
    return system_failure(request_.runtime);
  }
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) return system_failure("/proc");
  return {};
}

Result<std::map<std::string, std::string>> Forked::become() {
  ::setsid();
  for (const Descriptor& group : groups_) {
    if (::write(group.get(), "0", 1) != 1) return system_failure("cannot enter a control group");
  }
  TRY(mount_all());
  if (request_.processes_max > 0) TRY(limit_processes(request_.processes_max));
  TRY(take_rights({std::nullopt, true, false}));
  if (::chdir(request_.folder.c_str()) != 0) {
    return Failure(system_error("cannot start in the folder '" + request_.folder + "'", errno));
  }
  for (std::size_t i = 0; i < streams_.size(); ++i) ::dup2(streams_[i].get(), static_cast<int>(i));
  if (!tell(fork_talk::Running{})) return fail(Errc::unavailable, "the process that requested the fork has ended");
  streams_.clear();
  groups_.clear();
  mounts_.clear();
  line_.close();
  return std::move(request_.variables);
}

}  // namespace cadre::supervisor
