/// Python's lock on threads that may still run when the interpreter ends. From any thread.
///
/// Whoever wants the lock then is ended by unwinding: that passes destructors, where it ends the program, and lets go
/// of Python objects without the lock. Such a thread ends here instead, with nothing unwound.
#pragma once

#include <pybind11/pybind11.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <utility>

namespace cadre::python {

/// Calls what is written in C and throws nothing, so that nothing but such an unwinding can come out of it.
template <class Call>
auto or_end_thread(const Call& call) {
  try {
    return call();
  } catch (...) {
    for (;;) ::syscall(SYS_exit, 0);  // of this thread
  }
}

/// Lets other threads of Python run as long as it lives. With the lock held.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;
  ~Unlocked() {
    or_end_thread([this] { PyEval_RestoreThread(state_); });
  }

 private:
  PyThreadState* state_;
};

/// Has the lock as long as it lives. From any thread.
class Locked {
 public:
  Locked() : state_(or_end_thread([] { return PyGILState_Ensure(); })) {}
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  ~Locked() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

/// Calls it with the lock; not at all once the interpreter has ended. It must hold what is Python's by plain pointers.
template <class Call>
void with_lock(const Call& call) {
  if (Py_IsInitialized() == 0) return;
  or_end_thread([&call] {
    const PyGILState_STATE state = PyGILState_Ensure();
    call();
    PyGILState_Release(state);
  });
}

/// Kept until the last who has it lets it go. With the lock held.
inline std::shared_ptr<PyObject> held(const pybind11::function& function) {
  return {function.inc_ref().ptr(), [](PyObject* one) { with_lock([one] { Py_DECREF(one); }); }};
}

/// What a function of Python returns; throws what it raises. With the lock held.
template <class... Given>
pybind11::object called(const std::shared_ptr<PyObject>& function, Given&&... given) {
  const pybind11::tuple all = pybind11::make_tuple(std::forward<Given>(given)...);
  PyObject* const result = or_end_thread([&] { return PyObject_CallObject(function.get(), all.ptr()); });
  if (result == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(result);
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
