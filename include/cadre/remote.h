/// Remote classes: an object of a plain class runs on the cluster (an actor), and this program calls its methods.
///
///   class Simulator { public: explicit Simulator(int seed); Obs step(const Action&); double score = 0; };
///   CADRE_REMOTE(Simulator, .ctor<int>(), .method(&Simulator::step), .field(&Simulator::score));
///
///   int main(int argc, char** argv) {
///     cadre::init(argc, argv);  // call this first: on the cluster this process is an actor
///     cadre::connect("cadre://host:7310").value();
///     auto sim = cadre::remote<Simulator>({.cpus = 1}, 42);  // placed on the cluster
///     cadre::Future<Obs> f = sim.call(&Simulator::step, action);
///     Obs o = f.get(std::chrono::milliseconds(200));
///   }
///
/// Arguments and results are values (cadre/value.h). The program itself is uploaded to the cluster, once for each
/// distinct content. Calls of one actor run in the order in which they were made. All functions are thread-safe.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cadre/detail/remote.h"

namespace cadre {

/// The future result of a call. Copies refer to the same call.
template <class T>
class Future {
 public:
  explicit Future(detail::CallHandle call) : call_(std::move(call)) {}

  /// Returns the result. Throws RemoteError if the method threw, OutcomeError if there is no result, or none in time.
  T get(Wait wait = std::chrono::hours(24 * 365)) const {
    if (!call_.wait(wait)) throw OutcomeError({Reason::Code::timed_out, "no response in time"});
    const ValueReader reader = call_.value();
    if constexpr (!std::is_void_v<T>) return read_value<T>(reader.root());
  }
  /// Whether get() would not wait.
  bool ready() const { return call_.is_there(); }
  /// Calls `call` when this future is ready: at once, or later on the callback thread, which runs one call at a time.
  void then(std::function<void(const Future&)> call) const {
    call_.then([self = *this, call = std::move(call)] { call(self); });
  }
  /// Cancels the call. If it has not begun to run, it does not run, and get() throws OutcomeError.
  void cancel() const { call_.cancel(); }
  const detail::CallHandle& handle() const { return call_; }

 private:
  detail::CallHandle call_;
};

/// Returns all results, in order; throws the exception of the first that failed. The timeout applies to all together.
template <class T>
auto gather(const std::vector<Future<T>>& futures, Wait wait = std::chrono::hours(24 * 365)) {
  const auto begun = std::chrono::steady_clock::now();
  const Wait whole = std::max(wait, Wait::zero());
  const auto left = [&] { return std::max(whole - Wait(std::chrono::steady_clock::now() - begun), Wait::zero()); };
  if constexpr (std::is_void_v<T>) {
    for (const Future<T>& one : futures) one.get(left());
  } else {
    std::vector<T> all;
    for (const Future<T>& one : futures) all.push_back(one.get(left()));
    return all;
  }
}

/// The futures that are ready and those that are not, each in their original order.
template <class T>
struct Waited {
  std::vector<Future<T>> ready;
  std::vector<Future<T>> open;
};

/// Waits until `count` futures are ready, or until the timeout. The number of ready futures may differ from `count`.
template <class T>
Waited<T> wait(const std::vector<Future<T>>& futures, std::size_t count, Wait timeout = std::chrono::hours(24 * 365)) {
  std::vector<detail::CallHandle> calls;
  for (const Future<T>& one : futures) calls.push_back(one.handle());
  detail::wait_for_count(calls, count, timeout);
  Waited<T> waited;
  for (const Future<T>& one : futures) (one.ready() ? waited.ready : waited.open).push_back(one);
  return waited;
}

/// A handle of an actor. The actor ends when the last copy of its handle is destroyed.
template <class Class>
class Remote {
 public:
  explicit Remote(detail::ActorHandle handle) : handle_(std::move(handle)) {}

