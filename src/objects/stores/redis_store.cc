#include "objects/stores/redis_store.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "loop/random_word.h"
#include "objects/hash.h"
#include "objects/key.h"
#include "objects/stores/redis_scripts.h"
#include "objects/stores/redis_sessions.h"

namespace cadre::objects {

using net::redis::Reply;
using net::redis::RespArray;

namespace {

constexpr std::int64_t piece_bytes = 1 << 20;     // as much as a link takes in one reply
constexpr const char* upload_ttl_ms = "3600000";  // without another piece
constexpr std::size_t upload_id_length = 24;

Failure unexpected_reply() {
  return fail(Errc::corrupt, "unexpected reply from Redis; check whether another program writes to these keys");
}

std::optional<std::int64_t> number_in(const Reply& reply) {
  const std::string* text = reply.text();
  std::int64_t number = 0;
  if (text == nullptr) return std::nullopt;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), number);
  return problem == std::errc() && end == text->data() + text->size() ? std::optional(number) : std::nullopt;
}

class RedisStore final : public Store {
 public:
  RedisStore(const RedisStoreConfig& config, net::redis::RedisUrl url, const StoreOptions& options)
      : prefix_(config.prefix),
        bytes_max_(config.object_bytes_max.value),
        sessions_(std::move(url), config.timeout, options) {}

 private:
  struct Known {
    Digest digest;
    std::string upload;
    std::int64_t piece = 0;  ///< bytes of each but the last
  };

  std::int64_t object_bytes_max() const override { return bytes_max_; }
  Result<Digest> find(const std::string& key) override {
    TRY_ASSIGN(known, known_of(key));
    return known.digest;
  }
  Result<void> write(const std::string& key, CheckedSource& content) override;
  Result<void> fetch(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink) override;
  Result<ObjectPage> list_page(const std::string& prefix, const std::string& after, std::size_t limit) override;
  Result<void> erase(const std::string& key) override;
  Result<void> clean_up() override { return {}; }  // Redis does

  std::string object_of(const std::string& key) const { return prefix_ + "o:" + key; }
  std::string upload_of(const std::string& id) const { return prefix_ + "u:" + id; }
  std::string index() const { return prefix_ + "index"; }
  Result<Known> known_of(const std::string& key);
  Result<std::int64_t> ask_number(const RedisSessions::Words& words);

  const std::string prefix_;
  const std::int64_t bytes_max_;
  RedisSessions sessions_;
};

Result<RedisStore::Known> RedisStore::known_of(const std::string& key) {
  TRY_ASSIGN(reply, sessions_.ask({"HMGET", object_of(key), "upload", "sha256", "size", "piece"}));
  const RespArray* fields = reply.array();
  if (fields == nullptr || fields->size() != 4) return unexpected_reply();
  const std::string* upload = fields->at(0).text();
  const std::string* hash = fields->at(1).text();
  if (upload == nullptr) return fail(Errc::not_found, "there is no object " + shown_key(key));
  const std::optional<std::int64_t> size = number_in(fields->at(2));
  const std::optional<std::int64_t> piece = number_in(fields->at(3));
  if (hash == nullptr || !is_hash(*hash) || !size || *size < 0 || !piece || *piece < 1) return unexpected_reply();
  return Known{{*size, *hash}, *upload, *piece};
}

Result<std::int64_t> RedisStore::ask_number(const RedisSessions::Words& words) {
  TRY_ASSIGN(reply, sessions_.ask(words));
  const std::int64_t* number = reply.number();
  if (number == nullptr) return unexpected_reply();
  return *number;
}

