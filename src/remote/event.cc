#include "remote/event.h"

#include <algorithm>

#include "describe/utf8.h"

namespace cadre::remote {
namespace {

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./@").find(c) != std::string_view::npos;
}

std::size_t count_terms(const Event& event) {
  if (event.kind() == Event::Kind::term) return 1;
  std::size_t terms = 0;
  for (const Event& part : event.parts()) terms += count_terms(part);
  return terms;
}

bool needs_parentheses(const Event& part, const Event& whole) {
  return whole.kind() == Event::Kind::all && part.kind() == Event::Kind::any;
}

Result<void> check_terms(const Event& event) {
  for (const Event& part : event.parts()) TRY(check_terms(part));
  if (event.kind() != Event::Kind::term) return {};
  const Term& term = event.term();
  for (const std::string& name : {term.source, term.tag}) {
    if (name == anything || is_name(name)) continue;
    return fail(Errc::invalid, describe::quoted(describe::shortened(name, most_name)) +
                                   " cannot be a source or a tag; use up to " + std::to_string(most_name) +
                                   " letters, digits and - _ . / @, or * alone");
  }
  if (term.amount.number < 1 || term.amount.number > most_amount) {
    return fail(Errc::invalid, "the amount of " + to_string(term) + " is out of range; use 1 to " +
                                   std::to_string(most_amount) + ", or a percentage of at least 1");
  }
  if (term.distinct_sources && term.amount.unit == Amount::Unit::total) {
    return fail(Errc::invalid, to_string(term) + " cannot be both a total and of distinct sources; use one of them");
  }
  return {};
}

}  // namespace

std::size_t Amount::of(std::size_t live_peers) const {
  if (unit == Unit::total || (unit == Unit::messages && live_peers == 0)) return number;
  if (unit == Unit::messages) return std::min<std::size_t>(number, live_peers);
  return std::max<std::size_t>(1, std::min(live_peers, live_peers * number / 100));
}

Event::Event(Kind kind, Event first, Event second) : kind_(kind) {
  for (Event* part : {&first, &second}) {
    if (part->kind_ == kind) {
      std::move(part->parts_.begin(), part->parts_.end(), std::back_inserter(parts_));
    } else {
      parts_.push_back(std::move(*part));
    }
  }
}

Event operator&&(Event first, Event second) { return {Event::Kind::all, std::move(first), std::move(second)}; }

Event operator||(Event first, Event second) { return {Event::Kind::any, std::move(first), std::move(second)}; }

Messages& Messages::tag(std::string name) {
  term_.tag = std::move(name);
  return *this;
}

Messages& Messages::count(std::uint32_t messages) {
  term_.amount = {messages, Amount::Unit::messages};
  return *this;
}

Messages& Messages::percent(std::uint32_t of_peers) {
  term_.amount = {of_peers, Amount::Unit::percent};
  return *this;
}

Messages& Messages::total(std::uint32_t messages) {
  term_.amount = {messages, Amount::Unit::total};
  return *this;
}

Messages& Messages::distinct_sources() {
  term_.distinct_sources = true;
  return *this;
}

Messages from(std::string source) { return Messages(std::move(source)); }

std::string to_string(const Term& term) {
  return term.source + ":" + term.tag + ":" + std::to_string(term.amount.number) +
         (term.amount.unit == Amount::Unit::percent ? "%" : "") +
         (term.amount.unit == Amount::Unit::total ? ":total" : "") + (term.distinct_sources ? ":distinct" : "");
}

std::string to_string(const Event& event) {
  if (event.kind() == Event::Kind::term) return to_string(event.term());
  std::string text;
  for (const Event& part : event.parts()) {
    if (!text.empty()) text += event.kind() == Event::Kind::all ? " AND " : " OR ";
    text += needs_parentheses(part, event) ? "(" + to_string(part) + ")" : to_string(part);
  }
  return text;
}

Result<void> check(const Event& event) {
  if (const std::size_t terms = count_terms(event); terms > most_terms) {
    return fail(Errc::invalid, "the event has " + std::to_string(terms) + " terms; use at most " +
                                   std::to_string(most_terms) + ", or several events");
  }
  return check_terms(event);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= most_name && std::all_of(text.begin(), text.end(), is_name_letter);
}

}  // namespace cadre::remote
