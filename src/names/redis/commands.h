/// What we say to Redis about names, and how its answers are read. A core; one thread at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "names/entry.h"
#include "names/url.h"
#include "net/redis/resp.h"

namespace cadre::names {

using net::redis::Reply;

/// A part of the index, as Redis takes it.
struct RedisRange {
  std::string first;
  std::string last;
};
[[nodiscard]] std::vector<RedisRange> ranges_below(const std::string& prefix);

/// Commands of one session.
class RedisCommands {
 public:
  using Words = std::vector<std::string>;

  RedisCommands(const RedisUrl& url, std::string session) : url_(url), session_(std::move(session)) {}

  /// The epoch will be larger than the largest one that we know of.
  Words put(const Claim& claim, PutMode mode, Epoch largest) const;
  Words restore(const Claim& claim) const;
  Words keep(std::span<const Claim> claims) const;
  Words get(const std::string& key) const;
  /// The next page of what is in the range.
  Words list(const RedisRange& range) const;
  enum class Whose : std::uint8_t { anybodys, own };
  Words remove(std::span<const std::string> keys, Whose whose) const;

  /// Where each change is told by its key.
  std::string channel() const { return url_.prefix + "changes:" + std::to_string(url_.db); }

 private:
  std::string hash_of(const std::string& key) const { return url_.prefix + "k:" + key; }
  std::string mark_of(const std::string& key) const { return url_.prefix + "m:" + key; }
  std::string index() const { return url_.prefix + "index"; }
  std::string counter() const { return url_.prefix + "epoch"; }
  Words claim_by(const char* script, const Claim& claim, const std::string& first, const std::string& second) const;

  const RedisUrl url_;
  const std::string session_;
};

/// What is said to put and restore. `conflict` when another has it, for which there are words.
[[nodiscard]] Result<Epoch> read_epoch(const Reply& reply, const std::string& why_not);
[[nodiscard]] Result<void> read_holds(const Reply& reply, std::size_t count, std::vector<Hold>& holds);
[[nodiscard]] Result<Entry> read_entry(const Reply& reply, const std::string& key);
[[nodiscard]] Result<std::size_t> read_count(const Reply& reply);

struct Listed {
  std::vector<Entry> entries;
  Duration left = Duration::max();  ///< until the first of them runs out
};
/// Appends a page; gives where the next one begins, if there is one.
[[nodiscard]] Result<std::optional<std::string>> read_page(const Reply& reply, Listed& listed);

}  // namespace cadre::names
