// For test programs alone: the program cadre, which measures with some of these servers, must not start itself anew.
#include "tests/servers/rights.h"

namespace {

[[maybe_unused]] const bool has_asked = [] {
  cadre::servers::get_network_rights();
  return true;
}();

}  // namespace
