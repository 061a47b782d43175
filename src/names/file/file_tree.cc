#include "names/file/file_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "loop/file.h"
#include "names/backend.h"

namespace cadre::names {

namespace {

constexpr Duration half_written_wait = std::chrono::seconds(10);
constexpr int attempts_max = 200;             // to be first at a key that many want
constexpr std::size_t small_value_max = 256;  // bytes of a value that need not be read again

Failure too_many(const std::string& key) {
  return fail(Errc::unavailable, "too many change the name " + key + " at once; try again");
}

Result<void> write_file(const std::string& path, std::string_view content) {
  TRY_ASSIGN(file, loop::File::open(path, O_WRONLY | O_CREAT | O_EXCL));
  TRY(file.write(as_bytes(content)));
  return file.finish();
}

/// Of ROOM/SESSION.SERIAL.
std::string_view session_of(std::string_view file) {
  file.remove_prefix(file.find('/') + 1);
  return file.substr(0, file.find('.'));
}

}  // namespace

FileTree::FileTree(FileTreeOptions options, Pulses::Clock clock)
    : options_(std::move(options)),
      clock_(clock),
      layout_(options_.folder),
      pulses_(layout_, options_.session, std::move(clock)) {}

Result<void> FileTree::begin() {
  pulses_.look_again();
  return layout_.ensure();
}

bool FileTree::has_owner(const Mark& mark) {
  return mark.kind == Mark::Kind::owned && pulses_.is_alive(mark.session, mark.ttl);
}

Result<Mark> FileTree::write_value(const Claim& claim) {
  Mark mark;
  mark.session = options_.session;
  mark.serial = ++serial_;
  mark.ttl = claim.ttl;
  TRY(as_lost(pulses_.begin(claim.ttl)));
  TRY(as_lost(write_file(layout_.value_path(mark), claim.value)));
  return mark;
}

Result<bool> FileTree::place(const std::string& key, const std::optional<Mark>& seen, const Mark& mark) {
  TRY_ASSIGN(placed, seen ? layout_.replace(key, *seen, mark) : layout_.create(key, mark));
  if (placed && seen && seen->kind == Mark::Kind::owned) ::unlink(layout_.value_path(*seen).c_str());
  return placed;
}

Result<bool> FileTree::end_mark(const std::string& key, const Mark& seen, Mark::Kind how) {
  Mark ended;
  ended.kind = how;
  ended.epoch = seen.epoch;
  return place(key, seen, ended);
}

Result<Epoch> FileTree::put(const Claim& claim, PutMode mode) {
  TRY(begin());
  TRY_ASSIGN(mark, write_value(claim));
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    TRY_ASSIGN(seen, layout_.look(claim.key));
    if (seen && mode == PutMode::only_if_absent && !is_ours(*seen) && has_owner(*seen)) {
      ::unlink(layout_.value_path(mark).c_str());
      return fail(Errc::conflict, "the name " + claim.key + " already exists");
    }
    if (seen && is_ours(*seen)) {
      mark.epoch = seen->epoch;
    } else if (!seen || mark.epoch <= seen->epoch) {
      TRY_ASSIGN(epoch, layout_.next_epoch(std::max(mark.epoch, seen ? seen->epoch : 0)));
      mark.epoch = epoch;
    }
    TRY_ASSIGN(placed, place(claim.key, seen, mark));
    if (placed) return Epoch{mark.epoch};
    pulses_.look_again();
  }
  ::unlink(layout_.value_path(mark).c_str());
  return too_many(claim.key);
}

Result<Hold> FileTree::hold_of(const Claim& claim) {
  TRY_ASSIGN(seen, layout_.look(claim.key));
  if (!seen) return Hold::gone;
  if (is_ours(*seen)) {
    const bool is_whole = ::access(layout_.value_path(*seen).c_str(), F_OK) == 0;
    return seen->epoch == claim.epoch.value && is_whole ? Hold::kept : Hold::gone;
  }
  const bool ran_out = seen->kind == Mark::Kind::expired && seen->epoch == claim.epoch.value;
  return ran_out ? Hold::gone : Hold::lost;
}