Result<void> RedisStore::write(const std::string& key, CheckedSource& content) {
  const std::string id = loop::random_word(upload_id_length);
  Bytes buffer(static_cast<std::size_t>(std::min(piece_bytes, content.left())));
  std::int64_t pieces = 0;
  while (content.left() > 0) {
    TRY_ASSIGN(size, content.read(buffer));
    TRY(ask_number({"EVAL", redis_scripts::piece, "1", upload_of(id), std::to_string(pieces),
                    std::string(as_text(BytesView(buffer).first(size))), upload_ttl_ms}));
    ++pieces;
  }
  const Digest& digest = content.digest();
  TRY_ASSIGN(appeared,
             ask_number({"EVAL", redis_scripts::appear, "3", object_of(key), upload_of(id), index(), id, digest.sha256,
                         std::to_string(digest.size), std::to_string(pieces), std::to_string(piece_bytes), key}));
  if (appeared == 1) return {};
  if (appeared == 0) {
    TRY_ASSIGN(there, find(key));
    TRY(check_same(key, there, digest));
    return {};
  }
  return fail(Errc::unavailable, "Redis has lost a part of the upload of " + shown_key(key) +
                                     "; check that its maxmemory-policy is noeviction, then repeat it");
}

Result<void> RedisStore::fetch(const std::string& key, const Digest& digest, ByteRange range, const ByteSink& sink) {
  TRY_ASSIGN(known, known_of(key));
  TRY(check_same(key, known.digest, digest));  // it may have been replaced meanwhile
  while (range.size > 0) {
    const std::int64_t number = range.offset / known.piece;
    TRY_ASSIGN(reply, sessions_.ask({"HMGET", upload_of(known.upload), std::to_string(number)}));
    const RespArray* fields = reply.array();
    const std::string* piece = fields == nullptr || fields->size() != 1 ? nullptr : fields->front().text();
    const std::int64_t begin = range.offset - number * known.piece;
    if (piece == nullptr || std::ssize(*piece) != std::min(known.piece, digest.size - number * known.piece)) {
      TRY(known_of(key));  // it may have been removed meanwhile
      return fail(Errc::corrupt, "a part of the object " + shown_key(key) +
                                     " is missing or damaged in Redis; check that its maxmemory-policy is noeviction");
    }
    const std::int64_t size = std::min(range.size, std::ssize(*piece) - begin);
    TRY(sink(as_bytes(*piece).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(size))));
    range.offset += size;
    range.size -= size;
  }
  return {};
}

/// Keys are UTF-8, which has no byte 255.
Result<ObjectPage> RedisStore::list_page(const std::string& prefix, const std::string& after, std::size_t limit) {
  const std::string first = after < prefix ? "[" + prefix : "(" + after;
  TRY_ASSIGN(reply, sessions_.ask({"EVAL", redis_scripts::list, "1", index(), first, "(" + prefix + "\xff",
                                   std::to_string(limit), object_of("")}));
  const RespArray* found = reply.array();
  if (found == nullptr || found->size() % 2 != 0 || found->size() > 2 * limit) return unexpected_reply();
  ObjectPage page;
  for (std::size_t i = 0; i < found->size(); i += 2) {
    const std::string* key = found->at(i).text();
    const std::optional<std::int64_t> size = number_in(found->at(i + 1));
    if (key == nullptr || !key->starts_with(prefix) || !size) return unexpected_reply();
    if (*size >= 0) page.objects.push_back({*key, *size});
    if (i + 2 == 2 * limit) page.next = *key;
  }
  return page;
}

Result<void> RedisStore::erase(const std::string& key) {
  TRY(ask_number({"EVAL", redis_scripts::remove, "2", object_of(key), index(), key, upload_of("")}));
  return {};
}

}  // namespace

Result<std::unique_ptr<Store>> open_redis_store(const RedisStoreConfig& config, const StoreOptions& options) {
  Result<net::redis::RedisUrl> url = net::redis::parse_redis_url(config.url.text);
  if (!url) return fail(Errc::invalid, "the URL of the Redis store is invalid: " + url.error().message);
  return std::make_unique<RedisStore>(config, *std::move(url), options);
}

}  // namespace cadre::objects
