#include <charconv>

#include "describe/utf8.h"
#include "remote/event.h"

namespace cadre::remote {
namespace {

constexpr std::string_view term_form = "write source:tag:amount, like worker:update:60%";
constexpr std::string_view amount_form = "write a number of messages like 3, or a share of the peers like 60%";
constexpr std::string_view infix_form =
    "write the operator between two terms, like worker:update:60% AND tester:done:1; parentheses group";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_mark(char c) { return c == ':' || c == '(' || c == ')'; }

bool is_operator(std::string_view word) { return word == "AND" || word == "OR" || word == "&&" || word == "||"; }

/// Terms as the items of a tuple or the arguments of a function: ("a:b:1", "c:d:1", "AND"), AND(a:b:1, c:d:1).
bool is_of_a_list(std::string_view word) {
  return word.find(',') != std::string_view::npos || word.starts_with('"') || word.starts_with('\'');
}

/// event := all {"OR" all}    all := one {"AND" one}    one := term | "(" event ")"
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Event> read() {
    TRY_ASSIGN(event, read_any());
    if (at_ == text_.size()) return event;
    if (text_[at_] == ')') return expected("AND, OR or the end", "remove it, or open it with (");
    return expected("AND, OR or the end", operator_hint());
  }

 private:
  Result<Event> read_any() {
    TRY_ASSIGN(event, read_all());
    while (take_operator("OR")) {
      TRY_ASSIGN(next, read_all());
      event = std::move(event) || std::move(next);
    }
    return event;
  }

  Result<Event> read_all() {
    TRY_ASSIGN(event, read_one());
    while (take_operator("AND")) {
      TRY_ASSIGN(next, read_one());
      event = std::move(event) && std::move(next);
    }
    return event;
  }

  Result<Event> read_one() {
    skip_spaces();
    const std::size_t begin = at_;
    if (!take('(')) return read_term();
    if (++open_ > most_nested) {
      at_ = begin;
      return expected("at most " + std::to_string(most_nested) + " parentheses inside each other",
                      "simplify it, or use several events");
    }
    TRY_ASSIGN(event, read_any());
    if (!take(')')) {
      return expected("AND, OR or )", is_at_end() ? "close the ( of column " + column(begin) : operator_hint());
    }
    --open_;
    skip_spaces();
    return event;
  }

  Result<Event> read_term() {
    const std::size_t begin = at_;
    Term term;
    if (is_operator(word()) && !is_followed_by_colon()) return expected("a source or (", std::string(infix_form));
    TRY_ASSIGN(source, read_name("a source or ("));
    term.source = std::move(source);
    if (!take(':')) return expected("':' and a tag", std::string(term_form));
    TRY_ASSIGN(tag, read_name("a tag"));
    term.tag = std::move(tag);
    if (!take(':')) return expected("':' and an amount", std::string(term_form));
    TRY_ASSIGN(amount, read_amount());
    term.amount = amount;
    if (take(':')) {
      const bool may_be_total = amount.unit == Amount::Unit::messages;
      if (word() == "total" && may_be_total) {
        term.amount.unit = Amount::Unit::total;
      } else if (word() == "distinct") {
        term.distinct_sources = true;
      } else {
        return expected(may_be_total ? "'distinct' or 'total'" : "'distinct'",
                        "write :distinct for one message of each source, :total for a number of messages that may "
                        "exceed that of the peers, or leave it out");
      }
      at_ += word().size();
    }
    if (++terms_ > most_terms) {
      at_ = begin;
      return expected("at most " + std::to_string(most_terms) + " terms", "use several events");
    }
    skip_spaces();
    return Event(std::move(term));
  }

  Result<std::string> read_name(const std::string& what) {
    if (take('*')) return std::string(anything);
    const std::string_view name = word();
    if (name.empty()) return expected(what, std::string(term_form) + ", with * for any source or tag");
    if (is_of_a_list(name)) return expected(what, std::string(infix_form));
    if (!is_name(name)) {
      return expected("a name of at most " + std::to_string(most_name) + " letters, digits and - _ . / @",
                      "shorten it, or remove other characters");
    }
    at_ += name.size();
    return std::string(name);
  }

  Result<Amount> read_amount() {
    std::string_view digits = word();
    const std::size_t length = digits.size();
    Amount amount;
    if (digits.ends_with('%')) {
      amount.unit = Amount::Unit::percent;
      digits.remove_suffix(1);
    }
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), amount.number);
    const bool is_number = end == digits.data() + digits.size() && error != std::errc::invalid_argument;
    if (!is_number && is_of_a_list(word())) return expected("an amount", std::string(infix_form));
    if (!is_number) return expected("an amount", std::string(amount_form));
    if (error != std::errc() || amount.number < 1 || amount.number > most_amount) {
      return expected("an amount from 1 to " + std::to_string(most_amount), std::string(amount_form));
    }
    at_ += length;
    return amount;
  }

  /// Where spaces were skipped.
  bool take_operator(std::string_view name) {
    if (word() != name) return false;
    at_ += name.size();
    return true;
  }

  std::string operator_hint() const {
    if (word() == "and" || word() == "or") return "write AND and OR in upper case";
    if (word() == "&&" || word() == "||") return "write AND for && and OR for ||";
    if (is_of_a_list(word())) return std::string(infix_form);
    return "write AND or OR between two terms";
  }

  /// All up to the next space, colon or parenthesis.
  std::string_view word() const {
    std::size_t end = at_;
    while (end < text_.size() && !is_space(text_[end]) && !is_mark(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  Failure expected(const std::string& what, const std::string& hint) const {
    constexpr std::size_t most_shown = 32;
    const std::string_view here = word().empty() ? text_.substr(at_, 1) : word();
    const std::string found = here.empty() ? "the end" : describe::quoted(describe::shortened(here, most_shown));
    return fail(Errc::invalid, "column " + column(at_) + ": expected " + what + ", found " + found + "; " + hint);
  }

  bool is_followed_by_colon() const {
    const std::size_t end = at_ + word().size();
    return end < text_.size() && text_[end] == ':';
  }

  static std::string column(std::size_t offset) { return std::to_string(offset + 1); }

  bool is_at_end() const { return at_ == text_.size(); }

  bool take(char c) {
    if (is_at_end() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_spaces() {
    while (!is_at_end() && is_space(text_[at_])) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t open_ = 0;
  std::size_t terms_ = 0;
};

}  // namespace

Result<Event> parse_event(std::string_view text) { return Parser(text).read(); }

}  // namespace cadre::remote
