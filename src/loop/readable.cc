#include "loop/readable.h"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <utility>

#include "loop/asio_context.h"

namespace cadre::loop {

struct Readable::State {
  State(RealLoop& loop, int fd, std::function<void()> f) : fn(std::move(f)), descriptor(asio_context(loop), fd) {}

  static void wait(const std::shared_ptr<State>& state) {
    state->descriptor.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                 [state](const boost::system::error_code& cancelled) {
                                   if (cancelled || state->ended) return;
                                   Call call([&] { state->fn(); });
                                   call();
                                   if (!state->ended) wait(state);
                                 });
  }

  const std::function<void()> fn;
  boost::asio::posix::stream_descriptor descriptor;
  bool ended = false;
};

Readable::Readable(RealLoop& loop, int descriptor, std::function<void()> fn)
    : state_(std::make_shared<State>(loop, descriptor, std::move(fn))) {
  State::wait(state_);
}

Readable::~Readable() {
  state_->ended = true;
  state_->descriptor.release();  // it stays its owner's
}

}  // namespace cadre::loop
