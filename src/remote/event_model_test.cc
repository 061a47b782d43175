// The table against the rule said plainly, and what must hold whatever comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/seeds.h"
#include "remote/event_table.h"
#include "remote/events_for_tests.h"

namespace cadre::remote {
namespace {

struct Message {
  std::uint64_t number;
  Peer source;
  std::string tag;
};

bool fits(const Term& term, const Message& message) {
  const bool is_source = term.source == "*" || term.source == message.source.type || term.source == message.source.name;
  return is_source && (term.tag == "*" || term.tag == message.tag);
}

std::vector<Term> terms_of(const Event& event) {
  if (event.kind() == Event::Kind::term) return {event.term()};
  std::vector<Term> terms;
  for (const Event& part : event.parts()) {
    for (const Term& term : terms_of(part)) terms.push_back(term);
  }
  return terms;
}

/// All that waits in one list, and each question asked of all of it.
class PlainTable {
 public:
  PlainTable(std::vector<Event> events, std::size_t waiting_most)
      : waiting_most_(waiting_most), events_(std::move(events)), waiting_(events_.size()) {}

  /// Nothing when it is refused.
  std::optional<std::vector<Firing>> push(const Message& message) {
    for (std::size_t at = 0; at < events_.size(); ++at) {
      if (matches(at, message) && !has_room(at, message)) return std::nullopt;
    }
    for (std::size_t at = 0; at < events_.size(); ++at) {
      if (matches(at, message)) waiting_[at].push_back(message);
    }
    return fire();
  }

  std::vector<Firing> set_peers(std::vector<Peer> peers) {
    peers_ = std::move(peers);
    return fire();
  }

  std::size_t waiting(std::size_t event) const { return waiting_[event].size(); }

 private:
  /// What is handed over, and what is left.
  struct Taken {
    std::vector<Message> messages;
    std::vector<Message> rest;
  };

  bool matches(std::size_t event, const Message& message) const {
    const std::vector<Term> terms = terms_of(events_[event]);
    return std::any_of(terms.begin(), terms.end(), [&](const Term& term) { return fits(term, message); });
  }

  std::size_t need(const Term& term) const {
    const auto is_meant = [&](const Peer& peer) {
      return term.source == "*" || term.source == peer.name || term.source == peer.type;
    };
    const auto peers = static_cast<std::size_t>(std::count_if(peers_.begin(), peers_.end(), is_meant));
    const std::size_t number = term.amount.number;
    if (term.amount.unit == Amount::Unit::total) return number;
    if (term.amount.unit == Amount::Unit::messages) return peers == 0 || number < peers ? number : peers;
    return std::max<std::size_t>(1, std::min(peers, peers * term.amount.number / 100));
  }

  bool has_room(std::size_t event, const Message& message) const {
    if (waiting_[event].size() < waiting_most_) return true;
    std::size_t needs = 0;
    for (const Term& term : terms_of(events_[event])) needs += need(term);
    for (const Term& term : terms_of(events_[event])) {
      if (!fits(term, message)) continue;
      std::map<std::string, std::size_t> by_source;
      std::size_t messages = 0;
      for (const Message& each : waiting_[event]) {
        if (!fits(term, each)) continue;
        ++messages;
        ++by_source[each.source.name];
      }
      if (!term.distinct_sources && messages < needs) return true;
      if (term.distinct_sources && by_source.size() < needs && by_source[message.source.name] < needs) return true;
    }
    return false;
  }

  std::optional<Taken> take(const Event& event, const std::vector<Message>& from) const {
    if (event.kind() == Event::Kind::term) return take_term(event.term(), from);
    Taken all{{}, from};
    for (const Event& part : event.parts()) {
      auto taken = take(part, all.rest);
      if (event.kind() == Event::Kind::any) {
        if (taken) return taken;
        continue;
      }
      if (!taken) return std::nullopt;
      all.messages.insert(all.messages.end(), taken->messages.begin(), taken->messages.end());
      all.rest = std::move(taken->rest);
    }
    return event.kind() == Event::Kind::all ? std::optional(all) : std::nullopt;
  }

  std::optional<Taken> take_term(const Term& term, const std::vector<Message>& from) const {
    Taken taken;
    std::set<std::string> sources;
    for (const Message& message : from) {
      const bool wanted = taken.messages.size() < need(term) && fits(term, message) &&
                          !(term.distinct_sources && sources.contains(message.source.name));
      (wanted ? taken.messages : taken.rest).push_back(message);
      if (wanted) sources.insert(message.source.name);
    }
    return taken.messages.size() == need(term) ? std::optional(taken) : std::nullopt;
  }

  std::vector<Firing> fire() {
    std::vector<Firing> firings;
    for (std::size_t at = 0; at < events_.size(); ++at) {
      while (auto taken = take(events_[at], waiting_[at])) {
        Firing& firing = firings.emplace_back(Firing{at, {}});
        for (const Message& message : taken->messages) firing.messages.push_back({message.number});
        waiting_[at] = std::move(taken->rest);
      }
    }
    return firings;
  }

