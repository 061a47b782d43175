#include "plan/resources.h"

namespace cadre::plan {

std::string to_string(Cpus cpus) {
  std::string text = std::to_string(cpus.milli / 1000);
  if (cpus.milli % 1000 == 0) return text;
  std::string fraction = std::to_string(1000 + cpus.milli % 1000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

}  // namespace cadre::plan
