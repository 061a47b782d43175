/// The reply to a request: an error, or a value of the type that the request names. Copies share one value. Values;
/// safe on any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "describe/describe.h"

namespace cadre::api {

/// An error. For an invalid request, each fault has its path.
struct Failed {
  static constexpr std::string_view type_name = "failed";
  /// What the code alone does not say.
  enum class Cause : std::uint8_t {
    request,
    token,       ///< it is not valid: the caller is not authenticated
    rate_limit,  ///< the caller must wait before the next attempt
  };
  Errc code = Errc::invalid;
  std::string message;
  std::vector<describe::Fault> faults;
  Cause cause = Cause::request;

  static Failed unauthenticated(std::string why) { return {Errc::denied, std::move(why), {}, Cause::token}; }
  static Failed rate_limited(std::string why) { return {Errc::unavailable, std::move(why), {}, Cause::rate_limit}; }
};

/// What a request has created: remembered with its idempotency key, and named in the audit log.
struct Created {
  std::string noun;  ///< job, user
  std::string id;
};

class Reply {
 public:
  template <class T>
  requires(!std::same_as<T, Reply> && std::is_class_v<T>) Reply(T value)
      : held_(std::make_shared<const Held<T>>(std::move(value))) {}  // NOLINT(*-explicit-*)
  /// The one that the choice holds.
  template <class... Ts>
  Reply(std::variant<Ts...> choice)  // NOLINT(*-explicit-*)
      : Reply(std::visit([](auto&& one) { return Reply(std::forward<decltype(one)>(one)); }, std::move(choice))) {}
  Reply(const Error& error) : Reply(Failed{error.code, error.message, {}}) {}  // NOLINT(*-explicit-*)

  /// Null: it is of another type.
  template <class T>
  const T* as() const {
    return held_->type() == typeid(T) ? &static_cast<const Held<T>*>(held_.get())->value : nullptr;
  }
  const Failed* failed() const { return as<Failed>(); }
  bool is_unauthenticated() const { return failed() != nullptr && failed()->cause == Failed::Cause::token; }
  /// Nothing: clients do not get to see values of this type.
  std::optional<std::string> json() const { return held_->json(); }
  /// What the body of the response is, if it is bytes (Route::answered_with_bytes): the field `bytes` of the value.
  const Bytes* bytes() const { return held_->bytes(); }

  Reply& set_created(Created created) {
    created_ = std::move(created);
    return *this;
  }
  const std::optional<Created>& created() const { return created_; }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual const std::type_info& type() const = 0;
    virtual std::optional<std::string> json() const = 0;
    virtual const Bytes* bytes() const = 0;
  };
  template <class T>
  struct Held final : Base {
    explicit Held(T one) : value(std::move(one)) {}
    const std::type_info& type() const override { return typeid(T); }
    std::optional<std::string> json() const override {
      if constexpr (describe::Described<T>) return describe::write_json(value);
      return std::nullopt;
    }
    const Bytes* bytes() const override {
      if constexpr (requires { T::is_bytes; }) return &value.bytes;
      return nullptr;
    }
    T value;
  };

  std::shared_ptr<const Base> held_;
  std::optional<Created> created_;
};

/// The reply of a function that gives a value of a choice, or an error.
template <class T>
[[nodiscard]] Reply reply_of(Result<T> result) {
  return result ? Reply(*std::move(result)) : Reply(result.error());
}

}  // namespace cadre::api