  std::size_t waiting_most_;
  std::vector<Event> events_;
  std::vector<std::vector<Message>> waiting_;
  std::vector<Peer> peers_;
};

/// Peers peer0 … peer7 of types type0 … type2.
Peer peer(std::size_t number) { return {"peer" + std::to_string(number), "type" + std::to_string(number % 3)}; }

std::vector<Peer> random_peers(Dice& dice) {
  std::vector<Peer> peers;
  for (std::size_t number = 0; number < 8; ++number) {
    if (dice.percent(60)) peers.push_back(peer(number));
  }
  return peers;
}

std::vector<Event> random_events(Dice& dice) {
  std::vector<Event> events;
  for (auto more = dice.between(1, 4); more > 0; --more) events.push_back(random_event(dice, 2));
  return events;
}

EventTable table_of(const std::vector<Event>& events, std::size_t waiting_most) {
  EventTable table(waiting_most);
  for (const Event& event : events) EXPECT_TRUE(table.add(event));
  return table;
}

Message random_message(Dice& dice, std::uint64_t number) {
  return {number, peer(dice.below(8)), "tag" + std::to_string(dice.below(3))};
}

Arrival arrival(const Message& message) {
  return {{message.number}, message.source.name, message.source.type, message.tag};
}

TEST(EventTableModel, MatchesANaiveModel) {
  FOR_SEEDS(600, [](Dice& dice) {
    const std::vector<Event> events = random_events(dice);
    const auto waiting_most = static_cast<std::size_t>(dice.percent(50) ? dice.between(0, 8) : 1'000);
    EventTable table = table_of(events, waiting_most);
    PlainTable plain(events, waiting_most);
    for (std::uint64_t step = 1; step <= 120; ++step) {
      SCOPED_TRACE(step);
      if (dice.percent(8)) {
        const std::vector<Peer> peers = random_peers(dice);
        ASSERT_EQ(table.set_peers(peers), plain.set_peers(peers));
      } else {
        const Message message = random_message(dice, step);
        const auto pushed = table.push(arrival(message));
        const auto expected = plain.push(message);
        ASSERT_EQ(pushed.has_value(), expected.has_value());
        if (pushed) {
          ASSERT_EQ(pushed->firings, *expected);
        }
      }
      for (std::size_t at = 0; at < events.size(); ++at) ASSERT_EQ(table.waiting(at), plain.waiting(at));
    }
  });
}

TEST(EventTableModel, HandsOverEachMessageAtMostOnceByEachEventThatTookIt) {
  FOR_SEEDS(300, [](Dice& dice) {
    const std::vector<Event> events = random_events(dice);
    EventTable table = table_of(events, 20);
    std::vector<std::set<MessageHandle>> handed_over(events.size());
    std::size_t taken = 0;
    const auto note = [&](const std::vector<Firing>& firings) {
      for (const Firing& firing : firings) {
        ASSERT_FALSE(firing.messages.empty());
        for (const MessageHandle message : firing.messages) {
          ASSERT_TRUE(handed_over[firing.handler].insert(message).second);
        }
      }
    };
    for (std::uint64_t step = 1; step <= 150; ++step) {
      if (dice.percent(5)) note(table.set_peers(random_peers(dice)));
      if (const auto pushed = table.push(arrival(random_message(dice, step)))) {
        taken += pushed->events;
        note(pushed->firings);
      }
    }
    std::size_t accounted = 0;
    for (std::size_t at = 0; at < events.size(); ++at) accounted += handed_over[at].size() + table.waiting(at);
    ASSERT_EQ(accounted, taken) << "what was taken waits, or was handed over";
  });
}

/// Whether it fires at least once while everybody sends everything so many times.
bool fires_if_all_send_all(EventTable& table, std::size_t rounds) {
  bool fired = false;
  std::uint64_t number = 1'000'000;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t source = 0; source < 8; ++source) {
      for (const std::string tag : {"tag0", "tag1", "tag2"}) {
        const auto pushed = table.push(arrival({++number, peer(source), tag}));
        fired = fired || (pushed && !pushed->firings.empty());
      }
    }
  }
  return fired;
}

TEST(EventTableModel, FullEventsCanStillComeTrue) {
  FOR_SEEDS(300, [](Dice& dice) {
    const std::vector<Event> events = {random_event(dice, 2)};
    constexpr std::size_t rounds = 60;  // more than all terms need together
    EventTable fresh = table_of(events, 1'000'000);
    EventTable full = table_of(events, static_cast<std::size_t>(dice.between(0, 4)));
    const std::vector<Peer> peers = random_peers(dice);
    (void)fresh.set_peers(peers);
    (void)full.set_peers(peers);
    const Message flood = random_message(dice, 1);
    for (int times = 0; times < 500; ++times) (void)full.push(arrival(flood));
    ASSERT_EQ(fires_if_all_send_all(full, rounds), fires_if_all_send_all(fresh, rounds)) << to_string(events.front());
  });
}

TEST(EventTableModel, WaitingHasABound) {
  FOR_SEEDS(200, [](Dice& dice) {
    const std::vector<Event> events = {random_event(dice, 2)};
    EventTable table = table_of(events, 5);
    const std::vector<Peer> peers = random_peers(dice);
    (void)table.set_peers(peers);
    std::size_t needs = 0;
    for (const Term& term : terms_of(events.front())) needs += term.amount.of(8);
    const Message flood = random_message(dice, 1);
    for (int times = 0; times < 1'000; ++times) (void)table.push(arrival(flood));
    ASSERT_LE(table.waiting(0), 5 + terms_of(events.front()).size() * needs) << to_string(events.front());
  });
}

}  // namespace
}  // namespace cadre::remote
