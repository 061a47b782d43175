/// The messages that wait for one event, and when they make it fire. Pure; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "remote/event.h"
#include "remote/term_queue.h"

namespace cadre::remote {

/// What a message is called by its owner.
using MessageHandle = Id<struct MessageHandleTag>;

/// Terms of an event, one bit for each, in the order of their declaration.
using TermBits = std::uint64_t;
static_assert(most_terms <= 64);

class EventQueue {
 public:
  /// How many live peers match a source.
  using CountPeers = std::function<std::size_t(const std::string& source)>;

  EventQueue(const Event& event, std::size_t waiting_most);

  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }

  void set_needs(const CountPeers& count_peers);
  /// False when so many wait already, unless this one may be what the event lacks to come true.
  [[nodiscard]] bool has_room(TermBits terms, std::string_view source) const;
  /// Adds a message that these terms match.
  void add(MessageHandle message, TermBits terms, std::string_view source);
  /// If the event is true: takes what makes it so.
  [[nodiscard]] std::optional<std::vector<MessageHandle>> fire();

 private:
  struct Node {
    Event::Kind kind;
    std::size_t term = 0;  ///< of Kind::term
    std::vector<Node> parts;
  };
  struct Waiting {
    MessageHandle message;
    TermBits terms;
    std::string source;
  };

  Node plan(const Event& event);
  /// Whether each term that must has enough messages; they may yet be the same for several terms.
  [[nodiscard]] bool may_be_true(const Node& node) const;
  /// Chooses what makes it true; nothing if it is not.
  [[nodiscard]] bool choose(const Node& node, Chosen& chosen) const;
  MessageHandle take(Turn turn);

  std::size_t waiting_most_;
  std::vector<Term> terms_;
  Node root_;
  std::vector<TermQueue> queues_;   ///< of each term
  std::vector<std::size_t> needs_;  ///< of each term
  std::size_t needs_in_all_ = 0;
  std::map<Turn, Waiting> waiting_;
  Turn next_ = 0;
};

}  // namespace cadre::remote
