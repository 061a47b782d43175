/// The tasks that run `cadre launch` together, as one of them sees the others. For the loop's thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "client/gang/card.h"
#include "client/gang/lines.h"

namespace cadre::cli {

/// What one tells the others.
struct LaunchNote {
  static constexpr std::string_view doc = "News between the tasks of a distributed program.";
  std::vector<client::GangCard> cards;
  std::string failure;
  std::int32_t code = 0;
  bool ended = false;
};
template <class V>
void describe(V& v, LaunchNote& n) {
  v.field("cards", n.cards, "Where the processes of the task can be reached.");
  v.field("failure", n.failure, "Which process failed and how; empty: none.");
  v.field("code", n.code, "Exit code of that process.");
  v.field("ended", n.ended, "Whether all processes of the task have ended.");
}

class Nodes {
 public:
  struct Handlers {
    std::function<void(std::uint32_t node, const LaunchNote& note)> on_note;
    std::function<void(std::uint32_t node, std::string_view why)> on_lost;
  };

  /// Waits until all tasks of the job are there. `timed_out` names those that are missing.
  [[nodiscard]] static Result<std::unique_ptr<Nodes>> join(loop::RealLoop& loop, std::uint32_t workers, Duration wait,
                                                           Handlers handlers);

  const client::GangCard& self() const { return roster_[self_]; }
  const std::vector<client::GangCard>& all() const { return roster_; }
  /// The address of the first task, as this one reaches it.
  std::string chief_address() const;
  /// Reaches all others at least by way of the first one, before what they were told of cards.
  void tell(const LaunchNote& note);
  /// To all others, so that each knows who is missing.
  void tell_cards(const std::vector<client::GangCard>& cards);
  bool is_chief() const { return self_ == 0; }
  client::GangLines& lines() { return lines_; }

 private:
  Nodes(loop::RealLoop& loop, Handlers handlers) : handlers_(std::move(handlers)), lines_(loop, log_) {}
  void heard(std::uint32_t from, BytesView message);
  void lost(std::uint32_t node, std::string_view why);

  const Handlers handlers_;
  SilentLog log_;
  std::vector<client::GangCard> roster_;
  std::uint32_t self_ = 0;
  std::set<std::uint32_t> ended_;
  bool has_joined_ = false;
  std::optional<Error> trouble_;  ///< before that
  client::GangLines lines_;
};

}  // namespace cadre::cli
