#include "supervisor/execs.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace cadre::supervisor {

using cluster::supervision::ExecEnded;
using cluster::supervision::ExecOutput;

namespace {

constexpr int pieces_at_once = 4;  // of one stream before the others have their turn
constexpr int pieces_after_end_max = 64;

}  // namespace

std::string Execs::obstacle(std::uint64_t number) const {
  if (running_.contains(number)) return "a command with this number already runs";
  if (running_.size() == at_once_max) return "too many commands run in this task; wait until one has ended";
  return "";
}

void Execs::start(const cluster::supervision::Exec& request, Result<Started> started) {
  if (!started) return agent_.send(ExecEnded{request.number, 127, started.error().message});
  Running& running = running_[request.number];
  running.process = *std::move(started);
  running.window = request.window;
  if (running.process.in) {
    running.input.open(std::move(running.process.in), request.terminal ? Input::Into::terminal : Input::Into::pipe);
  }
}

cluster::supervision::ExecTaken Execs::input(const cluster::supervision::ExecInput& message) {
  const auto found = running_.find(message.number);
  if (found == running_.end()) return {message.number, message.offset, "the command has ended"};
  Running& running = found->second;
  running.seen = std::clamp(message.seen, running.seen, running.sent);
  return running.input.take(message);
}

void Execs::cancel(std::uint64_t number) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  if (!found->second.wait_status) {
    ::kill(-found->second.process.pid, SIGKILL);
    ::kill(found->second.process.pid, SIGKILL);  // it may not have a group of its own yet
  }
  found->second.cancelled = true;
}

void Execs::cancel_all() {
  for (const auto& [number, running] : running_) cancel(number);
}

void Execs::watch(Watch& watch) {
  for (auto& [number, running] : running_) {
    running.input.watch(watch);
    if (running.process.fault) watch.add(running.process.fault.get(), POLLIN, [] {});
    if (!can_pass_on(running)) continue;
    for (const Descriptor* pipe : {&running.process.out, &running.process.err}) {
      if (*pipe) watch.add(pipe->get(), POLLIN, [] {});
    }
  }
}

void Execs::tick() {
  for (auto& [number, running] : running_) {
    running.error += read_fault(running.process.fault);
    for (const std::int32_t stream : {1, 2}) {
      for (int pieces = 0; pieces < pieces_at_once && can_pass_on(running); ++pieces) pass_on(number, running, stream);
    }
  }
  std::erase_if(running_, [this](const auto& entry) {
    const auto& [number, running] = entry;
    if (!running.wait_status || running.process.out || running.process.err) return false;
    say_ended(number, running);
    return true;
  });
}

void Execs::pass_on(std::uint64_t number, Running& running, std::int32_t stream) {
  static std::array<std::byte, piece_bytes_max> buffer;
  Descriptor& pipe = stream == 1 ? running.process.out : running.process.err;
  if (!pipe) return;
  const ssize_t got = ::read(pipe.get(), buffer.data(), buffer.size());
  if (got > 0) agent_.send(ExecOutput{number, stream, Bytes(buffer.begin(), buffer.begin() + got)});
  if (got > 0) running.sent += got;
  if (got == 0 || (got < 0 && errno != EAGAIN)) pipe.close();
  // Something that the command has left behind may hold the pipe open, and even go on to write.
  if (running.wait_status && (got < 0 || ++running.pieces_after_end > pieces_after_end_max)) pipe.close();
}

bool Execs::reaped(pid_t pid, int wait_status) {
  for (auto& [number, running] : running_) {
    if (running.process.pid != pid || running.wait_status) continue;
    running.wait_status = wait_status;
    return true;
  }
  return false;
}

void Execs::say_ended(std::uint64_t number, const Running& running) {
  const int status = *running.wait_status;
  agent_.send(ExecEnded{number, WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), running.error});
}

}  // namespace cadre::supervisor
