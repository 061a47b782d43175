/// The bounds of the master's bulk side, and what it has counted. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/time.h"
#include "describe/describe.h"

namespace cadre::master {

struct BulkLimits {
  static constexpr std::string_view doc = "How much output and code the master keeps.";
  ByteSize log_bytes_max{std::int64_t{4} << 30};
  ByteSize logs_bytes_max{std::int64_t{64} << 30};
  Duration log_age_max = std::chrono::hours(24 * 90);
  ByteSize blob_bytes_max{std::int64_t{1} << 30};
  ByteSize blobs_bytes_max{std::int64_t{16} << 30};
  std::int32_t waiting_max = 10'000;
  std::int32_t waiting_max_each = 256;
  Duration wait_max = std::chrono::seconds(20);
};

template <class V>
void describe(V& v, BulkLimits& l) {
  using describe::at_least;
  using describe::range;
  constexpr ByteSize least{std::int64_t{1} << 20};
  v.field("log_bytes_max", l.log_bytes_max,
          "Maximum output kept of one lease; further output is dropped and the loss is marked.", at_least(least));
  v.field("logs_bytes_max", l.logs_bytes_max, "Maximum output kept of all leases; the oldest is removed first.",
          at_least(least));
  v.field("log_age_max", l.log_age_max, "How long output is kept.", at_least(std::chrono::minutes(1)));
  v.field("blob_bytes_max", l.blob_bytes_max, "Maximum size of packed code.", at_least(least));
  v.field("blobs_bytes_max", l.blobs_bytes_max, "Maximum packed code kept; the least recently used is removed first.",
          at_least(least));
  v.field("waiting_max", l.waiting_max, "Maximum number of readers that wait for more output.", range(1, 1'000'000));
  v.field("waiting_max_each", l.waiting_max_each, "Maximum number of these on one connection.", range(1, 1'000'000));
  v.field("wait_max", l.wait_max, "How long a reader waits for output before it gets an empty response.",
          range(std::chrono::milliseconds(10), std::chrono::hours(1)));
  v.check(l.blob_bytes_max <= l.blobs_bytes_max, "blob_bytes_max",
          "must not exceed blobs_bytes_max; lower it or raise blobs_bytes_max");
}

}  // namespace cadre::master
