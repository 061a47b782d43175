/// What an object consists of. A value; safe on any thread.
#pragma once

#include <cstdint>
#include <string>

namespace cadre::objects {

struct Digest {
  std::int64_t size = 0;  ///< bytes
  std::string sha256;     ///< as objects/hash.h writes it
  bool operator==(const Digest&) const = default;
};

}  // namespace cadre::objects
