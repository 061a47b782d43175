#include "loop/call.h"

#include <exception>
#include <string>

#include "base/check.h"

namespace cadre::loop {

void exception_escaped() {
  std::string text = "no exception escapes into a loop, but one did";
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& exception) {
    text += ": ";
    text += exception.what();
  } catch (...) {
    text += ", of an unknown type";
  }
  check_failed(text.c_str(), __FILE__, __LINE__);
}

}  // namespace cadre::loop
