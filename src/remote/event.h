/// A conditional event: how many messages, from whom and of which tag, make a handler run. As text,
/// `worker:update:60% AND (tester:done:1 OR *:stop:1)`, or built in C++. Values; safe on any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace cadre::remote {

/// Stands for any source or any tag.
constexpr std::string_view anything = "*";

constexpr std::uint32_t most_amount = 1'000'000;
constexpr std::size_t most_terms = 64;   ///< in one event
constexpr std::size_t most_nested = 32;  ///< parentheses inside each other; so many terms need no more
static_assert(2 * most_nested >= most_terms);
constexpr std::size_t most_name = 128;  ///< bytes of a source or a tag

/// How many messages a term waits for. Counts and percentages refer to the live peers that match its source: at least
/// 1, at most all of them. While there is no such peer, a count stands as it is. A total does not depend on the peers.
struct Amount {
  enum class Unit : std::uint8_t {
    messages,
    percent,  ///< rounded down
    total,
  };

  std::uint32_t number = 1;
  Unit unit = Unit::messages;
  bool operator==(const Amount&) const = default;

  [[nodiscard]] std::size_t of(std::size_t live_peers) const;
};

/// `source:tag:amount`, followed by `:distinct` when each message must come from another source, or by `:total` when
/// the amount may exceed the number of peers. The source is a type or the name of one peer: it matches a message whose
/// sender is of that type or has that name.
struct Term {
  std::string source{anything};
  std::string tag{anything};
  Amount amount;
  bool distinct_sources = false;
  bool operator==(const Term&) const = default;
};

/// A term, or events of which all or any must come true. An AND directly inside an AND is the same as one longer AND,
/// and is kept so; likewise OR.
class Event {
 public:
  enum class Kind : std::uint8_t { term, all, any };

  explicit Event(Term term) : term_(std::move(term)) {}

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const Term& term() const { return term_; }                  ///< of Kind::term
  [[nodiscard]] const std::vector<Event>& parts() const { return parts_; }  ///< two or more, unless it is a term
  bool operator==(const Event&) const = default;

  friend Event operator&&(Event first, Event second);
  friend Event operator||(Event first, Event second);

 private:
  Event(Kind kind, Event first, Event second);

  Kind kind_ = Kind::term;
  Term term_;
  std::vector<Event> parts_;
};

Event operator&&(Event first, Event second);
Event operator||(Event first, Event second);

/// The builder of one term: from("worker").tag("update").percent(60).distinct_sources().
class Messages {
 public:
  explicit Messages(std::string source) { term_.source = std::move(source); }

  Messages& tag(std::string name);
  Messages& count(std::uint32_t messages);
  Messages& percent(std::uint32_t of_peers);
  Messages& total(std::uint32_t messages);
  Messages& distinct_sources();

  operator Event() const { return Event(term_); }

 private:
  Term term_;
};

/// Messages from a type, from one peer, or from anybody; one of any tag unless more is said.
[[nodiscard]] Messages from(std::string source);

/// Reads the text form. AND binds tighter than OR. An error names the column (in bytes, from 1), what was expected
/// there, and a remedy.
[[nodiscard]] Result<Event> parse_event(std::string_view text);

/// The text form, with as few parentheses as possible; parse_event reads it back to the same event.
[[nodiscard]] std::string to_string(const Event& event);
[[nodiscard]] std::string to_string(const Term& term);

/// Whether what was built can be said as text: its names, its amounts and their number are within the
/// bounds above.
[[nodiscard]] Result<void> check(const Event& event);

/// Letters, digits and - _ . / @, at most most_name of them, at least one: what a source, a tag, a type and a peer may
/// be called.
[[nodiscard]] bool is_name(std::string_view text);

}  // namespace cadre::remote
