/// Makes a tree of values of any described struct. Safe on any thread.
#pragma once

#include "describe/types.h"
#include "describe/value.h"

namespace cadre::describe {

/// Of what `from` points to, which is of that type. A field that is an empty optional is left out.
[[nodiscard]] Value write(const Type& type, const void* from);

template <class T>
[[nodiscard]] Value write(const T& value) {
  if constexpr (IsScalar<T>)
    return Scalar<T>::write(value);
  else
    return write(type_of<T>(), &value);
}

}  // namespace cadre::describe
