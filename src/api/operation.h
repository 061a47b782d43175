/// Operations of the HTTP API, made from the declarations of the requests. Safe on any thread.
#pragma once

#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <variant>
#include <vector>

#include "api/request.h"
#include "api/route.h"
#include "describe/describe.h"
#include "describe/outline.h"

namespace cadre::api {

struct Operation {
  std::string_view name;
  Route route;
  describe::Shape request;
  describe::Shape answer;
  /// The request with these fields, or what is wrong with them.
  tl::expected<Request, describe::Faults> (*read)(const describe::Value& fields);
};
using Operations = std::vector<Operation>;

template <Routed T>
[[nodiscard]] Operation operation_of() {
  return {T::type_name, T::route, describe::outline<T>(), describe::outline<typename T::Answer>(),
          [](const describe::Value& fields) -> tl::expected<Request, describe::Faults> {
            auto read = describe::read<T>(fields);
            if (!read) return tl::unexpected(std::move(read).error());
            return Request(*std::move(read));
          }};
}

/// All of a choice of requests that have a route.
template <class... Ts>
[[nodiscard]] Operations operations_of(std::type_identity<std::variant<Ts...>>) {
  Operations all;
  const auto add = [&]<class T>(std::type_identity<T>) {
    if constexpr (Routed<T>) all.push_back(operation_of<T>());
  };
  (add(std::type_identity<Ts>{}), ...);
  return all;
}

/// The names of all of them, with a route or without.
template <class... Ts>
[[nodiscard]] std::vector<std::string_view> names_of(std::type_identity<std::variant<Ts...>>) {
  return {Ts::type_name...};
}

}  // namespace cadre::api
