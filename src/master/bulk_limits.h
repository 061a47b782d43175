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

struct BulkCounters {
  static constexpr std::string_view doc = "What the master's bulk side has seen since it was started.";
  std::uint64_t puts = 0;
  std::uint64_t put_bytes = 0;
  std::uint64_t gaps = 0;
  std::uint64_t syncs = 0;
  std::uint64_t reads = 0;
  std::uint64_t blob_parts = 0;
  std::uint64_t waiting = 0;
  std::uint64_t dropped_bytes = 0;
  std::uint64_t refused_malformed = 0;
  std::uint64_t refused_denied = 0;
  std::uint64_t refused_full = 0;
  std::uint64_t failures = 0;
  std::int64_t logs_bytes = 0;
  std::int64_t blobs_bytes = 0;
  bool operator==(const BulkCounters&) const = default;
};

template <class V>
void describe(V& v, BulkCounters& c) {
  v.field("puts", c.puts, "Parts of output that came, those that came again included.");
  v.field("put_bytes", c.put_bytes, "Their bytes.");
  v.field("gaps", c.gaps, "Of these, parts that did not go on where the output ends.");
  v.field("syncs", c.syncs, "Times that output was made durable.");
  v.field("reads", c.reads, "Questions for output.");
  v.field("blob_parts", c.blob_parts, "Parts of packed code that came or were asked for.");
  v.field("waiting", c.waiting, "Readers that wait for more output now.");
  v.field("dropped_bytes", c.dropped_bytes, "Output beyond log_bytes_max.");
  v.field("refused_malformed", c.refused_malformed, "Messages that could not be read.");
  v.field("refused_denied", c.refused_denied, "Messages of peers that may not ask that.");
  v.field("refused_full", c.refused_full, "Questions for which there was no room.");
  v.field("failures", c.failures, "Times that something could not be written or read, for instance on a full disk.");
  v.field("logs_bytes", c.logs_bytes, "Disk space that output takes.");
  v.field("blobs_bytes", c.blobs_bytes, "Disk space that packed code takes.");
}

}  // namespace cadre::master
