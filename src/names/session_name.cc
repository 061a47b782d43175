#include "names/session_name.h"

#include <openssl/rand.h>

#include <array>

#include "base/check.h"

namespace cadre::names {

std::string new_session_name() {
  std::array<unsigned char, 16> drawn;
  CHECK(RAND_bytes(drawn.data(), static_cast<int>(drawn.size())) == 1);
  std::string name;
  for (const unsigned char byte : drawn) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

}  // namespace cadre::names
