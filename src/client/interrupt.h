/// Whether whoever waits should give up, since the user wants the program to end: for Python, which hears of signals
/// only when it is asked. Safe on any thread; what is remembered is the calling thread's.
#pragma once

namespace cadre::client {

/// How to find out, on the thread that waits; for the whole process, once.
void set_interrupt_check(bool (*check)());
bool has_interrupt_check();

/// Finds out, and remembers it.
bool look_for_interrupt();
/// It was found out otherwise.
void remember_interrupt();
bool was_interrupted();
void forget_interrupt();

}  // namespace cadre::client
