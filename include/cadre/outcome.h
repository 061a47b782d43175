/// A value, or the reason why there is none. Plain values; usable from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace cadre {

/// A timeout.
using Wait = std::chrono::nanoseconds;

/// The reason why an operation failed.
struct Reason {
  enum class Code : std::uint8_t {
    invalid,      ///< the arguments are invalid
    not_found,    ///< the object does not exist
    conflict,     ///< not possible in the current state
    unavailable,  ///< the other side is not available, or a queue is full
    timed_out,    ///< the timeout expired; the operation may have been executed
    denied,       ///< permission denied
    corrupt,      ///< the received data is invalid
    refused,      ///< the peer refused: its handler failed, or it has no handler for this
  };
  Code code = Code::invalid;
  std::string text;  ///< description of the error
};

/// The exception that Outcome::value() throws.
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
  /// Throws OutcomeError if there is no value.
  T& value() & { return check(), *std::get_if<0>(&held_); }
  const T& value() const& { return check(), *std::get_if<0>(&held_); }
  T value() && { return check(), std::move(*std::get_if<0>(&held_)); }
  /// Call it only if there is no value.
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

/// Success, or the reason of a failure, without a value.
template <>
class [[nodiscard]] Outcome<void> : public Outcome<std::monostate> {
 public:
  Outcome() : Outcome<std::monostate>(std::monostate{}) {}
  Outcome(Reason reason) : Outcome<std::monostate>(std::move(reason)) {}
};

}  // namespace cadre