Result<std::vector<Hold>> FileTree::keep(const std::vector<Claim>& claims) {
  TRY(begin());
  Duration ttl{};
  for (const Claim& claim : claims) ttl = std::max(ttl, claim.ttl);
  TRY(as_lost(pulses_.beat(ttl)));
  std::vector<Hold> holds;
  for (const Claim& claim : claims) {
    TRY_ASSIGN(hold, hold_of(claim));
    holds.push_back(hold);
  }
  return holds;
}

Result<Epoch> FileTree::restore(const Claim& claim) {
  TRY(begin());
  TRY_ASSIGN(mark, write_value(claim));
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    TRY_ASSIGN(seen, layout_.look(claim.key));
    TRY_ASSIGN(hold, hold_of(claim));
    const bool is_there = seen && is_ours(*seen) && ::access(layout_.value_path(*seen).c_str(), F_OK) == 0;
    if (hold == Hold::lost || is_there) {
      ::unlink(layout_.value_path(mark).c_str());
      if (is_there) return Epoch{seen->epoch};
      return fail(Errc::conflict, "the name " + claim.key + " was taken over by another process, or removed");
    }
    if (seen) {
      mark.epoch = seen->epoch;
    } else {  // nobody knows any more who had it since
      TRY_ASSIGN(epoch, layout_.next_epoch(claim.epoch.value));
      mark.epoch = epoch;
    }
    TRY_ASSIGN(placed, place(claim.key, seen, mark));
    if (placed) return Epoch{mark.epoch};
  }
  ::unlink(layout_.value_path(mark).c_str());
  return too_many(claim.key);
}

Result<std::optional<std::string>> FileTree::value_of(const std::string& key, const Mark& mark) {
  const auto known = small_values_.find(key);
  if (known != small_values_.end() && known->second.first == mark.name()) return known->second.second;
  Result<std::string> value = loop::read_file(layout_.value_path(mark));
  if (!value && value.error().code == Errc::not_found) return std::nullopt;
  if (!value) return fail(Errc::unavailable, std::move(value).error().message);
  if (value->size() <= small_value_max && small_values_.size() < options_.listed_max) {
    small_values_[key] = {mark.name(), *value};
  }
  return *std::move(value);
}

Result<std::optional<Entry>> FileTree::read(const std::string& key) {
  std::optional<Mark> before;
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    TRY_ASSIGN(seen, layout_.look(key));
    if (!seen || seen->kind != Mark::Kind::owned) {
      small_values_.erase(key);
      return std::nullopt;
    }
    if (!has_owner(*seen)) {
      TRY(end_mark(key, *seen, Mark::Kind::expired));
      continue;
    }
    TRY_ASSIGN(value, value_of(key, *seen));
    if (value) return Entry{key, *std::move(value), Epoch{seen->epoch}};
    if (before == seen) return std::nullopt;  // its owner has not seen yet that it is missing
    before = seen;
  }
  return too_many(key);
}

Result<Entry> FileTree::get(const std::string& key) {
  TRY(begin());
  TRY_ASSIGN(entry, read(key));
  if (!entry) return nobody_has(key);
  return *std::move(entry);
}

Result<std::vector<std::string>> FileTree::keys_below(const std::string& prefix) const {
  TRY_ASSIGN(keys, names_in(layout_.path("keys")));
  for (std::string& key : keys) key = Layout::key_of(key);
  std::erase_if(keys, [&](const std::string& key) { return !is_below(key, prefix) || !check_key(key); });
  std::sort(keys.begin(), keys.end());
  return keys;
}

