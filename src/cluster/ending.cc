#include "cluster/ending.h"

#include <cstring>

namespace cadre::cluster {

using lease::Reason;

std::string ending_words(Reason reason, std::int32_t code, const std::string& detail) {
  std::string words;
  switch (reason) {
    case Reason::exited: words = code == 0 ? "ended well" : "exited with " + std::to_string(code); break;
    case Reason::signalled: {
      const char* name = sigabbrev_np(code);
      words = "ended by signal " + std::to_string(code) + (name == nullptr ? "" : std::string(" (SIG") + name + ")");
      break;
    }
    case Reason::killed_by_user: words = "stopped"; break;
    case Reason::preempted: words = "stopped for others"; break;
    case Reason::out_of_memory: words = "ran out of memory"; break;
    case Reason::unresponsive: words = "gave no sign of life"; break;
    case Reason::agent_lost: words = "its agent was lost"; break;
    case Reason::failed_to_start: words = "failed to start"; break;
  }
  return detail.empty() ? words : words + ": " + detail;
}

}  // namespace cadre::cluster
