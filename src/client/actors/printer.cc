#include "client/actors/printer.h"

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace cadre::client {
namespace {

constexpr Duration last_words_wait = std::chrono::seconds(1);

void write_here(Printer::Stream stream, const std::string& text) {
  std::FILE* const file = stream == Printer::Stream::out ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

struct Printer::State {
  const Sink sink;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<Stream, std::string>> waiting;
  std::size_t waiting_bytes = 0;
  std::size_t skipped_lines = 0;
  bool has_thread = false;
  bool is_writing = false;
  bool is_ending = false;

  explicit State(Sink s) : sink(std::move(s)) {}
  bool is_done() const { return waiting.empty() && skipped_lines == 0 && !is_writing; }
};

Printer::Sink Printer::to_this_process() { return write_here; }

Printer::Printer(Sink sink) : state_(std::make_shared<State>(std::move(sink))) {}

Printer::~Printer() { close(last_words_wait); }

void Printer::close(Duration most) {
  finish(most);
  const std::lock_guard lock(state_->mutex);
  state_->is_ending = true;
  state_->changed.notify_all();
}

void Printer::print(Stream stream, std::string text) {
  if (text.empty()) return;
  const std::lock_guard lock(state_->mutex);
  if (state_->is_ending) return;
  if (state_->waiting_bytes + text.size() > waiting_bytes_max) {
    state_->skipped_lines += lines_in(text);
    return;
  }
  state_->waiting_bytes += text.size();
  state_->waiting.emplace_back(stream, std::move(text));
  state_->changed.notify_all();
  if (std::exchange(state_->has_thread, true)) return;
  std::thread([state = state_] { serve(state); }).detach();
}

bool Printer::finish(Duration most) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_for(lock, most, [this] { return state_->is_done(); });
}

void Printer::serve(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return state->is_ending || !state->waiting.empty(); });
    if (state->is_ending) return;
    auto [stream, text] = std::move(state->waiting.front());
    state->waiting.pop_front();
    state->waiting_bytes -= text.size();
    if (const std::size_t skipped = state->waiting.empty() ? std::exchange(state->skipped_lines, 0) : 0) {
      text += "cadre: skipped " + std::to_string(skipped) +
              " lines that actors wrote faster than they can be shown; see `cadre actor logs ACTOR`\n";
    }
    state->is_writing = true;
    lock.unlock();
    state->sink(stream, text);
    lock.lock();
    state->is_writing = false;
    if (state->is_done()) state->changed.notify_all();
  }
}

}  // namespace cadre::client
