/// A loop on the clock of boot_clock.h and the sockets of the machine. run() makes the calling thread the loop's own;
/// post() and stop() are for any thread.
#pragma once

#include <functional>
#include <memory>

#include "loop/loop.h"

namespace boost::asio {
class io_context;
}

namespace cadre::loop {

class RealLoop final : public Loop {
 public:
  RealLoop();
  ~RealLoop() override;

  /// Time since the host's start, which goes on while it is suspended.
  [[nodiscard]] TimePoint now() const override;

  /// What one thread posts runs in the order in which it posts it.
  void post(Call call) override;

  /// Runs until stop(), also while nothing waits. May be called again after that.
  void run();

  /// Runs until `done` holds, which is asked before each call, or until that time; says whether it holds. stop() is not
  /// for this.
  bool run_until(TimePoint end, const std::function<bool()>& done);

  /// Ends the present run, or the next if there is none, after what this thread has posted so far.
  void stop();

 private:
  friend boost::asio::io_context& asio_context(RealLoop& loop);
  TimerKey add_timer(TimePoint time, Call call) override;
  void cancel_timer(TimerKey key) override;

  struct Inside;
  std::unique_ptr<Inside> inside_;  // keeps Asio out of this header
};

}  // namespace cadre::loop
