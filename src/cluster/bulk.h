/// Messages for bulk data, which is sent apart from control messages: output of tasks, and packed code by its hash.
/// Between agents or clients and the master's bulk side. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/bytes.h"
#include "cluster/ids.h"
#include "cluster/scalars.h"

namespace cadre::cluster::bulk {

constexpr std::size_t part_bytes_max = std::size_t{1} << 20;
constexpr std::size_t message_bytes_max = part_bytes_max + 65'536;

// From an agent.

/// Whole records (logs/record.h) of a lease's output, from an offset on. Sent again until they are stored. Several
/// may be in flight, each continuing where the previous one ends.
struct PutOutput {
  static constexpr std::string_view type_name = "put_output";
  std::uint64_t number = 0;
  LeaseId lease;
  std::int64_t offset = 0;
  bool after_gap = false;
  Bytes records;
};
template <class V>
void describe(V& v, PutOutput& m) {
  v.required("number", m.number, "Request number, chosen by the sender.");
  v.required("lease", m.lease, "Lease of the output.");
  v.required("offset", m.offset, "Offset of the records.", at_least(0));
  v.field("after_gap", m.after_gap, "Whether the output before the records is lost.");
  v.field("records", m.records, "The records.", length(0, part_bytes_max));
}

// From a client.

/// Requests output from an offset on. With `wait`, the response is sent when there is some, and is short; or after a
/// timeout, empty: then send the request again.
struct ReadOutput {
  static constexpr std::string_view type_name = "read_output";
  std::uint64_t number = 0;
  LeaseId lease;
  std::int64_t offset = 0;
  std::int64_t last_lines = 0;
  bool wait = false;
};
template <class V>
void describe(V& v, ReadOutput& m) {
  v.required("number", m.number, "Request number, chosen by the sender.");
  v.required("lease", m.lease, "Lease of the output.");
  v.field("offset", m.offset, "Offset at which to begin.", at_least(0));
  v.field("last_lines", m.last_lines, "Begin this many lines before the end instead.", range(0, 1'000'000));
  v.field("wait", m.wait, "Whether to wait until there is output.");
}

/// Asks how much of this content is stored.
struct AskBlob {
  static constexpr std::string_view type_name = "ask_blob";
  std::uint64_t number = 0;
  std::string hash;
};
template <class V>
void describe(V& v, AskBlob& m) {
  v.required("number", m.number, "Request number, chosen by the sender.");
  v.required("hash", m.hash, "SHA-256 of the content, in hexadecimal digits.", length(64, 64));
}

/// The next part of some content. The response says how much is stored: if it is not complete, continue from there,
/// with an empty part if there are no bytes left.
struct PutBlob {
  static constexpr std::string_view type_name = "put_blob";
  std::uint64_t number = 0;
  std::string hash;
  std::int64_t size = 0;
  std::int64_t offset = 0;
  Bytes bytes;
  std::string user = {};
};
template <class V>
void describe(V& v, PutBlob& m) {
  v.required("number", m.number, "Request number, chosen by the sender.");
  v.required("hash", m.hash, "SHA-256 of the content, in hexadecimal digits.", length(64, 64));
  v.required("size", m.size, "Size of the whole content.", at_least(0));
  v.required("offset", m.offset, "Offset of these bytes.", at_least(0));
  v.field("bytes", m.bytes, "Part of the content.", length(0, part_bytes_max));
  v.field("user", m.user, "User that sends it.");
}

/// Asks for a part of some content.
struct GetBlob {
  static constexpr std::string_view type_name = "get_blob";
  std::uint64_t number = 0;
  std::string hash;
  std::int64_t offset = 0;
};
template <class V>
void describe(V& v, GetBlob& m) {
  v.required("number", m.number, "Request number, chosen by the sender.");
  v.required("hash", m.hash, "SHA-256 of the content, in hexadecimal digits.", length(64, 64));
  v.required("offset", m.offset, "Offset at which to begin.", at_least(0));
}

using ToMaster = std::variant<PutOutput, ReadOutput, AskBlob, PutBlob, GetBlob>;

// From the master.

/// Everything before `end` is on disk. With `gap`, the records began after `end` and were not stored: continue from
/// `end`.
struct OutputStored {
  static constexpr std::string_view type_name = "output_stored";
  std::uint64_t number = 0;
  LeaseId lease;
  std::int64_t end = 0;
  bool gap = false;
};
template <class V>
void describe(V& v, OutputStored& m) {
  v.required("number", m.number, "Number of the request.");
  v.required("lease", m.lease, "Lease of the output.");
  v.required("end", m.end, "First byte that is not stored.");
  v.field("gap", m.gap, "Whether the records began after `end`.");
}

struct Output {
  static constexpr std::string_view type_name = "output";
  std::uint64_t number = 0;
  std::int64_t offset = 0;
  std::int64_t next = 0;
  Bytes records;
};
template <class V>
void describe(V& v, Output& m) {
  v.required("number", m.number, "Number of the request.");
  v.required("offset", m.offset, "Offset of the records.");
  v.required("next", m.next, "Offset at which to continue.");
  v.field("records", m.records, "The records.");
}

/// How much of the content is stored, from its beginning.
struct BlobState {
  static constexpr std::string_view type_name = "blob_state";
  std::uint64_t number = 0;
  std::int64_t have = 0;
  bool complete = false;
};
template <class V>
void describe(V& v, BlobState& m) {
  v.required("number", m.number, "Number of the request.");
  v.field("have", m.have, "Number of bytes stored.");
  v.field("complete", m.complete, "Whether all of it is stored and its hash is correct.");
}

struct BlobPart {
  static constexpr std::string_view type_name = "blob_part";
  std::uint64_t number = 0;
  std::int64_t size = 0;
  std::int64_t offset = 0;
  Bytes bytes;
};
template <class V>
void describe(V& v, BlobPart& m) {
  v.required("number", m.number, "Number of the request.");
  v.required("size", m.size, "Size of the whole content.");
  v.required("offset", m.offset, "Offset of these bytes.");
  v.field("bytes", m.bytes, "Part of the content.");
}

struct Refused {
  static constexpr std::string_view type_name = "refused";
  std::uint64_t number = 0;
  Errc code = Errc::invalid;
  std::string why;
  LeaseId lease = {};  ///< of the output, if output was sent; otherwise job 0
};
template <class V>
void describe(V& v, Refused& m) {
  v.field("number", m.number, "Number of the request, if it had one.");
  v.field("lease", m.lease, "Lease of the output, if output was sent.");
  v.field("code", m.code, "Error code.");
  v.required("why", m.why, "Reason, for display.");
}

using FromMaster = std::variant<OutputStored, Output, BlobState, BlobPart, Refused>;

}  // namespace cadre::cluster::bulk
