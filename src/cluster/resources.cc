#include "cluster/resources.h"

#include <algorithm>

namespace cadre::cluster {

std::string to_string(Cpus cpus) {
  std::string text = std::to_string(cpus.milli / 1000);
  if (cpus.milli % 1000 == 0) return text;
  std::string fraction = std::to_string(1000 + cpus.milli % 1000).substr(1);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return text + "." + fraction;
}

Amount& Amount::operator+=(const Amount& other) {
  slots += other.slots;
  cpus_milli += other.cpus_milli;
  memory_bytes += other.memory_bytes;
  slotless_tasks += other.slotless_tasks;
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  slots -= other.slots;
  cpus_milli -= other.cpus_milli;
  memory_bytes -= other.memory_bytes;
  slotless_tasks -= other.slotless_tasks;
  return *this;
}

Amount Amount::operator*(std::int64_t times) const {
  return {slots * times, cpus_milli * times, memory_bytes * times, slotless_tasks * times};
}

Amount least(const Amount& a, const Amount& b) {
  return {std::min(a.slots, b.slots), std::min(a.cpus_milli, b.cpus_milli), std::min(a.memory_bytes, b.memory_bytes),
          std::min(a.slotless_tasks, b.slotless_tasks)};
}

bool within(const Amount& part, const Amount& whole) {
  return part.slots <= whole.slots && part.cpus_milli <= whole.cpus_milli && part.memory_bytes <= whole.memory_bytes &&
         part.slotless_tasks <= whole.slotless_tasks;
}

}  // namespace cadre::cluster
