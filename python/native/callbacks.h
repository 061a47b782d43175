/// Calls of Python from threads of the library, which may still be in one when the interpreter ends. From any thread.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

namespace cadre::python {

/// Calls it with the lock; not at all once the interpreter has ended. A thread that wants the lock then is ended by
/// unwinding, and what lets go of Python objects on that way does it without the lock: such a thread ends here,
/// with nothing unwound. So the call must hold what is Python's by plain pointers.
template <class Call>
void with_lock(const Call& call) {
  if (Py_IsInitialized() == 0) return;
  try {
    const PyGILState_STATE state = PyGILState_Ensure();
    call();
    PyGILState_Release(state);
  } catch (...) {                     // nothing but that: C throws nothing
    for (;;) ::syscall(SYS_exit, 0);  // of this thread
  }
}

/// Kept until the last who has it lets it go. With the lock held.
inline std::shared_ptr<PyObject> held(const pybind11::function& function) {
  return {function.inc_ref().ptr(), [](PyObject* one) { with_lock([one] { Py_DECREF(one); }); }};
}

/// Calls a function of Python with the tuple that `arguments` makes; what it raises is reported as raised in `where`.
template <class Arguments>
void call_back(const std::shared_ptr<PyObject>& function, const char* where, const Arguments& arguments) {
  with_lock([&] {
    PyObject* const context = PyUnicode_FromString(where);
    PyObject* const given = arguments();
    PyObject* const result = given == nullptr ? nullptr : PyObject_CallObject(function.get(), given);
    if (result == nullptr) PyErr_WriteUnraisable(context);
    Py_XDECREF(result);
    Py_XDECREF(given);
    Py_XDECREF(context);
  });
}

}  // namespace cadre::python
