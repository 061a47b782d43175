#include "client/gang/gang.h"

namespace cadre::client {

std::size_t bytes_of(NumberKind kind) {
  switch (kind) {
    case NumberKind::i8:
    case NumberKind::u8: return 1;
    case NumberKind::f16:
    case NumberKind::i16:
    case NumberKind::u16: return 2;
    case NumberKind::f32:
    case NumberKind::i32:
    case NumberKind::u32: return 4;
    case NumberKind::f64:
    case NumberKind::i64:
    case NumberKind::u64: return 8;
  }
  return 1;
}

}  // namespace cadre::client
