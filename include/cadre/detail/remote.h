/// What cadre/remote.h stands on: all of it that has no types. Programs include cadre/remote.h.
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

/// What an actor needs of the cluster, and how it is treated.
struct Needs {
  double cpus = 1;
  std::int32_t slots = 0;
  std::int64_t memory = 0;                 ///< bytes; above it, the actor ends. 0: no limit
  std::uint32_t max_restarts = 0;          ///< an actor whose process ends is made anew so many times
  std::uint32_t max_call_retries = 0;      ///< a call of which nobody knows whether it ran is repeated so many times
  std::size_t concurrent = 1;              ///< calls that run at a time; one: in order
  bool wait = true;                        ///< until the object is made
  Wait timeout = std::chrono::minutes(5);  ///< for a place on the cluster
  Wait unresponsive_after = std::chrono::minutes(1);  ///< a process that gives no sign of life for so long is ended
  std::string pool{};
  std::string workspace{};
};

/// An exception in the code of an actor, which lives on.
class RemoteError : public std::runtime_error {
 public:
  RemoteError(std::string type_name, const std::string& text)
      : std::runtime_error(text), type_name_(std::move(type_name)) {}
  /// Of the exception there: std::out_of_range.
  const std::string& type_name() const { return type_name_; }

 private:
  std::string type_name_;
};

/// To be called first in main: a process that was started as an actor serves as one, and does not come back.
void init(int argc, char** argv);

struct ConnectOptions {
  Wait wait = std::chrono::seconds(10);  ///< for the master to answer
  /// Whether what actors write to standard output and standard error is shown here, too, each line with its actor.
  /// CADRE_ACTOR_OUTPUT=0 in the environment turns it off as well.
  bool output = true;
};

/// Opens a session with a cluster: host:port, cadre://host:port, http://host:port, https://host:port, or the data
/// folder of a master on this host; empty: that of CADRE_MASTER, or where `cadre login` was last, or this host's own.
/// To the same one twice is the same session; to another one it is a `conflict` until disconnect().
Outcome<void> connect(const std::string& url = "", Wait wait = std::chrono::seconds(10));
Outcome<void> connect(const std::string& url, const ConnectOptions& options);
/// Ends the session, and with it all its actors.
void disconnect();

namespace detail {

/// A pointer to a member, as something that can be compared.
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

/// A class that was registered.
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

/// For the time before main.
void add_class(std::type_index type, ClassEntry entry);
/// Throws OutcomeError (not_found) when it was not registered.
const ClassEntry& class_of(std::type_index type);
const std::string& name_of(const ClassEntry& entry, const MemberKey& key);

/// Ends the program: two of its members stand in CADRE_REMOTE without a comma between them.
[[noreturn]] void need_comma(const std::string& class_name);

/// The name that stands at the end of `.method(&Simulator::step)`.
std::string name_in(std::string_view text);

class CallHandle {
 public:
  bool is_there() const;
  bool wait(Wait wait) const;
  void cancel() const;
  void then(std::function<void()> call) const;
  /// Once it is there. Throws RemoteError, or OutcomeError when there is no answer.
  ValueReader value() const;

  struct Inside;
  std::shared_ptr<Inside> inside;
};

/// Waits until as many of them are there; says whether they are.
bool wait_for_count(const std::vector<CallHandle>& calls, std::size_t count, Wait wait);

class ActorHandle {
 public:
  /// Throws OutcomeError when it cannot be made, RemoteError when its constructor throws.
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
