#include "net/zmq/watch.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

#include "loop/asio_context.h"

namespace cadre::net {

struct ZmqWatch::State : std::enable_shared_from_this<ZmqWatch::State> {
  State(loop::RealLoop& l, zmq::socket_ref s, Take t)
      : loop(l), socket(s), take(std::move(t)), descriptor(loop::asio_context(l), socket.get(zmq::sockopt::fd)) {}

  static void post_turn(const std::shared_ptr<State>& state) {
    if (std::exchange(state->turn_posted, true)) return;
    state->loop.post([state] {
      state->turn_posted = false;
      turn(state);
    });
  }

  static void turn(const std::shared_ptr<State>& state) {
    if (state->ended) return;
    const Left left = state->take();
    if (state->ended) return;
    left == Left::something ? post_turn(state) : wait(state);
  }

  static void wait(const std::shared_ptr<State>& state) {
    if (std::exchange(state->waiting, true)) return;
    state->descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                 [state](const boost::system::error_code& cancelled) {
                                   state->waiting = false;
                                   if (cancelled || state->ended) return;
                                   loop::Call call([&] { turn(state); });
                                   call();
                                 });
  }

  loop::RealLoop& loop;
  zmq::socket_ref socket;
  const Take take;
  boost::asio::posix::stream_descriptor descriptor;
  loop::Timer look;  // after a send
  bool look_planned = false;
  bool turn_posted = false;
  bool waiting = false;
  bool ended = false;
};

ZmqWatch::ZmqWatch(loop::RealLoop& loop, zmq::socket_ref socket, Take take)
    : state_(std::make_shared<State>(loop, socket, std::move(take))) {
  look_again();
}

ZmqWatch::~ZmqWatch() {
  state_->ended = true;
  state_->look.cancel();
  state_->descriptor.release();  // it is the socket's, which closes it
}

void ZmqWatch::look_again(Duration within) {
  if (within == Duration::zero()) return State::post_turn(state_);
  if (std::exchange(state_->look_planned, true)) return;
  state_->look = state_->loop.after(within, [state = state_.get()] {
    state->look_planned = false;
    State::post_turn(state->shared_from_this());
  });
}

}  // namespace cadre::net
