/// Outcomes as Python has them. With Python's lock held, but where it says otherwise.
#pragma once

#include <cadre/outcome.h>
#include <pybind11/pybind11.h>

#include <type_traits>
#include <utility>

#include "client/interrupt.h"
#include "native/lock.h"
#include "native/waits.h"

namespace cadre::python {

/// As the errors of the package, with the code's name: (code, text).
inline pybind11::tuple reason_of(const Reason& reason) {
  static constexpr const char* names[] = {"invalid",   "not_found", "conflict", "unavailable",
                                          "timed_out", "denied",    "corrupt",  "refused"};
  return pybind11::make_tuple(names[static_cast<int>(reason.code)], reason.text);
}

/// (True, value) or (False, (code, text)).
template <class T>
pybind11::tuple outcome_of(Outcome<T> outcome) {
  if (!outcome) return pybind11::make_tuple(false, reason_of(outcome.reason()));
  if constexpr (std::is_void_v<T>) {
    return pybind11::make_tuple(true, pybind11::none());
  } else {
    return pybind11::make_tuple(true, pybind11::cast(std::move(outcome).value()));
  }
}

/// What a signal raised while something was waited for.
inline void raise_interrupt() {
  if (PyErr_Occurred() == nullptr && client::was_interrupted()) PyErr_SetNone(PyExc_KeyboardInterrupt);
  if (PyErr_Occurred() != nullptr) throw pybind11::error_already_set();
}

/// Calls it without the lock, so that other threads of Python run while it waits.
template <class Call>
auto unlocked(const Call& call) {
  client::forget_interrupt();
  const auto called = [&] {
    const Unlocked waiting;
    return call();
  };
  if constexpr (std::is_void_v<decltype(call())>) {
    called();
    raise_interrupt();
  } else {
    auto result = called();
    raise_interrupt();
    return result;
  }
}

}  // namespace cadre::python
