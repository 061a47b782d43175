/// What Redis does for us in one step, in its own language. An entry is a hash, with the session (s), the epoch (e) and
/// the value (v), that runs out by itself; its mark, which outlives it for a while, is the last epoch of its key, or a
/// later one when it was removed. An index in the order of keys makes lists cheap. Values; safe on any thread.
#pragma once

namespace cadre::names::scripts {

/// KEYS hash mark index counter; ARGV session value ttl_ms mode floor mark_ms channel key. The epoch, or nothing when
/// another has it. The time of day keeps epochs growing when the server has lost everything.
constexpr const char* put = R"(
local had = redis.call('HMGET', KEYS[1], 's', 'e', 'v')
if had[1] == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  if had[3] ~= ARGV[2] then
    redis.call('HSET', KEYS[1], 'v', ARGV[2])
    redis.call('PUBLISH', ARGV[7], ARGV[8])
  end
  return had[2]
end
if had[1] and ARGV[4] == 'absent' then return false end
local time = redis.call('TIME')
local last = math.max(tonumber(redis.call('GET', KEYS[4]) or '0'), tonumber(ARGV[5]), time[1] * 1000000 + time[2])
local epoch = string.format('%.0f', last + 1)
redis.call('SET', KEYS[4], epoch)
redis.call('HSET', KEYS[1], 's', ARGV[1], 'e', epoch, 'v', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], epoch, 'PX', ARGV[6])
redis.call('ZADD', KEYS[3], 0, ARGV[8])
redis.call('PUBLISH', ARGV[7], ARGV[8])
return epoch
)";

/// KEYS hash mark, for each; ARGV session mark_ms, then epoch ttl_ms for each. 0 kept, 1 gone, 2 lost, for each.
constexpr const char* keep = R"(
local holds = {}
for i = 1, #KEYS / 2 do
  local hash, mark, epoch, ttl = KEYS[2 * i - 1], KEYS[2 * i], ARGV[2 * i + 1], ARGV[2 * i + 2]
  local had = redis.call('HMGET', hash, 's', 'e')
  if had[1] == ARGV[1] and had[2] == epoch then
    redis.call('PEXPIRE', hash, ttl)
    redis.call('PEXPIRE', mark, ARGV[2])
    holds[i] = 0
  elseif had[1] then
    holds[i] = (had[1] == ARGV[1] or tonumber(had[2]) < tonumber(epoch)) and 1 or 2
  else
    local last = redis.call('GET', mark)
    holds[i] = (not last or last == epoch) and 1 or 2
  end
end
return holds
)";

/// KEYS hash mark index counter; ARGV session value ttl_ms epoch - mark_ms channel key. The epoch, or nothing when it
/// is lost. Of those who say that they had it before the server lost everything, the last one is right.
constexpr const char* restore = R"(
local had = redis.call('HMGET', KEYS[1], 's', 'e')
if had[1] == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return had[2]
end
if had[1] and tonumber(had[2]) >= tonumber(ARGV[4]) then return false end
local last = redis.call('GET', KEYS[2])
if not had[1] and last and last ~= ARGV[4] then return false end
if tonumber(redis.call('GET', KEYS[4]) or '0') < tonumber(ARGV[4]) then redis.call('SET', KEYS[4], ARGV[4]) end
redis.call('HSET', KEYS[1], 's', ARGV[1], 'e', ARGV[4], 'v', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[6])
redis.call('ZADD', KEYS[3], 0, ARGV[8])
redis.call('PUBLISH', ARGV[7], ARGV[8])
return ARGV[4]
)";

/// KEYS index; ARGV first last count hashes. Of the next keys: how many, the last of them, and key, value, epoch and
/// milliseconds left of each that has not run out.
constexpr const char* list = R"(
local keys = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local found = {}
for _, key in ipairs(keys) do
  local had = redis.call('HMGET', ARGV[4] .. key, 'v', 'e')
  if had[2] then
    found[#found + 1] = key
    found[#found + 1] = had[1]
    found[#found + 1] = had[2]
    found[#found + 1] = redis.call('PTTL', ARGV[4] .. key)
  else
    redis.call('ZREM', KEYS[1], key)
  end
end
return {#keys, keys[#keys] or '', found}
)";

/// KEYS index counter, then hash mark for each; ARGV session mark_ms channel, then key for each. With a session only
/// what is its own. How many there were.
constexpr const char* remove = R"(
local removed = 0
for i = 1, (#KEYS - 2) / 2 do
  local hash, mark, key = KEYS[2 * i + 1], KEYS[2 * i + 2], ARGV[i + 3]
  local had = redis.call('HMGET', hash, 's', 'e')
  if not had[1] then
    redis.call('ZREM', KEYS[1], key)
  elseif ARGV[1] == '' or had[1] == ARGV[1] then
    local last = math.max(tonumber(redis.call('GET', KEYS[2]) or '0'), tonumber(had[2]))
    local epoch = string.format('%.0f', last + 1)
    redis.call('SET', KEYS[2], epoch)
    redis.call('SET', mark, epoch, 'PX', ARGV[2])
    redis.call('DEL', hash)
    redis.call('ZREM', KEYS[1], key)
    redis.call('PUBLISH', ARGV[3], key)
    removed = removed + 1
  end
end
return removed
)";

}  // namespace cadre::names::scripts
