/// One variant of the alternatives of several. Safe on any thread.
#pragma once

#include <variant>

namespace cadre {

template <class... Variants>
struct JoinVariants;
template <class... Ts>
struct JoinVariants<std::variant<Ts...>> {
  using Type = std::variant<Ts...>;
};
template <class... Ts, class... Us, class... Rest>
struct JoinVariants<std::variant<Ts...>, std::variant<Us...>, Rest...> {
  using Type = typename JoinVariants<std::variant<Ts..., Us...>, Rest...>::Type;
};

template <class... Variants>
using JoinedVariant = typename JoinVariants<Variants...>::Type;

}  // namespace cadre
