/// Lets a thread wait for a coroutine: the loop runs on it meanwhile. For whoever owns the loop while it does not run.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/result.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "loop/tasks.h"

namespace cadre::objects {

template <class T>
loop::Task<void> keep_result(loop::Task<T> task, std::optional<T>& into) {
  T result = co_await std::move(task);
  into.emplace(std::move(result));
}

/// The result of the task; nothing when it has not ended by the deadline, or `is_over()` says that it is not wanted any
/// more: then it is destroyed.
template <class T>
std::optional<T> run_task(
    loop::RealLoop& loop, loop::Task<T> task, TimePoint deadline,
    const std::function<bool()>& is_over = [] { return false; }) {
  std::optional<T> result;
  loop::Tasks tasks(loop);
  tasks.spawn(keep_result(std::move(task), result));
  static_cast<void>(loop.run_until(deadline, [&] { return result.has_value() || is_over(); }));
  return result;
}

}  // namespace cadre::objects
