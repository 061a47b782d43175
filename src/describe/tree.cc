#include "describe/tree.h"

#include <algorithm>

namespace cadre::describe {
namespace {

std::optional<Mark> known(Mark mark) { return mark.line == 0 ? std::nullopt : std::optional(mark); }

std::string path_from(const Path& parent, const std::vector<std::pair<std::string_view, std::size_t>>& steps,
                      std::size_t at) {
  if (at == steps.size()) return parent.to_text();
  const auto& [key, index] = steps[at];
  return path_from(key.data() != nullptr ? Path(parent, key) : Path(parent, index), steps, at + 1);
}

}  // namespace

bool Tree::add(Value value, Mark at) {
  if (!count(1, at)) return false;
  value.set_mark(at);
  place(std::move(value));
  return true;
}

bool Tree::add_copy(const Value& value, Extent extent) {
  const Mark at = value.at().value_or(Mark{});
  if (is_too_deep(open_.size() + extent.depth, at) || !count(extent.nodes, at)) return false;
  place(value);
  return true;
}

void Tree::key(std::string text, Mark at) {
  Open& map = open_.back();
  map.key = std::move(text);
  map.key_at = at;
  map.has_key = true;
}

const Value& Tree::end() {
  Value value = std::move(open_.back().value);
  open_.back().has_key = false;
  if (const auto* map = value.as<Value::Map>()) find_twins(*map);
  open_.pop_back();
  return place(std::move(value));
}

bool Tree::expects_key() const {
  return !open_.empty() && !open_.back().has_key && open_.back().value.as<Value::Map>() != nullptr;
}

void Tree::fault(std::string message, std::optional<Mark> at) {
  if (faults_.is_full()) return faults_.add({});  // only counted: a hostile text may have very many
  faults_.add({path(open_.size()), std::move(message), at});
}

Parsed Tree::finish() && {
  if (!faults_.empty()) return tl::unexpected(std::move(faults_));
  return std::move(root_);
}

bool Tree::start(Value value, Mark at) {
  if (is_too_deep(open_.size() + 1, at) || !count(1, at)) return false;
  value.set_mark(at);
  open_.push_back({std::move(value)});
  return true;
}

bool Tree::is_too_deep(std::size_t depth, Mark at) {
  if (depth <= bounds_.depth) return false;
  fault("is nested deeper than " + std::to_string(bounds_.depth) + " levels; make it flatter", known(at));
  return true;
}

bool Tree::count(std::size_t nodes, Mark at) {
  if (nodes > bounds_.nodes - nodes_) {
    fault("has more than " + std::to_string(bounds_.nodes) + " values; split it", known(at));
    return false;
  }
  nodes_ += nodes;
  return true;
}

const Value& Tree::place(Value value) {
  if (open_.empty()) return root_ = std::move(value);
  Open& top = open_.back();
  if (auto* list = top.value.as<Value::List>()) return list->emplace_back(std::move(value));
  top.has_key = false;
  return top.value.as<Value::Map>()->emplace_back(Entry{std::move(top.key), std::move(value), top.key_at}).value;
}

void Tree::find_twins(const Value::Map& map) {
  std::vector<const Entry*> entries;
  entries.reserve(map.size());
  for (const Entry& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(),
            [](const Entry* a, const Entry* b) { return a->key != b->key ? a->key < b->key : a < b; });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const Entry& first = *entries[i - 1];
    const Entry& second = *entries[i];
    if (first.key != second.key) continue;
    if (faults_.is_full()) {
      faults_.add({});
      continue;
    }
    open_.back().key = second.key;
    open_.back().has_key = true;
    const bool has_lines = first.key_at.line != 0;
    fault(has_lines ? "is given twice, in line " + std::to_string(first.key_at.line) + " and in line " +
                          std::to_string(second.key_at.line) + "; remove one"
                    : "is given twice; remove one",
          known(second.key_at));
  }
}

std::string Tree::path(std::size_t frames) const {
  std::vector<std::pair<std::string_view, std::size_t>> steps;
  for (std::size_t i = 0; i < frames; ++i) {
    const Open& open = open_[i];
    if (const auto* list = open.value.as<Value::List>()) {
      steps.emplace_back(std::string_view(), list->size());
    } else if (open.has_key) {
      steps.emplace_back(open.key, 0);
    }
  }
  return path_from(Path(), steps, 0);
}

}  // namespace cadre::describe
