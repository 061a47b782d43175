/// Makes a tree of values of any described struct. Safe on any thread.
#pragma once

#include <cstdint>

#include "describe/types.h"
#include "describe/value.h"

namespace cadre::describe {

/// Whether fields that are not required are written when they have the value that a reader gives them if they are
/// absent. Without them a strict reader of an older version understands all that does not use newer fields.
enum class Defaults : std::uint8_t { written, omitted };

/// Of what `from` points to, which is of that type. A field that is an empty optional is left out.
[[nodiscard]] Value write(const Type& type, const void* from, Defaults defaults = Defaults::written);

template <class T>
[[nodiscard]] Value write(const T& value, Defaults defaults = Defaults::written) {
  if constexpr (IsScalar<T>)
    return Scalar<T>::write(value);
  else
    return write(type_of<T>(), &value, defaults);
}

}  // namespace cadre::describe
