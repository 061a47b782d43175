/// A value, or why there is none. Values; safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace cadre {

/// How long at most.
using Wait = std::chrono::nanoseconds;

/// Why something did not happen.
struct Reason {
  enum class Code : std::uint8_t {
    invalid,      ///< it cannot be asked for like that
    not_found,    ///< there is no such thing
    conflict,     ///< it does not go with how things are
    unavailable,  ///< whom it needs is gone, or there is no room
    timed_out,    ///< it took too long; it may have been done
    denied,       ///< one may not
    corrupt,      ///< what came is not what it should be
    refused,      ///< whoever was asked says no: its handler failed, or has none for this
  };
  Code code = Code::invalid;
  std::string text;  ///< for people
};

/// As thrown by Outcome::value().
class OutcomeError : public std::runtime_error {
 public:
  explicit OutcomeError(Reason reason) : std::runtime_error(reason.text), reason_(std::move(reason)) {}
  const Reason& reason() const { return reason_; }

 private:
  Reason reason_;
};

template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : held_(std::move(value)) {}
  Outcome(Reason reason) : held_(std::move(reason)) {}

  explicit operator bool() const { return held_.index() == 0; }
  /// Throws OutcomeError when there is none.
  T& value() & { return check(), *std::get_if<0>(&held_); }
  const T& value() const& { return check(), *std::get_if<0>(&held_); }
  T value() && { return check(), std::move(*std::get_if<0>(&held_)); }
  /// Only when there is no value.
  const Reason& reason() const { return std::get<1>(held_); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void check() const {
    if (const Reason* why = std::get_if<1>(&held_)) throw OutcomeError(*why);
  }
  std::variant<T, Reason> held_;
};

/// Nothing but whether it went well.
template <>
class [[nodiscard]] Outcome<void> : public Outcome<std::monostate> {
 public:
  Outcome() : Outcome<std::monostate>(std::monostate{}) {}
  Outcome(Reason reason) : Outcome<std::monostate>(std::move(reason)) {}
};

}  // namespace cadre
