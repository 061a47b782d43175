#include "plan/gang.h"

#include "base/overloaded.h"

namespace cadre::plan {

std::int64_t slots_to_start(const Wants& wants) {
  return std::visit(overloaded{
                        [](const Divisible& one) { return std::int64_t{one.request.slots}; },
                        [](const Roles& roles) {
                          std::int64_t slots = 0;
                          for (const Role& role : roles) slots += std::int64_t{role.least_count()} * role.request.slots;
                          return slots;
                        },
                    },
                    wants);
}

std::int64_t slots_in_full(const Wants& wants) {
  const auto* roles = std::get_if<Roles>(&wants);
  if (roles == nullptr) return slots_to_start(wants);
  std::int64_t slots = 0;
  for (const Role& role : *roles) slots += std::int64_t{role.count} * role.request.slots;
  return slots;
}

std::string to_string(const Request& request) {
  std::string text = std::to_string(request.slots) + (request.slots == 1 ? " slot" : " slots");
  if (request.cpus.milli > 0) text += ", " + to_string(request.cpus) + (request.cpus.milli == 1000 ? " cpu" : " cpus");
  if (request.memory.value > 0) text += ", " + to_string(request.memory) + " memory";
  return text;
}

std::string to_string(const Wants& wants) {
  if (const auto* one = std::get_if<Divisible>(&wants)) return to_string(one->request);
  std::string text;
  for (const Role& role : std::get<Roles>(wants)) {
    if (!text.empty()) text += " + ";
    text += std::to_string(role.least_count()) + " " + role.name + " of " + to_string(role.request);
  }
  return text;
}

}  // namespace cadre::plan
