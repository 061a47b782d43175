/// Calls a function of values with the bytes of a message. Programs include cadre/component.h.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cadre/value.h"

namespace cadre::detail {

/// A function with the parameters `Given` and the result `Result`.
template <class Result, class... Given>
struct Takes {
  using Arguments = std::tuple<std::remove_cvref_t<Given>...>;

  /// Decodes the arguments: a single argument is the value itself, several are a list, none is no value. Throws
  /// ValueError with the position of the error.
  static Arguments read(std::span<const std::byte> body, std::shared_ptr<const void> owner) {
    if constexpr (sizeof...(Given) == 0) {
      if (!body.empty() && !ValueReader(body).root().is_null()) throw ValueError("there is an extra value");
      return {};
    } else {
      const ValueReader reader(body, std::move(owner));
      if constexpr (sizeof...(Given) == 1) return {read_value<std::tuple_element_t<0, Arguments>>(reader.root())};
      if constexpr (sizeof...(Given) > 1) return read_value<Arguments>(reader.root());
    }
  }

  /// Encodes the result; a void result is null.
  template <class Call>
  static ValueWriter call(const Call& call, Arguments arguments, std::size_t lead) {
    ValueWriter result(ValueWriter::Rows::inside, lead);
    const auto call_with = [&](std::remove_cvref_t<Given>&... given) {
      if constexpr (std::is_void_v<Result>) {
        call(static_cast<Given&&>(given)...);
        result.null();
      } else {
        write_value(result, call(static_cast<Given&&>(given)...));
      }
    };
    std::apply(call_with, arguments);
    return result;
  }
};

/// Parameters and result of a function, a method or a function object.
template <class Call>
struct Signature : Signature<decltype(&Call::operator())> {};
template <class Result, class... Given>
struct Signature<Result (*)(Given...)> : Takes<Result, Given...> {};
template <class Result, class Of, class... Given>
struct Signature<Result (Of::*)(Given...)> : Takes<Result, Given...> {};
template <class Result, class Of, class... Given>
struct Signature<Result (Of::*)(Given...) const> : Takes<Result, Given...> {};
template <class Result, class Of, class... Given>
struct Signature<Result (Of::*)(Given...) noexcept> : Takes<Result, Given...> {};
template <class Result, class Of, class... Given>
struct Signature<Result (Of::*)(Given...) const noexcept> : Takes<Result, Given...> {};

}  // namespace cadre::detail
