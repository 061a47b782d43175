/// Operations of the HTTP API, generated from the declarations of the requests. Safe on any thread.
#pragma once

#include <functional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "api/route.h"
#include "describe/describe.h"
#include "describe/outline.h"

namespace cadre::gateway {

struct Operation {
  std::string_view name;
  api::Route route;
  describe::Shape request;
  describe::Shape answer;
};

template <api::Routed T>
[[nodiscard]] Operation operation_of() {
  return {T::type_name, T::route, describe::outline<T>(), describe::outline<typename T::Answer>()};
}

/// All of a choice of requests that have a route.
template <class... Ts>
[[nodiscard]] std::vector<Operation> operations_of(std::type_identity<std::variant<Ts...>>) {
  std::vector<Operation> all;
  const auto add = [&]<class T>(std::type_identity<T>) {
    if constexpr (api::Routed<T>) all.push_back(operation_of<T>());
  };
  (add(std::type_identity<Ts>{}), ...);
  return all;
}

}  // namespace cadre::gateway
