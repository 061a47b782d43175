/// A function to be called later, owned and move-only, so that what it captures may be move-only too. One thread at a
/// time; it may be handed from one thread to another.
#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace cadre::loop {

/// Ends the process with the text of the exception in flight: nothing may throw into a loop.
[[noreturn]] void exception_escaped();

class Call {
 public:
  Call() = default;
  template <class Fn>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint leaves moving alone
  requires(!std::same_as<std::remove_cvref_t<Fn>, Call> && std::invocable<std::decay_t<Fn>&>) Call(Fn&& fn)
      : kind_(&kind_of<Stored<std::decay_t<Fn>>>) {
    new (room_) Stored<std::decay_t<Fn>>(std::forward<Fn>(fn));
  }
  Call(Call&& other) noexcept : kind_(std::exchange(other.kind_, nullptr)) {
    if (kind_ != nullptr) kind_->move(other.room_, room_);
  }
  Call& operator=(Call&& other) noexcept {
    if (this == &other) return *this;
    this->~Call();
    return *new (this) Call(std::move(other));
  }
  ~Call() {
    if (kind_ != nullptr) kind_->destroy(room_);
  }

  explicit operator bool() const { return kind_ != nullptr; }

  void operator()() noexcept {
    try {
      kind_->call(room_);
    } catch (...) {
      exception_escaped();
    }
  }

 private:
  static constexpr std::size_t room_bytes = 48;  // with its kind and a slot's marks: one cache line

  template <class Fn>
  struct Inside {
    explicit Inside(Fn&& f) : fn(std::move(f)) {}
    explicit Inside(const Fn& f) : fn(f) {}
    void operator()() { fn(); }
    Fn fn;
  };
  template <class Fn>
  struct Outside {
    explicit Outside(Fn&& f) : fn(new Fn(std::move(f))) {}
    explicit Outside(const Fn& f) : fn(new Fn(f)) {}
    Outside(Outside&& other) noexcept : fn(std::exchange(other.fn, nullptr)) {}
    ~Outside() { delete fn; }
    void operator()() { (*fn)(); }
    Fn* fn;
  };
  template <class Fn>
  static constexpr bool fits = sizeof(Fn) <= room_bytes &&
                               alignof(Fn) <= alignof(void*) && std::is_nothrow_move_constructible_v<Fn>;
  template <class Fn>
  using Stored = std::conditional_t<fits<Fn>, Inside<Fn>, Outside<Fn>>;

  struct Kind {
    void (*call)(void*);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  template <class S>
  static constexpr Kind kind_of = {
      [](void* room) { (*static_cast<S*>(room))(); },
      [](void* from, void* to) noexcept {
        new (to) S(std::move(*static_cast<S*>(from)));
        static_cast<S*>(from)->~S();
      },
      [](void* room) noexcept { static_cast<S*>(room)->~S(); },
  };

  const Kind* kind_ = nullptr;
  alignas(void*) std::byte room_[room_bytes];
};

}  // namespace cadre::loop
