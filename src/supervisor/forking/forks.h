/// The supervisor of a template: passes on requests for processes that are forked from it, and knows how many of those
/// live. For the supervisor's only thread.
#pragma once

#include <cstddef>
#include <functional>
#include <list>

#include "base/result.h"
#include "supervisor/descriptor.h"
#include "supervisor/watch.h"

namespace cadre::supervisor {

class Forks {
 public:
  /// Listens at fork.sock.
  [[nodiscard]] Result<void> open();
  [[nodiscard]] explicit operator bool() const { return static_cast<bool>(ours_) || !asking_.empty(); }
  /// The template's end, until it has it.
  [[nodiscard]] int given() const { return theirs_.get(); }
  void was_given() { theirs_.close(); }

  void watch(Watch& watch, const std::function<void()>& changed);
  /// Whether it can be asked.
  [[nodiscard]] bool ready() const { return ready_; }
  /// How many have asked and are not gone. The template, and all that it sees, must outlive them.
  [[nodiscard]] std::size_t live() const { return asking_.size(); }
  /// Takes no more; the template hears of it.
  void close();

 private:
  void accept_all();
  void hear_template();
  /// Passes a line on to the template; false when who asked is gone.
  bool pass_on(int asking);

  Descriptor listener_;
  Descriptor ours_;
  Descriptor theirs_;
  bool ready_ = false;
  std::list<Descriptor> asking_;  ///< open as long as who has asked needs the template
};

}  // namespace cadre::supervisor
