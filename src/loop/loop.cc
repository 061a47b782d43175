#include "loop/loop.h"

#include "base/check.h"
#include "loop/tasks.h"

namespace cadre::loop {

Loop::Loop() : tasks_(std::make_unique<Tasks>(*this)) {}

Loop::~Loop() { CHECK(tasks_->count() == 0); }  // they hold timers: the concrete loop destroys them while it can

Timer Loop::after(Duration wait, Call call) {
  const TimePoint present = now();
  const bool endless = wait > TimePoint::max() - present;
  return at(endless ? TimePoint::max() : present + wait, std::move(call));
}

void Loop::spawn(Task<void> task) { tasks_->spawn(std::move(task)); }

void Loop::destroy_tasks() { tasks_->destroy_all(); }

}  // namespace cadre::loop
