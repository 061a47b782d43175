/// What Redis does in one step for a store of objects, in its own language. Each script has the same effect when it
/// runs twice. Values; safe on any thread.
#pragma once

namespace cadre::objects::redis_scripts {

/// KEYS upload; ARGV number bytes ttl_ms.
constexpr const char* piece = R"(
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
)";

/// KEYS object upload index; ARGV id sha256 size pieces piece_bytes key. 1: the object is this one; 0: another one is
/// there; -1: pieces are missing.
constexpr const char* appear = R"(
local had = redis.call('HMGET', KEYS[1], 'upload', 'sha256', 'size')
if had[1] == ARGV[1] then return 1 end
if had[1] then
  redis.call('UNLINK', KEYS[2])
  return (had[2] == ARGV[2] and had[3] == ARGV[3]) and 1 or 0
end
if redis.call('HLEN', KEYS[2]) ~= tonumber(ARGV[4]) then return -1 end
redis.call('PERSIST', KEYS[2])
redis.call('HSET', KEYS[1], 'upload', ARGV[1], 'sha256', ARGV[2], 'size', ARGV[3], 'piece', ARGV[5])
redis.call('ZADD', KEYS[3], 0, ARGV[6])
return 1
)";

/// KEYS object index; ARGV key uploads.
constexpr const char* remove = R"(
local had = redis.call('HMGET', KEYS[1], 'upload')
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[1])
if had[1] then redis.call('UNLINK', ARGV[2] .. had[1]) end
return 1
)";

/// KEYS index; ARGV first last count objects. Key and size of each.
constexpr const char* list = R"(
local keys = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local found = {}
for _, key in ipairs(keys) do
  found[#found + 1] = key
  found[#found + 1] = redis.call('HMGET', ARGV[4] .. key, 'size')[1] or '-1'
end
return found
)";

}  // namespace cadre::objects::redis_scripts
