/// Which processes an agent keeps ready for tasks to come (Command::warm): which to start, which to hand out, which to
/// let go. Pure: no I/O, no clock; the same news gives the same effects. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "cluster/messages.h"

namespace cadre::cluster::host {

/// What processes have in common of which one will do for the other: never processes of two users.
struct WarmKind {
  std::string owner;
  messages::OwnerRights rights;
  Command command;
  Isolation isolation = Isolation::on;
  bool run_as_root = false;
  std::vector<std::string> hidden = {};  ///< folders that were hidden from it when it started
  bool operator==(const WarmKind&) const = default;
};

/// Nothing when none of its kind are to be kept. Variables belong to the kind, since many a program reads them only
/// when it starts (PYTHONPATH, OMP_NUM_THREADS); but for CADRE_*, which it is told when it begins.
[[nodiscard]] std::optional<WarmKind> warm_kind_of(const messages::Start& start, std::vector<std::string> hidden = {});

/// What kinds have in common that run the same interpreter or program for the same user, with whatever code and
/// variables.
[[nodiscard]] std::string warm_runtime_of(const WarmKind& kind);

struct WarmRules {
  std::size_t each_max = 0;  ///< of one user and runtime; 0: none are kept
  std::size_t all_max = 0;
  ByteSize memory_max{0};        ///< that all may use together, with their templates
  std::size_t starting_max = 2;  ///< at the same time, with tasks that somebody waits for
  std::size_t kinds_max = 64;
  Duration idle_max = std::chrono::minutes(10);  ///< a kind of which no task was started for so long is forgotten
  Duration ready_max = std::chrono::minutes(2);  ///< until a process must be ready
  Duration pause_first = std::chrono::milliseconds(200);  ///< after one that failed; doubled with each
  Duration pause_max = std::chrono::minutes(1);
  std::int32_t failures_max = 5;  ///< then none is started until the next task of that kind is
};

class WarmStock {
 public:
  // What is to be done.
  struct Start {
    std::uint64_t number = 0;
    WarmKind kind;
  };
  struct LetGo {
    std::uint64_t number = 0;
  };
  using Effect = std::variant<Start, LetGo>;

  explicit WarmStock(const WarmRules& rules) : rules_(rules) {}

  /// A task of this kind is to start: gives the number of a process that is ready for it, if there is one, and forgets
  /// that. Some of this kind are kept from now on.
  [[nodiscard]] std::optional<std::uint64_t> take(const WarmKind& kind, TimePoint now);

  void is_ready(std::uint64_t number);
  void uses(std::uint64_t number, ByteSize memory);
  /// So much of the memory is used by the templates that processes are forked from.
  void templates_use(ByteSize memory) { used_by_templates_ = memory; }
  /// It has ended, or could not be started. Says whether its kind is given up for that.
  [[nodiscard]] bool gone(std::uint64_t number, TimePoint now);

  /// What to do by now. `others` is how many tasks are starting that somebody waits for. To be called every now and
  /// then, and soon after all of the above.
  [[nodiscard]] std::vector<Effect> tick(std::size_t others, TimePoint now);
  /// Lets all go, and keeps none from now on.
  void close();

  /// Whether nothing is left of it, also of those that were let go.
  bool empty() const { return count() == 0; }

 private:
  struct One {
    bool ready = false;
    TimePoint since;
    ByteSize memory{0};
  };
  struct Kind {
    WarmKind kind;
    std::string runtime;
    TimePoint used;
    ByteSize memory_each{0};  ///< the most that one has used
    std::int32_t failures = 0;
    TimePoint not_before{};
    std::map<std::uint64_t, One> ones;
  };

  Kind* kind_with(std::uint64_t number);
  Kind& use(const WarmKind& kind, TimePoint now);
  void let_go(Kind& kind, std::uint64_t number);
  void forget_last();
  void fail(Kind& kind, TimePoint now);
  bool is_given_up(const Kind& kind) const { return kind.failures >= rules_.failures_max; }
  void look_at_late(TimePoint now);
  void keep_within_memory();
  void refill(std::size_t others, TimePoint now);
  bool wants(const Kind& kind, TimePoint now) const;
  bool has_room_for(const Kind& kind) const;
  /// Of its runtime, in kinds that were used no longer ago than this one, and in all.
  std::size_t up_to(const Kind& kind) const;
  std::size_t of_runtime(const std::string& runtime) const;
  /// Lets one go of its runtime, of the kind that was used longest ago.
  void make_room_in_runtime(const Kind& kind);
  /// Lets one go of the kind that was used longest ago, if that is not this one.
  void make_room_for(const Kind& kind);

  static ByteSize memory_of(const Kind& kind);
  ByteSize memory() const;
  std::size_t starting() const;
  std::size_t count() const;

  WarmRules rules_;
  std::list<Kind> kinds_;  ///< the one that was used last is the first
  std::set<std::uint64_t> leaving_;
  std::uint64_t last_ = 0;
  ByteSize used_by_templates_{0};
  std::vector<Effect> effects_;
};

}  // namespace cadre::cluster::host