  /// Calls a method; does not wait for the result.
  template <class Result, class Of, class... Wanted, class... Given>
  Future<std::remove_cvref_t<Result>> call(Result (Of::*method)(Wanted...), Given&&... given) const {
    return call_method<Result, Wanted...>(detail::MemberKey(method), std::forward<Given>(given)...);
  }
  template <class Result, class Of, class... Wanted, class... Given>
  Future<std::remove_cvref_t<Result>> call(Result (Of::*method)(Wanted...) const, Given&&... given) const {
    return call_method<Result, Wanted...>(detail::MemberKey(method), std::forward<Given>(given)...);
  }
  /// Reads a field.
  template <class Field, class Of>
  Future<Field> get(Field Of::*field) const {
    return Future<Field>(handle_.get(name_of(detail::MemberKey(field))));
  }
  /// Sets a field.
  template <class Field, class Of>
  Future<void> set(Field Of::*field, const std::type_identity_t<Field>& value) const {
    ValueWriter writer(ValueWriter::Rows::apart);
    write_value(writer, value);
    return Future<void>(handle_.set(name_of(detail::MemberKey(field)), writer));
  }

  /// Ends the actor now; unfinished calls fail.
  void end() const { handle_.end(); }
  /// Number of the actor, as `cadre actor list` shows it.
  std::uint64_t job() const { return handle_.job(); }
  std::uint32_t restarts() const { return handle_.restarts(); }

 private:
  static const std::string& name_of(const detail::MemberKey& key) {
    return detail::name_of(detail::class_of(typeid(Class)), key);
  }
  template <class Result, class... Wanted, class... Given>
  Future<std::remove_cvref_t<Result>> call_method(const detail::MemberKey& key, Given&&... given) const {
    static_assert(sizeof...(Wanted) == sizeof...(Given), "the method has another number of parameters");
    ValueWriter writer(ValueWriter::Rows::apart);
    writer.list(sizeof...(Wanted));
    (write_as<std::remove_cvref_t<Wanted>>(writer, given), ...);
    return Future<std::remove_cvref_t<Result>>(handle_.call(name_of(key), writer));
  }

  template <class Wanted, class Given>
  static void write_as(ValueWriter& writer, const Given& given) {
    if constexpr (std::is_same_v<Wanted, Given>) {
      write_value(writer, given);
    } else {
      auto converted = std::make_shared<Wanted>(given);  // must stay alive until it is sent
      write_value(writer, *converted);
      writer.keep(std::move(converted));
    }
  }

