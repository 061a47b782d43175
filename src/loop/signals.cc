#include "loop/signals.h"

#include <boost/asio/signal_set.hpp>
#include <string>
#include <utility>

#include "loop/asio_context.h"

namespace cadre::loop {

struct SignalWatch::State {
  State(RealLoop& loop, std::function<void(int)> f) : signals(asio_context(loop)), fn(std::move(f)) {}

  static void wait(const std::shared_ptr<State>& state) {
    state->signals.async_wait([state](const boost::system::error_code& cancelled, int signal) {
      if (cancelled || state->ended) return;
      wait(state);
      Call call([&] { state->fn(signal); });
      call();
    });
  }

  boost::asio::signal_set signals;
  std::function<void(int)> fn;
  bool ended = false;
};

SignalWatch::SignalWatch(std::shared_ptr<State> state) : state_(std::move(state)) {}

SignalWatch::SignalWatch(SignalWatch&&) noexcept = default;

SignalWatch& SignalWatch::operator=(SignalWatch&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

SignalWatch::~SignalWatch() {
  if (!state_) return;
  state_->ended = true;
  boost::system::error_code ignored;
  state_->signals.clear(ignored);
  state_->signals.cancel(ignored);
}

Result<SignalWatch> on_signal(RealLoop& loop, std::initializer_list<int> signals, std::function<void(int)> fn) {
  auto state = std::make_shared<SignalWatch::State>(loop, std::move(fn));
  for (const int signal : signals) {
    boost::system::error_code error;
    state->signals.add(signal, error);
    if (error) return fail(Errc::invalid, "signal " + std::to_string(signal) + ": " + error.message());
  }
  SignalWatch::State::wait(state);
  return SignalWatch(std::move(state));
}

}  // namespace cadre::loop
