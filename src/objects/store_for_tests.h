/// For tests: each kind of store in a place of its own, and short ways to use one. One thread at a time for each place.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dice.h"
#include "net/redis/redis_tls_for_tests.h"
#include "objects/hash.h"
#include "objects/store.h"
#include "tests/servers/redis.h"
#include "tests/servers/results.h"
#include "tests/servers/s3.h"
#include "tests/servers/scratch.h"
#include "tests/servers/webhdfs.h"

namespace cadre::objects {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum class StoreKind { memory, file, redis, redis_tls, s3, webhdfs };

/// Faults of tests do not pass by themselves.
inline StoreOptions impatient() {
  StoreOptions options;
  options.attempts_max = 3;
  options.backoff_first = milliseconds(5);
  options.backoff_max = milliseconds(20);
  return options;
}

inline S3StoreConfig s3_config(const servers::S3Server& server, const std::string& prefix) {
  S3StoreConfig config;
  config.bucket = server.bucket();
  config.endpoint = server.url();
  config.access_key = server.access_key();
  config.secret_key = {std::string(server.secret_key())};
  config.prefix = prefix;
  config.part_bytes = ByteSize{5 << 20};
  return config;
}

inline WebhdfsStoreConfig webhdfs_config(const servers::WebhdfsStub& server) {
  return {server.url(), std::string(server.path()), std::string(server.user()), "", seconds(30)};
}

inline RedisStoreConfig redis_config(const std::string& url, const std::string& prefix) {
  RedisStoreConfig config;
  config.url = {url};
  config.prefix = prefix;
  return config;
}

/// Where nothing has been stored yet.
class StorePlace {
 public:
  explicit StorePlace(StoreKind kind) : kind_(kind) {
    static int made = 0;
    const std::string name = "test" + std::to_string(++made);
    switch (kind) {
      case StoreKind::memory: config_ = MemoryStoreConfig(); break;
      case StoreKind::file: config_ = FileStoreConfig{folder_.path()}; break;
      case StoreKind::redis: config_ = redis_config(servers::shared_redis().url(), name + ":"); break;
      case StoreKind::redis_tls:
        config_ = redis_config(net::redis::shared_redis_in_tls().server().url(), name + ":");
        break;
      case StoreKind::s3: config_ = s3_config(servers::shared_s3(), name); break;
      case StoreKind::webhdfs: config_ = webhdfs_of_its_own(); break;
    }
    store_ = opened();
  }

  /// As another process opens it; not for memory.
  std::unique_ptr<Store> opened() const {
    auto store = open(config_);
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    return store ? *std::move(store) : nullptr;
  }
  StoreKind kind() const { return kind_; }
  const StoreConfig& config() const { return config_; }
  Store& store() { return *store_; }

 private:
  StoreConfig webhdfs_of_its_own() {
    server_ = std::make_unique<servers::WebhdfsStub>(folder_.path());
    return webhdfs_config(*server_);
  }

  const StoreKind kind_;
  servers::TempDir folder_;
  std::unique_ptr<servers::WebhdfsStub> server_;
  StoreConfig config_;
  std::unique_ptr<Store> store_;
};

inline Digest digest_of(std::string_view content) {
  return {static_cast<std::int64_t>(content.size()), sha256(as_bytes(content))};
}

inline Result<void> put(Store& store, const std::string& key, std::string_view content) {
  BytesSource source(as_bytes(content));
  return store.put(key, digest_of(content), source);
}

inline ByteSink into(std::string& text) {
  return [&text](BytesView piece) -> Result<void> {
    text += as_text(piece);
    return {};
  };
}

/// The content of an object, or nothing when there is none; any other error is a failure.
inline std::optional<std::string> content_of(Store& store, const std::string& key) {
  std::string text;
  const auto got = store.get(key, into(text));
  if (got) return text;
  EXPECT_EQ(got.error().code, Errc::not_found) << got.error().message;
  return std::nullopt;
}

inline std::vector<std::string> keys_of(Store& store, const std::string& prefix = "",
                                        std::int32_t limit = Store::page_max) {
  std::vector<std::string> keys;
  std::string after;
  do {
    const auto page = store.list(prefix, after, limit);
    EXPECT_TRUE(page.has_value()) << (page ? "" : page.error().message);
    if (!page) break;
    EXPECT_LE(page->objects.size(), static_cast<std::size_t>(limit));
    for (const ListedObject& object : page->objects) keys.push_back(object.key);
    after = page->next;
  } while (!after.empty());
  return keys;
}

inline std::string random_bytes(Dice& dice, std::size_t size) {
  std::string bytes(size, ' ');
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    const std::uint64_t bits = dice.bits();
    std::copy_n(reinterpret_cast<const char*>(&bits), 8, bytes.begin() + static_cast<std::ptrdiff_t>(at));
  }
  for (; at < size; ++at) bytes[at] = static_cast<char>(dice.below(256));
  return bytes;
}

/// Larger than what any store sends at once: a part of S3, a piece of Redis.
constexpr std::size_t large = (5 << 20) + (3 << 20) + 17;

class EveryStore : public testing::TestWithParam<StoreKind> {
 protected:
  StorePlace place_{GetParam()};
  Store& store_ = place_.store();
};

inline std::string name_of_store(const testing::TestParamInfo<StoreKind>& info) {
  static constexpr const char* names[] = {"Memory", "File", "Redis", "RedisTls", "S3", "Webhdfs"};
  return names[static_cast<int>(info.param)];
}

}  // namespace cadre::objects

#define INSTANTIATE_FOR_EVERY_STORE(suite)                                                                             \
  INSTANTIATE_TEST_SUITE_P(All, suite,                                                                                 \
                           testing::Values(StoreKind::memory, StoreKind::file, StoreKind::redis, StoreKind::redis_tls, \
                                           StoreKind::s3, StoreKind::webhdfs),                                         \
                           name_of_store)