  detail::ActorHandle handle_;
};

/// Creates an actor, with the arguments of one of the registered constructors. Throws RemoteError if the constructor
/// throws, OutcomeError if the cluster cannot run the actor.
template <class Class, class... Given>
Remote<Class> remote(const Needs& needs, const Given&... given) {
  ValueWriter writer(ValueWriter::Rows::apart);
  writer.list(sizeof...(Given));
  (write_value(writer, given), ...);
  return Remote<Class>(detail::ActorHandle(needs, detail::class_of(typeid(Class)), writer));
}

/// For .ctor(cadre::types<int, double>) in CADRE_REMOTE.
template <class... Ts>
struct Types {};
template <class... Ts>
constexpr Types<Ts...> types{};

namespace detail {

/// Registers a class with its constructors, methods and fields.
template <class Class>
class Registration {
 public:
  explicit Registration(std::string name) { entry_.name = std::move(name); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() { add_class(typeid(Class), std::move(entry_)); }

  Registration& named(std::string_view text) { return name_ = name_in(text), *this; }
  /// Returns the name of the item that is being registered.
  std::string take_name() {
    if (name_.empty()) need_comma(entry_.name);
    return std::exchange(name_, "");
  }

  template <class... Ts>
  Registration& ctor(Types<Ts...> = {}) {
    entry_.constructors.push_back({sizeof...(Ts), [](const ValueView& given) -> std::shared_ptr<void> {
                                     return make<Ts...>(given, std::index_sequence_for<Ts...>());
                                   }});
    return *this;
  }
  template <class Result, class Of, class... Ts>
  Registration& method(Result (Of::*pointer)(Ts...)) {
    return add_method<Result, Ts...>(pointer);
  }
  template <class Result, class Of, class... Ts>
  Registration& method(Result (Of::*pointer)(Ts...) const) {
    return add_method<Result, Ts...>(pointer);
  }
  template <class Field, class Of>
  Registration& field(Field Of::*pointer) {
    entry_.members.push_back(
        {take_name(), MemberKey(pointer), nullptr,
         [pointer](void* object, ValueWriter& to) { write_value(to, static_cast<Class*>(object)->*pointer); },
         [pointer](void* object, const ValueView& from) {
           static_cast<Class*>(object)->*pointer = read_value<Field>(from);
         }});
    return *this;
  }

 private:
  template <class... Ts, std::size_t... i>
  static std::shared_ptr<Class> make(const ValueView& given, std::index_sequence<i...>) {
    return std::make_shared<Class>(read_value<std::remove_cvref_t<Ts>>(given.at(i))...);
  }
  template <class Result, class... Ts, class Method>
  Registration& add_method(Method pointer) {
    entry_.members.push_back({take_name(), MemberKey(pointer),
                              [pointer](void* object, const ValueView& given, ValueWriter& to) {
                                run<Result, Ts...>(static_cast<Class*>(object), pointer, given, to,
                                                   std::index_sequence_for<Ts...>());
                              },
                              nullptr, nullptr});
    return *this;
  }
  template <class Result, class... Ts, class Method, std::size_t... i>
  static void run(Class* object, Method pointer, const ValueView& given, ValueWriter& to, std::index_sequence<i...>) {
    std::tuple<std::remove_cvref_t<Ts>...> arguments{read_value<std::remove_cvref_t<Ts>>(given.at(i))...};
    if constexpr (std::is_void_v<Result>) {
      (object->*pointer)(static_cast<Ts&&>(std::get<i>(arguments))...);
      to.null();
    } else {
      // The result must stay alive until it is sent, because the writer refers to its arrays.
      auto kept = std::make_shared<std::remove_cvref_t<Result>>(
          (object->*pointer)(static_cast<Ts&&>(std::get<i>(arguments))...));
      write_value(to, *kept);
      to.keep(std::move(kept));
    }
  }

  ClassEntry entry_;
  std::string name_;
};

}  // namespace detail
}  // namespace cadre

#define CADRE_PARENS ()
#define CADRE_EXPAND(...) CADRE_EXPAND_3(CADRE_EXPAND_3(CADRE_EXPAND_3(CADRE_EXPAND_3(__VA_ARGS__))))
#define CADRE_EXPAND_3(...) CADRE_EXPAND_2(CADRE_EXPAND_2(CADRE_EXPAND_2(CADRE_EXPAND_2(__VA_ARGS__))))
#define CADRE_EXPAND_2(...) CADRE_EXPAND_1(CADRE_EXPAND_1(CADRE_EXPAND_1(CADRE_EXPAND_1(__VA_ARGS__))))
#define CADRE_EXPAND_1(...) __VA_ARGS__
#define CADRE_EACH(...) __VA_OPT__(CADRE_EXPAND(CADRE_EACH_ONE(__VA_ARGS__)))
#define CADRE_EACH_ONE(first, ...) .named(#first) first __VA_OPT__(CADRE_EACH_AGAIN CADRE_PARENS(__VA_ARGS__))
#define CADRE_EACH_AGAIN() CADRE_EACH_ONE
#define CADRE_JOIN_1(a, b) a##b
#define CADRE_JOIN(a, b) CADRE_JOIN_1(a, b)

/// Registers a remote class with up to 60 items: .ctor<int>() or .ctor(cadre::types<int, double>) for its constructors,
/// .method(&Class::name), .field(&Class::name). Write it once for each class, outside of all functions.
#define CADRE_REMOTE(Class, ...)                                                   \
  [[maybe_unused]] static const bool CADRE_JOIN(cadre_remote_, __COUNTER__) = [] { \
    ::cadre::detail::Registration<Class>(#Class) CADRE_EACH(__VA_ARGS__);          \
    return true;                                                                   \
  }()
