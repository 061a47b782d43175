/// CHECK(condition) states what must hold; a false one is a defect of ours and ends the process. On in every build.
#pragma once

namespace cadre {

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace cadre

#define CHECK(condition) \
  (static_cast<bool>(condition) ? void(0) : ::cadre::check_failed(#condition, __FILE__, __LINE__))
