/// A shared library that is opened at run time, so that none is needed to build or run. One thread at a time.
#pragma once

#include <dlfcn.h>

namespace cadre::loop {

class DynamicLibrary {
 public:
  explicit DynamicLibrary(const char* name) : handle_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary() {
    if (handle_ != nullptr) ::dlclose(handle_);
  }
  explicit operator bool() const { return handle_ != nullptr; }

  /// Null when it has no such function.
  template <class Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(::dlsym(handle_, name));
  }

 private:
  void* handle_;
};

}  // namespace cadre::loop
