#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <map>
#include <sstream>
#include <utility>

#include "describe/formats.h"
#include "describe/number.h"
#include "describe/text_checks.h"
#include "describe/tree.h"
#include "describe/utf8.h"

namespace cadre::describe {
namespace {

struct Stop {};  ///< leaves yaml-cpp after a fault that ends the reading; caught below

Mark mark_of(const YAML::Mark& mark) {
  return {static_cast<std::uint32_t>(mark.line + 1), static_cast<std::uint32_t>(mark.column + 1)};
}

/// What it costs to copy a value.
struct Weight {
  std::size_t nodes = 1;
  std::size_t text_bytes = 0;
  std::size_t depth = 0;  ///< lists and maps inside each other, this one too

  void add(const Weight& inner) {
    nodes += inner.nodes;
    text_bytes += inner.text_bytes;
    depth = std::max(depth, inner.depth + 1);
  }
};

Weight weigh(const Value& value) {
  Weight sum;
  if (const auto* text = value.as<std::string>()) sum.text_bytes = text->size();
  if (const auto* list = value.as<Value::List>()) {
    sum.depth = 1;
    for (const Value& item : *list) sum.add(weigh(item));
  }
  if (const auto* map = value.as<Value::Map>()) {
    sum.depth = 1;
    for (const Entry& entry : *map) {
      sum.text_bytes += entry.key.size();
      sum.add(weigh(entry.value));
    }
  }
  return sum;
}

/// Whether it begins with a quoted scalar, maybe behind a tag and an anchor, that lasts to the end of the text: the
/// parser takes that for closed when the text ends with a line break.
bool is_unclosed(std::string_view text) {
  while (text.starts_with('&') || text.starts_with('!')) {
    text.remove_prefix(std::min(text.find_first_of(" \t\r\n"), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  if (!text.starts_with('"') && !text.starts_with('\'')) return false;
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size(); ++i) {
    const bool is_pair = quote == '"' ? text[i] == '\\' : text.substr(i, 2) == "''";
    if (is_pair) {
      ++i;
    } else if (text[i] == quote) {
      return false;
    }
  }
  return true;
}

/// Turns yaml-cpp's events into a tree; what a scalar means is decided here.
class Events final : public YAML::EventHandler {
 public:
  Events(std::string_view text, const Bounds& bounds) : text_(text), bounds_(bounds), tree_(bounds) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(has_document_, true)) {
      stop("a second document begins here; keep one document in a file", mark_of(mark));
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (tree_.expects_key()) {
      tree_.fault("a key is empty or null; put it in quotes", mark_of(mark));
      return tree_.key({}, mark_of(mark));
    }
    keep(tree_.add(Value(), mark_of(mark)));
    remember(anchor, Value());
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const Mark at = mark_of(mark);
    if (is_unclosed(text_.substr(std::min(static_cast<std::size_t>(mark.pos), text_.size())))) {
      stop("the quote that begins here is never closed; close it", at);
    }
    if (!is_utf8(text)) stop("an escape makes text that is not UTF-8; write another", at);
    if (tree_.expects_key()) return add_key(text, tag, anchor, at);
    Value value = resolve(text, tag, at);
    value.set_mark(at);  // kept in copies, too
    remember(anchor, value);
    keep(tree_.add(std::move(value), at));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (tree_.expects_key()) stop("an alias (*name) cannot be a key; write the key out", mark_of(mark));
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      stop("an alias (*name) refers to its own parent; replace it with its content", mark_of(mark));
    const auto& [value, weight] = found->second;
    count_copy(weight, mark_of(mark));
    keep(tree_.add_copy(value, {weight.nodes, weight.depth}));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    start(mark, tag, anchor);
    keep(tree_.start_list(mark_of(mark)));
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    start(mark, tag, anchor);
    keep(tree_.start_map(mark_of(mark)));
  }
  void OnMapEnd() override { end(); }

  Tree& tree() { return tree_; }

 private:
  [[noreturn]] void stop(std::string message, Mark at) {
    tree_.fault(std::move(message), at);
    throw Stop{};
  }

  static void keep(bool within_bounds) {
    if (!within_bounds) throw Stop{};
  }

  void start(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (tree_.expects_key())
      stop("a list or a map cannot be a key; write a plain key, or close the bracket", mark_of(mark));
    if (tag != "?" && tag != "!" && !tag.empty()) refuse_tag(tag, mark_of(mark));
    open_anchors_.push_back(anchor);
  }

  void end() {
    const Value& value = tree_.end();
    remember(open_anchors_.back(), value);
    open_anchors_.pop_back();
  }

  void remember(YAML::anchor_t anchor, const Value& value) {
    if (anchor == YAML::NullAnchor) return;
    const Weight weight = weigh(value);
    count_copy(weight, value.at().value_or(Mark{1, 1}));
    anchors_.insert_or_assign(anchor, std::pair(value, weight));
  }

  void count_copy(const Weight& weight, Mark at) {
    copied_nodes_ += weight.nodes;
    copied_text_bytes_ += weight.text_bytes;
    if (copied_nodes_ > bounds_.copies || copied_text_bytes_ > bounds_.size_bytes) {
      stop("the expanded aliases (*name) have too many values; use fewer", at);
    }
  }

  void add_key(const std::string& text, const std::string& tag, YAML::anchor_t anchor, Mark at) {
    if (text == "<<" && tag == "?") tree_.fault("merge keys (<<) are not supported; write the keys out", at);
    if (tag != "?" && tag != "!" && tag != string_tag) refuse_tag(tag, at);
    remember(anchor, Value(text));
    tree_.key(text, at);
  }

  Value resolve(const std::string& text, const std::string& tag, Mark at) {
    if (tag == "!" || tag == string_tag) return Value(text);
    if (tag != "?") return refuse_tag(tag, at), Value();
    if (text == "true") return Value(true);
    if (text == "false") return Value(false);
    auto number = parse_number(text);
    if (!number) return Value(text);
    if (*number) return **std::move(number);
    tree_.fault(number->error().message, at);
    return Value();
  }

  void refuse_tag(const std::string& tag, Mark at) {
    tree_.fault("the tag " + quoted(shortened(tag, 60)) + " is not supported; remove it, only !!str is known", at);
  }

  static constexpr std::string_view string_tag = "tag:yaml.org,2002:str";

  const std::string_view text_;
  const Bounds bounds_;
  Tree tree_;
  bool has_document_ = false;
  std::size_t copied_nodes_ = 0;
  std::size_t copied_text_bytes_ = 0;
  std::vector<YAML::anchor_t> open_anchors_;
  std::map<YAML::anchor_t, std::pair<Value, Weight>> anchors_;
};

}  // namespace

Parsed parse_yaml(std::string_view text, const Bounds& bounds) {
  if (auto fault = check_text(text, bounds)) return tl::unexpected(Faults(*std::move(fault)));
  Events events(text.substr(text.starts_with("\xEF\xBB\xBF") ? 3 : 0), bounds);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(events)) {
    }
  } catch (const Stop&) {  // the fault is kept
  } catch (const YAML::Exception& error) {
    events.tree().fault("is not YAML: " + error.msg, error.mark.is_null() ? Mark{1, 1} : mark_of(error.mark));
  } catch (const std::exception& error) {
    events.tree().fault("cannot be read as YAML: " + std::string(error.what()), std::nullopt);
  }
  return std::move(events.tree()).finish();
}

}  // namespace cadre::describe
