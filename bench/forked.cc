#include "bench/forked.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace cadre::bench {
namespace {

constexpr std::size_t numbers_max = 16;

void say(const loop::Descriptor& to, const void* bytes, std::size_t size) {
  static_cast<void>(::send(to.get(), bytes, size, MSG_NOSIGNAL));
}

void hear_byte(const loop::Descriptor& from) {
  char byte = 0;
  static_cast<void>(::recv(from.get(), &byte, 1, 0));
}

[[noreturn]] void run(const loop::Descriptor& end, const std::function<Forked::Work()>& prepare) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  {
    const Forked::Work work = prepare();
    say(end, "r", 1);
    hear_byte(end);
    const std::vector<double> numbers = work();
    say(end, numbers.data(), numbers.size() * sizeof(double));
    hear_byte(end);
  }
  ::_exit(0);
}

}  // namespace

Forked::Forked(const std::function<Work()>& prepare) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) std::abort();
  end_ = loop::Descriptor(ends[0]);
  loop::Descriptor other(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) run(other, prepare);
}

Forked::~Forked() {
  go();
  ::waitpid(pid_, nullptr, 0);
}

void Forked::await_ready() { hear_byte(end_); }

void Forked::go() { say(end_, "g", 1); }

Result<std::vector<double>> Forked::numbers() {
  std::vector<double> numbers(numbers_max);
  const ssize_t size = ::recv(end_.get(), numbers.data(), numbers_max * sizeof(double), 0);
  if (size <= 0) return fail(Errc::unavailable, "a process of the benchmark ended without a figure");
  numbers.resize(static_cast<std::size_t>(size) / sizeof(double));
  return numbers;
}

}  // namespace cadre::bench
