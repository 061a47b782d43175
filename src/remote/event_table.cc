#include "remote/event_table.h"

#include <algorithm>
#include <utility>

namespace cadre::remote {

Result<std::size_t> EventTable::add(std::string_view event) {
  TRY_ASSIGN(parsed, parse_event(event));
  return add(parsed);
}

Result<std::size_t> EventTable::add(const Event& event) {
  TRY(check(event));
  const std::size_t number = events_.size();
  EventQueue& queue = events_.emplace_back(event, waiting_most_);
  queue.set_needs([this](const std::string& source) { return count_peers(source); });
  for (std::size_t at = 0; at < queue.terms().size(); ++at) {
    const Term& term = queue.terms()[at];
    by_tag_[term.tag][term.source].push_back({number, TermBits{1} << at});
  }
  return number;
}

Result<Pushed> EventTable::push(const Arrival& arrival) {
  const std::vector<Match> matching = matches(arrival);
  for (const Match& match : matching) {
    if (events_[match.event].has_room(match.terms, arrival.source)) continue;
    return fail(Errc::unavailable, std::to_string(waiting_most_) + " messages wait for handler " +
                                       std::to_string(match.event) + " already; send it again later, or drop it");
  }
  Pushed pushed{matching.size(), {}};
  for (const Match& match : matching) {
    events_[match.event].add(arrival.message, match.terms, arrival.source);
    fire(match.event, pushed.firings);
  }
  return pushed;
}

std::vector<Firing> EventTable::set_peers(std::span<const Peer> peers) {
  types_.clear();
  peers_of_type_.clear();
  for (const Peer& peer : peers) {
    if (types_.emplace(peer.name, peer.type).second) ++peers_of_type_[peer.type];
  }
  std::vector<Firing> firings;
  for (std::size_t event = 0; event < events_.size(); ++event) {
    events_[event].set_needs([this](const std::string& source) { return count_peers(source); });
    fire(event, firings);
  }
  return firings;
}

std::vector<EventTable::Match> EventTable::matches(const Arrival& arrival) const {
  std::vector<Match> found;
  for (const std::string_view tag : {arrival.tag, anything}) {
    const auto sources = by_tag_.find(tag);
    if (sources == by_tag_.end()) continue;
    for (const std::string_view source : {arrival.source, arrival.source_type, anything}) {
      const auto terms = sources->second.find(source);
      if (terms != sources->second.end()) found.insert(found.end(), terms->second.begin(), terms->second.end());
    }
  }
  std::sort(found.begin(), found.end(), [](const Match& a, const Match& b) { return a.event < b.event; });
  std::vector<Match> events;
  for (const Match& match : found) {
    if (events.empty() || events.back().event != match.event) events.push_back({match.event, 0});
    events.back().terms |= match.terms;
  }
  return events;
}

std::size_t EventTable::count_peers(const std::string& source) const {
  if (source == anything) return types_.size();
  const auto of_type = peers_of_type_.find(source);
  const auto named = types_.find(source);
  const bool counts_besides = named != types_.end() && named->second != source;
  return (of_type == peers_of_type_.end() ? 0 : of_type->second) + (counts_besides ? 1 : 0);
}

void EventTable::fire(std::size_t event, std::vector<Firing>& firings) {
  while (auto messages = events_[event].fire()) firings.push_back({event, *std::move(messages)});
}

}  // namespace cadre::remote
