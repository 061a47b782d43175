#include "remote/event_queue.h"

#include <algorithm>
#include <utility>

namespace cadre::remote {

EventQueue::EventQueue(const Event& event, std::size_t waiting_most)
    : waiting_most_(waiting_most), root_(plan(event)), needs_(terms_.size()) {
  for (const Term& term : terms_) {
    queues_.push_back(term.distinct_sources ? TermQueue(OldestOfEachSource()) : TermQueue(OldestFirst()));
  }
}

EventQueue::Node EventQueue::plan(const Event& event) {
  Node node{event.kind(), terms_.size(), {}};
  if (event.kind() == Event::Kind::term) terms_.push_back(event.term());
  for (const Event& part : event.parts()) node.parts.push_back(plan(part));
  return node;
}

void EventQueue::set_needs(const CountPeers& count_peers) {
  needs_in_all_ = 0;
  for (std::size_t at = 0; at < terms_.size(); ++at) {
    const Term& term = terms_[at];
    needs_[at] = term.amount.of(count_peers(term.source));
    needs_in_all_ += needs_[at];
  }
}

/// A term that has as many messages as all terms need together finds its own whatever the others take. So a message is
/// let in above the bound where a term has fewer, and else cannot help.
bool EventQueue::has_room(TermBits terms, std::string_view source) const {
  if (waiting_.size() < waiting_most_) return true;
  for (std::size_t at = 0; at < queues_.size(); ++at) {
    if ((terms >> at & 1) == 0) continue;
    const auto may_lack = [&](const auto& queue) { return queue.may_lack(source, needs_in_all_); };
    if (std::visit(may_lack, queues_[at])) return true;
  }
  return false;
}

void EventQueue::add(MessageHandle message, TermBits terms, std::string_view source) {
  const Turn turn = next_++;
  for (std::size_t at = 0; at < queues_.size(); ++at) {
    if ((terms >> at & 1) != 0) std::visit([&](auto& queue) { queue.add(turn, source); }, queues_[at]);
  }
  waiting_.emplace_hint(waiting_.end(), turn, Waiting{message, terms, std::string(source)});
}

std::optional<std::vector<MessageHandle>> EventQueue::fire() {
  Chosen chosen;
  if (!may_be_true(root_) || !choose(root_, chosen)) return std::nullopt;
  std::vector<MessageHandle> messages;
  messages.reserve(chosen.size());
  for (const Turn turn : chosen.order()) messages.push_back(take(turn));
  return messages;
}

bool EventQueue::may_be_true(const Node& node) const {
  const auto may = [&](const Node& part) { return may_be_true(part); };
  switch (node.kind) {
    case Event::Kind::all: return std::all_of(node.parts.begin(), node.parts.end(), may);
    case Event::Kind::any: return std::any_of(node.parts.begin(), node.parts.end(), may);
    case Event::Kind::term: break;
  }
  const auto available = [](const auto& queue) { return queue.available(); };
  return std::visit(available, queues_[node.term]) >= needs_[node.term];
}

bool EventQueue::choose(const Node& node, Chosen& chosen) const {
  const auto choose_part = [&](const Node& part) { return may_be_true(part) && choose(part, chosen); };
  switch (node.kind) {
    case Event::Kind::all: {
      const std::size_t before = chosen.size();
      if (std::all_of(node.parts.begin(), node.parts.end(), choose_part)) return true;
      chosen.cut(before);
      return false;
    }
    case Event::Kind::any: return std::any_of(node.parts.begin(), node.parts.end(), choose_part);
    case Event::Kind::term: break;
  }
  return std::visit([&](const auto& queue) { return queue.choose(needs_[node.term], chosen); }, queues_[node.term]);
}

MessageHandle EventQueue::take(Turn turn) {
  const auto found = waiting_.find(turn);
  const Waiting taken = std::move(found->second);
  waiting_.erase(found);
  for (std::size_t at = 0; at < queues_.size(); ++at) {
    if ((taken.terms >> at & 1) != 0) std::visit([&](auto& queue) { queue.remove(turn, taken.source); }, queues_[at]);
  }
  return taken.message;
}

}  // namespace cadre::remote
