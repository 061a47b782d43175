/// Where objects are stored, as a configuration file says it. Values; safe on any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "describe/checks.h"
#include "describe/scalar.h"

namespace cadre::objects {

/// A password or a key. Errors about it never repeat it.
struct Secret {
  std::string text;
  bool operator==(const Secret&) const = default;
};

struct S3StoreConfig;
struct WebhdfsStoreConfig;

/// What is wrong with settings and what would be right, by their keys; empty: nothing. None of it repeats a secret.
[[nodiscard]] std::string fault_of_redis_url(std::string_view url);
struct S3Faults {
  std::string bucket;
  std::string endpoint;
  std::string region;
  std::string access_key;
  std::string prefix;
};
[[nodiscard]] S3Faults faults_of(const S3StoreConfig& config);
struct WebhdfsFaults {
  std::string url;
  std::string path;
  std::string user;
};
[[nodiscard]] WebhdfsFaults faults_of(const WebhdfsStoreConfig& config);

}  // namespace cadre::objects

namespace cadre::describe {

template <>
struct Scalar<objects::Secret> {
  static std::string type_name() { return "text (secret)"; }
  static Value schema() { return Scalar<std::string>::schema(); }
  static Result<objects::Secret> read(const Value& value);
  static Value write(const objects::Secret& secret) { return Value(secret.text); }
  static std::size_t size(const objects::Secret& secret) { return Scalar<std::string>::size(secret.text); }
};

}  // namespace cadre::describe

namespace cadre::objects {

constexpr Duration store_timeout_min = std::chrono::milliseconds(10);
constexpr Duration store_timeout_max = std::chrono::hours(1);

struct MemoryStoreConfig {
  static constexpr std::string_view type_name = "memory";
  static constexpr std::string_view doc = "The memory of the process; for tests.";
  ByteSize bytes_max{std::int64_t{1} << 30};
  bool operator==(const MemoryStoreConfig&) const = default;
};
template <class V>
void describe(V& v, MemoryStoreConfig& c) {
  v.field("bytes_max", c.bytes_max, "Maximum size of all objects together.", at_least(ByteSize{1}));
}

struct FileStoreConfig {
  static constexpr std::string_view type_name = "file";
  static constexpr std::string_view doc = "A folder, on NFS or another file system that all hosts share.";
  std::string path;
  bool operator==(const FileStoreConfig&) const = default;
};
template <class V>
void describe(V& v, FileStoreConfig& c) {
  v.required("path", c.path, "Absolute path of an existing folder.", length(2, 2'000));
  v.check(c.path.starts_with('/') && c.path.find('\0') == std::string::npos, "path", "must be an absolute path");
}

struct RedisStoreConfig {
  static constexpr std::string_view type_name = "redis";
  static constexpr std::string_view doc = "A Redis server, for small checkpoints: all objects must fit in its memory.";
  Secret url;
  std::string prefix = "cadre:objects:";
  ByteSize object_bytes_max{std::int64_t{1} << 30};
  Duration timeout = std::chrono::seconds(30);
  bool operator==(const RedisStoreConfig&) const = default;
};
template <class V>
void describe(V& v, RedisStoreConfig& c) {
  v.required("url", c.url, "redis://[[user]:password@]host[:port][/db] or rediss://…[?ca=FILE].", length(1, 2'000));
  v.field("prefix", c.prefix, "Text with which all keys in Redis begin.", length(1, 200));
  v.field("object_bytes_max", c.object_bytes_max, "Maximum size of one object.",
          range(ByteSize{1}, ByteSize{std::int64_t{64} << 30}));
  v.field("timeout", c.timeout, "Time after which a server that does not respond counts as lost.",
          range(store_timeout_min, store_timeout_max));
  const std::string fault = fault_of_redis_url(c.url.text);
  v.check(fault.empty(), "url", fault);
}

struct S3StoreConfig {
  static constexpr std::string_view type_name = "s3";
  static constexpr std::string_view doc =
      "A bucket of Amazon S3 or of a server with the same interface, such as MinIO, Ceph or Google Cloud Storage.";
  std::string bucket;
  std::string endpoint;
  std::string region = "us-east-1";
  std::string access_key;
  Secret secret_key;
  std::string prefix;
  bool path_style = true;
  std::string ca_file;
  ByteSize part_bytes{std::int64_t{16} << 20};
  Duration timeout = std::chrono::seconds(30);
  bool operator==(const S3StoreConfig&) const = default;
};
template <class V>
void describe(V& v, S3StoreConfig& c) {
  v.required("bucket", c.bucket, "Name of an existing bucket.", length(3, 63));
  v.field("endpoint", c.endpoint, "URL of the server; empty: that of Amazon S3 in `region`.", length(0, 1'000));
  v.field("region", c.region, "Region of the bucket.", length(1, 64));
  v.required("access_key", c.access_key, "ID of the access key.", length(1, 200));
  v.required("secret_key", c.secret_key, "Secret of the access key.", length(1, 200));
  v.field("prefix", c.prefix, "Folder within the bucket; empty: the whole bucket.", length(0, 256));
  v.field(
      "path_style", c.path_style,
      "Whether the bucket is named in the path of URLs (server/bucket/key), not in their host (bucket.server/key).");
  v.field("ca_file", c.ca_file, "PEM file of CA certificates to trust; empty: those of the system.");
  v.field("part_bytes", c.part_bytes,
          "Size of the parts in which larger objects are sent; each upload buffers one part in memory.",
          range(ByteSize{5 << 20}, ByteSize{1 << 30}));
  v.field("timeout", c.timeout, "Time after which a server that does not respond counts as lost.",
          range(store_timeout_min, store_timeout_max));
  const S3Faults faults = faults_of(c);
  v.check(faults.bucket.empty(), "bucket", faults.bucket);
  v.check(faults.endpoint.empty(), "endpoint", faults.endpoint);
  v.check(faults.region.empty(), "region", faults.region);
  v.check(faults.access_key.empty(), "access_key", faults.access_key);
  v.check(faults.prefix.empty(), "prefix", faults.prefix);
}

struct WebhdfsStoreConfig {
  static constexpr std::string_view type_name = "webhdfs";
  static constexpr std::string_view doc = "A folder of HDFS, by its HTTP interface, without Kerberos.";
  std::string url;
  std::string path;
  std::string user;
  std::string ca_file;
  Duration timeout = std::chrono::seconds(30);
  bool operator==(const WebhdfsStoreConfig&) const = default;
};
template <class V>
void describe(V& v, WebhdfsStoreConfig& c) {
  v.required("url", c.url, "URL of the name node, such as http://namenode:9870.", length(1, 1'000));
  v.required("path", c.path, "Absolute path of an existing folder in HDFS.", length(2, 1'000));
  v.required("user", c.user, "HDFS user to whom the folder belongs.", length(1, 100));
  v.field("ca_file", c.ca_file, "PEM file of CA certificates to trust; empty: those of the system.");
  v.field("timeout", c.timeout, "Time after which a server that does not respond counts as lost.",
          range(store_timeout_min, store_timeout_max));
  const WebhdfsFaults faults = faults_of(c);
  v.check(faults.url.empty(), "url", faults.url);
  v.check(faults.path.empty(), "path", faults.path);
  v.check(faults.user.empty(), "user", faults.user);
}

using StoreConfig =
    std::variant<MemoryStoreConfig, FileStoreConfig, RedisStoreConfig, S3StoreConfig, WebhdfsStoreConfig>;

/// The same rules for a configuration that no file was read for. The error names each setting and what would be right.
[[nodiscard]] Result<void> check_config(const StoreConfig& config);

}  // namespace cadre::objects