Result<std::vector<Entry>> FileTree::list(const std::string& prefix) {
  TRY(begin());
  if (clock_() >= next_sweep_) TRY(sweep());
  TRY_ASSIGN(keys, keys_below(prefix));
  std::vector<Entry> entries;
  for (const std::string& key : keys) {
    TRY_ASSIGN(entry, read(key));
    if (entry) entries.push_back(*std::move(entry));
    if (entries.size() > options_.listed_max) {
      return fail(Errc::unavailable, "there are more than " + std::to_string(options_.listed_max) + " names below '" +
                                         prefix + "'; ask for a longer prefix");
    }
  }
  return entries;
}

Result<void> FileTree::remove(const std::string& key) {
  TRY(begin());
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    TRY_ASSIGN(seen, layout_.look(key));
    if (!seen || seen->kind != Mark::Kind::owned) return nobody_has(key);
    const bool had_owner = has_owner(*seen);
    TRY_ASSIGN(ended, end_mark(key, *seen, had_owner ? Mark::Kind::removed : Mark::Kind::expired));
    if (!ended) continue;
    if (!had_owner) return nobody_has(key);
    return {};
  }
  return too_many(key);
}

Result<std::size_t> FileTree::remove_subtree(const std::string& prefix) {
  TRY(begin());
  TRY_ASSIGN(keys, keys_below(prefix));
  std::size_t removed = 0;
  for (const std::string& key : keys) {
    Result<void> one = remove(key);
    if (one) ++removed;
    if (!one && one.error().code != Errc::not_found) return Failure(std::move(one).error());
  }
  return removed;
}

Result<void> FileTree::release(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    TRY_ASSIGN(seen, layout_.look(key));
    if (seen && is_ours(*seen)) TRY(end_mark(key, *seen, Mark::Kind::removed));
  }
  return {};
}

Result<void> FileTree::end() {
  pulses_.end();
  return {};
}

/// Removes entries without an owner, then the remains of dead sessions. Files are listed before sessions, because a
/// session writes its heartbeat before its first file.
Result<void> FileTree::sweep() {
  next_sweep_ = clock_() + options_.sweep_wait;
  TRY_ASSIGN(present, layout_.server_time());
  TRY(sweep_keys(present));
  std::vector<std::string> files;
  for (const std::string room : {"values/", "new/"}) {
    TRY_ASSIGN(names, names_in(layout_.path(room)));
    std::erase_if(names, [](const std::string& name) { return name.find('.') == std::string::npos; });
    for (const std::string& name : names) files.push_back(room + name);
  }
  pulses_.look_again();
  TRY_ASSIGN(dead, pulses_.dead());
  TRY_ASSIGN(sessions, names_in(layout_.path("alive")));
  std::set<std::string_view> living(sessions.begin(), sessions.end());
  for (const std::string& session : dead) living.erase(session);
  living.insert(options_.session);
  for (const std::string& file : files) {
    if (!living.contains(session_of(file))) TRY(as_lost(loop::remove_all(layout_.path(file))));
  }
  for (const std::string& session : dead) ::unlink(layout_.path("alive/" + session).c_str());
  for (const std::string& name : sessions) {  // left by a process that was killed while it wrote
    if (name.find('.') == std::string::npos) continue;
    const std::string path = layout_.path("alive/" + name);
    const auto changed = changed_at(path);
    if (changed && present - *changed > half_written_wait) ::unlink(path.c_str());
  }
  return {};
}

Result<void> FileTree::sweep_keys(Duration present) {
  TRY_ASSIGN(keys, keys_below(""));
  for (const std::string& key : keys) {
    TRY_ASSIGN(seen, layout_.look(key));
    if (seen && seen->kind == Mark::Kind::owned) {
      if (!has_owner(*seen)) TRY(end_mark(key, *seen, Mark::Kind::expired));
      continue;
    }
    const auto changed = changed_at(layout_.path("keys/" + Layout::name_of(key)));
    if (seen && changed && present - *changed > options_.ended_wait) layout_.forget(key, *seen);
  }
  return {};
}

}  // namespace cadre::names
