/// The part of cadre/remote.h without templates. Programs include cadre/remote.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "cadre/component.h"
#include "cadre/outcome.h"
#include "cadre/value.h"

namespace cadre {

/// Resources and options of an actor.
struct Needs {
  double cpus = 1;
  std::int32_t slots = 0;
  std::int64_t memory = 0;                 ///< bytes; an actor that exceeds it is killed. 0: no limit
  std::uint32_t max_restarts = 0;          ///< how many times an actor whose process ends is restarted
  std::uint32_t max_call_retries = 0;      ///< how many times a call is retried if it is unknown whether it ran
  std::size_t concurrent = 1;              ///< number of calls that run at the same time; 1: in order
  bool wait = true;                        ///< whether remote() waits until the object is created
  Wait timeout = std::chrono::minutes(5);  ///< time until the actor is placed and its process is ready
  Wait unresponsive_after = std::chrono::minutes(1);  ///< time without a heartbeat until it is killed
  std::string pool{};
  std::string workspace{};
};

/// An exception in the code of an actor. The actor stays alive.
class RemoteError : public std::runtime_error {
 public:
  RemoteError(std::string type_name, const std::string& text)
      : std::runtime_error(text), type_name_(std::move(type_name)) {}
  /// Type of the original exception, for example std::out_of_range.
  const std::string& type_name() const { return type_name_; }

 private:
  std::string type_name_;
};

/// Call this first in main. In a process that was started as an actor, it serves calls and does not return.
void init(int argc, char** argv);

struct ConnectOptions {
  Wait wait = std::chrono::seconds(10);  ///< timeout for the response of the master
  /// Whether this program also shows the output of its actors, each line with the name of the actor. The environment
  /// variable CADRE_ACTOR_OUTPUT=0 turns it off too.
  bool output = true;
};

/// Opens a session with a cluster: host:port, cadre://host:port, http://host:port, https://host:port, or the data
/// folder of a master on this host. Empty: CADRE_MASTER, else the master of the last `cadre login`, else the master on
/// this host. Connecting again to the same master keeps the session; connecting to another one is a `conflict` until
/// disconnect().
Outcome<void> connect(const std::string& url = "", Wait wait = std::chrono::seconds(10));
Outcome<void> connect(const std::string& url, const ConnectOptions& options);
/// Ends the session and all its actors.
void disconnect();

namespace detail {

/// A pointer to a member, in a form that can be compared.
class MemberKey {
 public:
  template <class Pointer>
  explicit MemberKey(Pointer pointer) : type_(typeid(Pointer)) {
    static_assert(sizeof(Pointer) <= sizeof bits_);
    std::memcpy(bits_.data(), &pointer, sizeof pointer);
  }
  bool operator==(const MemberKey&) const = default;

 private:
  std::type_index type_;
  std::array<std::byte, 16> bits_{};
};

/// A registered class.
struct ClassEntry {
  struct Constructor {
    std::size_t arguments = 0;
    std::function<std::shared_ptr<void>(const ValueView&)> make;
  };
  struct Member {
    std::string name;
    MemberKey key;
    std::function<void(void*, const ValueView&, ValueWriter&)> call;  ///< of a method
    std::function<void(void*, ValueWriter&)> get;                     ///< of a field
    std::function<void(void*, const ValueView&)> set;
  };
  std::string name;
  std::vector<Constructor> constructors;
  std::vector<Member> members;
};

/// Called before main.
void add_class(std::type_index type, ClassEntry entry);
/// Throws OutcomeError (not_found) if the class is not registered.
const ClassEntry& class_of(std::type_index type);
const std::string& name_of(const ClassEntry& entry, const MemberKey& key);

/// Ends the program with an error: a comma between two items of CADRE_REMOTE is missing.
[[noreturn]] void need_comma(const std::string& class_name);

/// The last name in `.method(&Simulator::step)`.
std::string name_in(std::string_view text);

class CallHandle {
 public:
  bool is_there() const;
  bool wait(Wait wait) const;
  void cancel() const;
  void then(std::function<void()> call) const;
  /// The result; only when is_there() is true. Throws RemoteError, or OutcomeError if there is no result.
  ValueReader value() const;

  struct Inside;
  std::shared_ptr<Inside> inside;
};

/// Waits until `count` calls have a result; returns whether they have.
bool wait_for_count(const std::vector<CallHandle>& calls, std::size_t count, Wait wait);

class ActorHandle {
 public:
  /// Throws OutcomeError if the actor cannot be created, RemoteError if its constructor throws.
  ActorHandle(const Needs& needs, const ClassEntry& entry, const ValueWriter& arguments);
  CallHandle call(const std::string& method, const ValueWriter& arguments) const;
  CallHandle get(const std::string& field) const;
  CallHandle set(const std::string& field, const ValueWriter& value) const;
  void end() const;
  std::uint64_t job() const;
  std::uint32_t restarts() const;

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace detail
}  // namespace cadre
