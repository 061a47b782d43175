/// A request of any part of a master, or one that only the gateway makes: its type, its route and its fields. Copies
/// share one value. Values; safe on any thread.
#pragma once

#include <concepts>
#include <memory>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>

#include "api/route.h"
#include "describe/describe.h"

namespace cadre::api {

/// A request that is accepted without a token.
template <class T>
concept Anonymous = requires {
  requires T::is_anonymous;
};

class Request {
 public:
  template <class T>
  requires(!std::same_as<T, Request> && requires { T::type_name; }) Request(T request)
      : held_(std::make_shared<const Held<T>>(std::move(request))) {}  // NOLINT(*-explicit-*)
  /// The one that the choice holds.
  template <class... Ts>
  Request(std::variant<Ts...> choice)  // NOLINT(*-explicit-*)
      : Request(std::visit([](auto&& one) { return Request(std::forward<decltype(one)>(one)); }, std::move(choice))) {}

  std::string_view name() const { return held_->name(); }
  /// Null: it has none, only the gateway makes it.
  const Route* route() const { return held_->route(); }
  bool is_anonymous() const { return held_->is_anonymous(); }
  /// Its fields; null if they are not described.
  describe::Value fields() const { return held_->fields(); }

  /// Null: it is of another type.
  template <class T>
  const T* as() const {
    return held_->type() == typeid(T) ? &static_cast<const Held<T>*>(held_.get())->value : nullptr;
  }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::string_view name() const = 0;
    virtual const Route* route() const = 0;
    virtual bool is_anonymous() const = 0;
    virtual describe::Value fields() const = 0;
  };
  template <class T>
  struct Held final : Base {
    explicit Held(T one) : value(std::move(one)) {}
    const std::type_info& type() const override { return typeid(T); }
    std::string_view name() const override { return T::type_name; }
    const Route* route() const override {
      if constexpr (Routed<T>) return &T::route;
      return nullptr;
    }
    bool is_anonymous() const override { return Anonymous<T>; }
    describe::Value fields() const override {
      if constexpr (describe::Described<T>) return describe::write(value);
      return {};
    }
    T value;
  };

  std::shared_ptr<const Base> held_;
};

/// The alternative of a choice of requests that this is; nothing: it is none of them.
template <class Choice>
[[nodiscard]] std::optional<Choice> choice_of(const Request& request) {
  std::optional<Choice> found;
  const auto look = [&]<class T>(std::type_identity<T>) {
    if (const T* one = request.as<T>()) found = *one;
    return found.has_value();
  };
  [&]<class... Ts>(std::type_identity<std::variant<Ts...>>) {
    static_cast<void>((look(std::type_identity<Ts>{}) || ...));
  }(std::type_identity<Choice>{});
  return found;
}

}  // namespace cadre::api
