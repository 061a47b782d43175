#include "cli/input.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <semaphore>

#include "base/overloaded.h"
#include "cli/terminal.h"
#include "loop/descriptor.h"

namespace cadre::cli {
namespace {

using namespace std::chrono_literals;
namespace requests = cluster::requests;

constexpr std::size_t piece_max = cluster::supervision::input_piece_max;
constexpr std::ptrdiff_t pieces_ahead = 4;
/// Before input is sent again for which there was no room, or that came before its task: longer each time.
constexpr Duration full_pause = 10ms;
constexpr Duration full_pause_max = 500ms;

}  // namespace

struct InputReader::Gate {
  std::counting_semaphore<pieces_ahead> room{pieces_ahead};
  loop::Descriptor stop{::eventfd(0, EFD_CLOEXEC)};
  std::atomic<bool> stopped = false;
};

InputReader::InputReader(int descriptor, std::function<void(Piece)> on_piece)
    : gate_(std::make_unique<Gate>()),
      thread_([this, descriptor, fn = std::move(on_piece)] { read_all(descriptor, fn); }) {}

InputReader::~InputReader() {
  gate_->stopped = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(gate_->stop.get(), &one, sizeof one);
  gate_->room.release();
  thread_.join();
}

void InputReader::taken() { gate_->room.release(); }

void InputReader::read_all(int descriptor, const std::function<void(Piece)>& on_piece) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // they are for the loop
  std::array<char, piece_max> buffer;
  for (;;) {
    gate_->room.acquire();
    std::array<pollfd, 2> both = {pollfd{descriptor, POLLIN, 0}, pollfd{gate_->stop.get(), POLLIN, 0}};
    const int ready = ::poll(both.data(), both.size(), -1);
    if (gate_->stopped) return;
    if (ready < 0 && errno != EINTR) return on_piece({});
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      gate_->room.release();
      continue;
    }
    on_piece({std::string(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)))});
    if (got <= 0) return;
  }
}

bool may_read_input() {
  const pid_t foreground = ::isatty(0) == 1 ? ::tcgetpgrp(0) : -1;  // -1: not the terminal that controls us
  return foreground < 0 || foreground == ::getpgrp();
}

InputSender::InputSender(CommandContext& session, const Options& options)
    : session_(session), options_(options), events_(session.loop, {"input", 1'024}), tasks_(session.loop) {
  const auto push = [this](Event event) { static_cast<void>(events_.push(std::move(event))); };
  if (options_.has_terminal) {
    auto watch = loop::on_signal(session.loop, {SIGWINCH}, [push](int) { push(Resized{}); });
    if (watch) resizes_ = std::move(*watch);
  }
  if (options_.descriptor >= 0) {
    reader_ = std::make_unique<InputReader>(options_.descriptor, [push](InputReader::Piece piece) { push(piece); });
  }
  tasks_.spawn(run());
}

void InputSender::saw(std::size_t bytes) {
  const std::int64_t before = seen_ - seen_told_;
  seen_ += static_cast<std::int64_t>(bytes);
  const std::int64_t often_enough = options_.window / 4;
  if (options_.window > 0 && before <= often_enough && seen_ - seen_told_ > often_enough) {
    static_cast<void>(events_.push(Seen{}));
  }
}

loop::Task<void> InputSender::run() {
  for (;;) {
    std::vector<Event> events = co_await events_.receive_all();
    std::optional<cluster::Terminal> terminal;
    for (Event& event : events) {
      std::string bytes;
      bool end = false;
      if (auto* piece = std::get_if<InputReader::Piece>(&event)) {
        reader_->taken();
        end = piece->bytes.empty();
        bytes = std::move(piece->bytes);
      } else if (std::holds_alternative<Resized>(event)) {
        terminal = terminal_here();
      }
      const bool goes_on = co_await send(std::move(bytes), end, std::move(terminal));
      terminal.reset();
      if (!goes_on) co_return;
    }
  }
}

loop::Task<bool> InputSender::send(std::string bytes, bool end, std::optional<cluster::Terminal> terminal) {
  const std::int64_t whole = offset_ + static_cast<std::int64_t>(bytes.size());
  for (Duration pause = full_pause;; pause = std::min<Duration>(2 * pause, full_pause_max)) {
    requests::SendInput request;
    request.task = options_.task;
    request.exec = options_.exec;
    request.offset = offset_;
    const BytesView rest = as_bytes(bytes).last(static_cast<std::size_t>(whole - offset_));
    request.bytes.assign(rest.begin(), rest.end());
    request.end = end;
    request.terminal = terminal;
    request.seen = seen_;
    seen_told_ = seen_;
    const Result<requests::InputState> state = co_await ask(session_, request, rest::absence_max);
    if (state && state->offset >= whole) {
      offset_ = whole;
      co_return true;
    }
    if (state && state->offset > offset_) {
      offset_ = state->offset;
      pause = full_pause;
    }
    // A task may not run yet, or again; how a command ends is told with its output.
    if (!state && options_.exec != 0) co_return false;
    if (!state && exit_code_of(state.error()) == failed) co_return false;
    co_await loop::sleep(session_.loop, pause);
  }
}

}  // namespace cadre::cli
