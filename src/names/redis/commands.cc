#include "names/redis/commands.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "names/backend.h"
#include "names/redis/scripts.h"

namespace cadre::names {

namespace {

using net::redis::RespArray;
using net::redis::RespNull;

constexpr std::size_t page_max = 64;                    // entries that the server lists in one step
constexpr Duration mark_wait = std::chrono::hours(48);  // longer than any TTL

std::string milliseconds_of(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

std::optional<Epoch> epoch_of(const Reply& reply) {
  Epoch epoch;
  const std::string* text = reply.text();
  if (text == nullptr) return std::nullopt;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), epoch.value);
  return problem == std::errc() && end == text->data() + text->size() ? std::optional(epoch) : std::nullopt;
}

Failure unexpected() {
  return fail(Errc::corrupt, "unexpected reply from Redis; check whether another program writes to these keys");
}

}  // namespace

/// The key itself and what stands below it are two, with others between them. `0` follows `/`.
std::vector<RedisRange> ranges_below(const std::string& prefix) {
  if (prefix.empty()) return {{"-", "+"}};
  return {{"[" + prefix, "[" + prefix}, {"[" + prefix + "/", "(" + prefix + "0"}};
}

RedisCommands::Words RedisCommands::claim_by(const char* script, const Claim& claim, const std::string& first,
                                             const std::string& second) const {
  return {"EVAL",
          script,
          "4",
          hash_of(claim.key),
          mark_of(claim.key),
          index(),
          counter(),
          session_,
          claim.value,
          milliseconds_of(claim.ttl),
          first,
          second,
          milliseconds_of(mark_wait),
          channel(),
          claim.key};
}

RedisCommands::Words RedisCommands::put(const Claim& claim, PutMode mode, Epoch largest) const {
  const std::string word = mode == PutMode::only_if_absent ? "absent" : "over";
  return claim_by(scripts::put, claim, word, std::to_string(largest.value));
}

RedisCommands::Words RedisCommands::restore(const Claim& claim) const {
  return claim_by(scripts::restore, claim, std::to_string(claim.epoch.value), "");
}

RedisCommands::Words RedisCommands::keep(std::span<const Claim> claims) const {
  Words words{"EVAL", scripts::keep, std::to_string(2 * claims.size())};
  for (const Claim& claim : claims) words.insert(words.end(), {hash_of(claim.key), mark_of(claim.key)});
  words.insert(words.end(), {session_, milliseconds_of(mark_wait)});
  for (const Claim& claim : claims) {
    words.insert(words.end(), {std::to_string(claim.epoch.value), milliseconds_of(claim.ttl)});
  }
  return words;
}

RedisCommands::Words RedisCommands::get(const std::string& key) const { return {"HMGET", hash_of(key), "v", "e"}; }

RedisCommands::Words RedisCommands::list(const RedisRange& range) const {
  return {"EVAL", scripts::list, "1", index(), range.first, range.last, std::to_string(page_max), hash_of("")};
}

RedisCommands::Words RedisCommands::remove(std::span<const std::string> keys, Whose whose) const {
  Words words{"EVAL", scripts::remove, std::to_string(2 * keys.size() + 2), index(), counter()};
  for (const std::string& key : keys) words.insert(words.end(), {hash_of(key), mark_of(key)});
  words.insert(words.end(), {whose == Whose::own ? session_ : "", milliseconds_of(mark_wait), channel()});
  words.insert(words.end(), keys.begin(), keys.end());
  return words;
}

Result<Epoch> read_epoch(const Reply& reply, const std::string& why_not) {
  if (std::holds_alternative<RespNull>(reply.value)) return fail(Errc::conflict, why_not);
  const std::optional<Epoch> epoch = epoch_of(reply);
  if (!epoch) return unexpected();
  return *epoch;
}

Result<void> read_holds(const Reply& reply, std::size_t count, std::vector<Hold>& holds) {
  const RespArray* each = reply.array();
  if (each == nullptr || each->size() != count) return unexpected();
  for (const Reply& one : *each) {
    const std::int64_t* number = one.number();
    if (number == nullptr || *number < 0 || *number > 2) return unexpected();
    holds.push_back(static_cast<Hold>(*number));
  }
  return {};
}

Result<Entry> read_entry(const Reply& reply, const std::string& key) {
  const RespArray* each = reply.array();
  if (each == nullptr || each->size() != 2) return unexpected();
  if (std::holds_alternative<RespNull>(each->at(1).value)) return nobody_has(key);
  const std::string* value = each->at(0).text();
  const std::optional<Epoch> epoch = epoch_of(each->at(1));
  if (!epoch || value == nullptr) return unexpected();
  return Entry{key, *value, *epoch};
}

Result<std::size_t> read_count(const Reply& reply) {
  const std::int64_t* number = reply.number();
  if (number == nullptr || *number < 0) return unexpected();
  return static_cast<std::size_t>(*number);
}

Result<std::optional<std::string>> read_page(const Reply& reply, Listed& listed) {
  const RespArray* page = reply.array();
  if (page == nullptr || page->size() != 3) return unexpected();
  const std::int64_t* count = page->at(0).number();
  const std::string* last = page->at(1).text();
  const RespArray* found = page->at(2).array();
  if (count == nullptr || last == nullptr || found == nullptr || found->size() % 4 != 0) return unexpected();
  for (std::size_t i = 0; i < found->size(); i += 4) {
    const std::string* key = found->at(i).text();
    const std::string* value = found->at(i + 1).text();
    const std::optional<Epoch> epoch = epoch_of(found->at(i + 2));
    const std::int64_t* left_ms = found->at(i + 3).number();
    if (key == nullptr || value == nullptr || !epoch || left_ms == nullptr) return unexpected();
    listed.entries.push_back({*key, *value, *epoch});
    const Duration left = std::chrono::milliseconds(std::clamp<std::int64_t>(*left_ms, 0, 100'000'000));
    listed.left = std::min(listed.left, left);
  }
  if (*count < static_cast<std::int64_t>(page_max)) return std::nullopt;
  return "(" + *last;
}

}  // namespace cadre::names
