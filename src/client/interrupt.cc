#include "client/interrupt.h"

#include <atomic>

namespace cadre::client {
namespace {

std::atomic<bool (*)()> check = nullptr;
thread_local bool interrupted = false;

}  // namespace

void set_interrupt_check(bool (*new_check)()) { check = new_check; }

bool has_interrupt_check() { return check != nullptr; }

bool look_for_interrupt() {
  bool (*const now)() = check;
  if (now != nullptr && now()) interrupted = true;
  return interrupted;
}

void remember_interrupt() { interrupted = true; }

bool was_interrupted() { return interrupted; }

void forget_interrupt() { interrupted = false; }

}  // namespace cadre::client
