/// Which templates an agent keeps: processes that have loaded what tasks of one kind need, and from which these are
/// forked (Command::forks). Pure: no I/O, no clock; the same news gives the same effects. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <set>
#include <vector>

#include "cluster/host/warm.h"

namespace cadre::cluster::host {

struct TemplateRules {
  std::size_t all_max = 0;                                        ///< 0: none are kept
  ByteSize memory_max{std::numeric_limits<std::int64_t>::max()};  ///< that all may use together
  Duration idle_max = std::chrono::minutes(10);   ///< one of which nobody wanted a process for so long is let go
  Duration ready_max = std::chrono::seconds(30);  ///< until it must be ready
  Duration pause = std::chrono::minutes(1);       ///< until another is tried after one that was of no use
};

/// Whether processes of this kind can be forked from one of them: a view with mounts, or the rights of root, cannot be
/// made again from inside.
[[nodiscard]] bool can_be_forked(const WarmKind& kind);

class Templates {
 public:
  explicit Templates(const TemplateRules& rules) : rules_(rules) {}

  /// Where a process of a kind is to come from.
  struct Source {
    enum class Way : std::uint8_t {
      start,  ///< it is started, as any program
      wait,   ///< a template gets ready: ask again soon
      fork,   ///< from this one
    };
    Way way = Way::start;
    std::uint64_t number = 0;
  };
  [[nodiscard]] Source source_of(const WarmKind& kind, TimePoint now);

  /// Whether the number is of a template: no process of a WarmStock has it.
  [[nodiscard]] static bool is_template(std::uint64_t number) { return number >= first_number; }

  void is_ready(std::uint64_t number);
  void uses(std::uint64_t number, ByteSize memory);
  /// It cannot be forked. Says whether that is new.
  [[nodiscard]] bool is_unfit(std::uint64_t number, TimePoint now);
  /// It has ended, or could not be started. Says whether somebody relied on it.
  [[nodiscard]] bool gone(std::uint64_t number, TimePoint now);

  /// What to do by now. To be called every now and then, and soon after all of the above.
  [[nodiscard]] std::vector<WarmStock::Effect> tick(TimePoint now);
  /// Lets all go, and keeps none from now on.
  void close();

  /// What they use by now, without those that were let go.
  [[nodiscard]] ByteSize memory() const;

  /// Whether nothing is left of them, also of those that were let go.
  [[nodiscard]] bool empty() const { return leaving_.empty() && count() == 0; }

 private:
  static constexpr std::uint64_t first_number = std::uint64_t{1} << 31;

  struct One {
    WarmKind kind;
    std::uint64_t number = 0;  ///< 0: there is none
    bool ready = false;
    TimePoint since;
    TimePoint used;
    TimePoint not_before;
    ByteSize memory{0};
    ByteSize memory_most{0};  ///< that one of this kind has used
  };

  One& use(const WarmKind& kind, TimePoint now);
  One* with(std::uint64_t number);
  void let_go(One& one);
  void forget_last();
  void keep_within_memory(TimePoint now);
  [[nodiscard]] bool fits(const One& one) const;
  [[nodiscard]] std::size_t count() const;

  TemplateRules rules_;
  std::list<One> ones_;  ///< the one that was used last is the first
  std::set<std::uint64_t> leaving_;
  std::uint64_t last_ = first_number;
  std::vector<WarmStock::Effect> effects_;
};

}  // namespace cadre::cluster::host
