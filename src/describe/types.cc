#include "describe/types.h"

namespace cadre::describe {

Limits Field::limits() const {
  Limits limits;
  for (const AnyCheck& any : checks) std::visit([&](const auto* check) { narrow(limits, *check); }, any);
  return limits;
}

std::string_view Field::former_key() const {
  for (const AnyCheck& any : checks) {
    if (const auto* former = std::get_if<const Formerly*>(&any)) return (*former)->key;
  }
  return {};
}

}  // namespace cadre::describe
