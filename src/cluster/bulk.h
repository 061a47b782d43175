/// What passes beside the control messages because it is bulky: output of tasks, and packed code by its hash. Spoken
/// between agents or clients and the master's bulk side. Values; safe on any thread.
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

/// Whole records (logs/record.h) of a lease's output, from an offset on. Told again until they are stored. Several may
/// be under way, each going on where the one before it ends.
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
  v.required("number", m.number, "Chosen by who sends.");
  v.required("lease", m.lease, "Whose output.");
  v.required("offset", m.offset, "Where the records begin.", at_least(0));
  v.field("after_gap", m.after_gap, "What was before them is lost for good.");
  v.field("records", m.records, "The records.", length(0, part_bytes_max));
}

// From a client.

/// Asks for output from an offset on. With `wait`, the answer comes when there is some, and is short; or after a while
/// without any: then ask again.
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
  v.required("number", m.number, "Chosen by who asks.");
  v.required("lease", m.lease, "Whose output.");
  v.field("offset", m.offset, "Where to begin.", at_least(0));
  v.field("last_lines", m.last_lines, "Begin so many lines before the end instead.", range(0, 1'000'000));
  v.field("wait", m.wait, "Answer when there is something.");
}

/// Asks how much of this content is there.
struct AskBlob {
  static constexpr std::string_view type_name = "ask_blob";
  std::uint64_t number = 0;
  std::string hash;
};
template <class V>
void describe(V& v, AskBlob& m) {
  v.required("number", m.number, "Chosen by who asks.");
  v.required("hash", m.hash, "SHA-256 of the content, in hexadecimal digits.", length(64, 64));
}

/// The next part of some content. Answered with how much is there then: whoever is told that it is not complete goes
/// on from there, with an empty part if there are no bytes left.
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
  v.required("number", m.number, "Chosen by who asks.");
  v.required("hash", m.hash, "SHA-256 of the content, in hexadecimal digits.", length(64, 64));
  v.required("size", m.size, "Of all of it.", at_least(0));
  v.required("offset", m.offset, "Of these bytes.", at_least(0));
  v.field("bytes", m.bytes, "A part of it.", length(0, part_bytes_max));
  v.field("user", m.user, "The user who sends it.");
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
  v.required("number", m.number, "Chosen by who asks.");
  v.required("hash", m.hash, "SHA-256 of the content, in hexadecimal digits.", length(64, 64));
  v.required("offset", m.offset, "Where to begin.", at_least(0));
}

using ToMaster = std::variant<PutOutput, ReadOutput, AskBlob, PutBlob, GetBlob>;

// From the master.

/// Everything before `end` is on disk. With `gap`, what was put began behind that and was not taken: go on from `end`.
struct OutputStored {
  static constexpr std::string_view type_name = "output_stored";
  std::uint64_t number = 0;
  LeaseId lease;
  std::int64_t end = 0;
  bool gap = false;
};
template <class V>
void describe(V& v, OutputStored& m) {
  v.required("number", m.number, "Of what was put.");
  v.required("lease", m.lease, "Whose output.");
  v.required("end", m.end, "First byte that is not stored.");
  v.field("gap", m.gap, "Whether what was put begins behind the end.");
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
  v.required("number", m.number, "Of the question.");
  v.required("offset", m.offset, "Where the records begin.");
  v.required("next", m.next, "Where to go on.");
  v.field("records", m.records, "The records.");
}

/// So much of the content is there, from its beginning on.
struct BlobState {
  static constexpr std::string_view type_name = "blob_state";
  std::uint64_t number = 0;
  std::int64_t have = 0;
  bool complete = false;
};
template <class V>
void describe(V& v, BlobState& m) {
  v.required("number", m.number, "Of the question.");
  v.field("have", m.have, "Bytes that are there.");
  v.field("complete", m.complete, "Whether that is all, and its hash is right.");
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
  v.required("number", m.number, "Of the question.");
  v.required("size", m.size, "Of all of it.");
  v.required("offset", m.offset, "Of these bytes.");
  v.field("bytes", m.bytes, "A part of it.");
}

struct Refused {
  static constexpr std::string_view type_name = "refused";
  std::uint64_t number = 0;
  Errc code = Errc::invalid;
  std::string why;
  LeaseId lease = {};  ///< whose output was put, if it was; else job 0
};
template <class V>
void describe(V& v, Refused& m) {
  v.field("number", m.number, "Of the question, if it had one.");
  v.field("lease", m.lease, "Whose output was put, if it was.");
  v.field("code", m.code, "What kind of error it is.");
  v.required("why", m.why, "For people.");
}

using FromMaster = std::variant<OutputStored, Output, BlobState, BlobPart, Refused>;

}  // namespace cadre::cluster::bulk
