#include "gateway/change_feed.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>

#include "base/hash.h"

namespace cadre::gateway {

using api::ChangeRow;

std::string to_string(const Cursor& cursor) {
  std::array<char, 17> sight{};
  std::snprintf(sight.data(), sight.size(), "%016" PRIx64, cursor.sight);
  return std::to_string(cursor.seq) + "-" + sight.data();
}

std::optional<Cursor> parse_cursor(std::string_view text) {
  Cursor cursor;
  const char* const end = text.data() + text.size();
  const auto seq = std::from_chars(text.data(), end, cursor.seq);
  if (seq.ec != std::errc() || seq.ptr == end || *seq.ptr != '-') return std::nullopt;
  const auto sight = std::from_chars(seq.ptr + 1, end, cursor.sight, 16);
  if (sight.ec != std::errc() || sight.ptr != end) return std::nullopt;
  return cursor;
}

std::uint64_t sight_of(const access::UserView& user) {
  std::uint64_t hash = fnv1a(user.is_admin ? "all" : "some");
  if (user.is_admin) return hash;
  for (const auto& [workspace, role] : user.workspaces) hash = fnv1a(workspace, fnv1a("/", hash));
  return hash;
}

ChangeFeed::ChangeFeed(std::uint64_t last, const std::vector<ChangeRow>& kept)
    : rows_(kept.begin(), kept.end()), forgotten_(kept.empty() ? last : kept.front().number - 1), last_(last) {
  forget_oldest();
}

void ChangeFeed::forget_oldest() {
  while (rows_.size() > kept_max) {
    forgotten_ = rows_.front().number;
    rows_.pop_front();
  }
}

void ChangeFeed::add(const std::vector<ChangeRow>& changes) {
  for (const ChangeRow& row : changes) {
    if (row.number <= last_) continue;
    last_ = row.number;
    rows_.push_back(row);
  }
  forget_oldest();
  for (News* one : waiting_) one->wake();
}

std::vector<ChangeRow> ChangeFeed::after(std::uint64_t seq, std::size_t most) const {
  const auto from = std::upper_bound(rows_.begin(), rows_.end(), seq,
                                     [](std::uint64_t a, const ChangeRow& b) { return a < b.number; });
  const auto count = std::min<std::size_t>(most, static_cast<std::size_t>(rows_.end() - from));
  return {from, from + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace cadre::gateway
