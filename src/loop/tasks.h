/// Coroutines that run side by side and belong to one owner: a shell's children. Ending the owner ends them. For the
/// loop's thread.
#pragma once

#include <coroutine>
#include <cstddef>
#include <list>

#include "loop/loop.h"
#include "loop/task.h"

namespace cadre::loop {

class Tasks {
 public:
  explicit Tasks(Loop& loop) : loop_(loop) {}
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;
  ~Tasks() { destroy_all(); }

  /// Starts a coroutine soon, never inside this function, and owns it until it ends.
  void spawn(Task<void> task);

  /// Destroys those that have not ended. Not from inside one of them.
  void destroy_all();

  /// How many have not ended.
  [[nodiscard]] std::size_t count() const { return living_.size(); }

  class Ended;
  /// co_await tasks.ended(): goes on once none is left. One waits at a time, and not one of them.
  Ended ended();

 private:
  struct Living {
    std::coroutine_handle<> root;
    Timer start;
  };
  struct Root;
  static Root run(Tasks& tasks, std::list<Living>::iterator self, Task<void> task);
  void wake_if_ended();

  Loop& loop_;
  std::list<Living> living_;
  std::coroutine_handle<> waiting_;
  Timer wake_;
};

class [[nodiscard]] Tasks::Ended {
 public:
  explicit Ended(Tasks& tasks) : tasks_(tasks) {}
  Ended(const Ended&) = delete;
  Ended& operator=(const Ended&) = delete;
  ~Ended();

  bool await_ready() const { return tasks_.count() == 0; }
  void await_suspend(std::coroutine_handle<> waiting);
  void await_resume() const {}

 private:
  Tasks& tasks_;
  bool waits_ = false;
};

inline Tasks::Ended Tasks::ended() { return Ended(*this); }

}  // namespace cadre::loop
