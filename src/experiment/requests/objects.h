/// Requests for the content of checkpoints: files go to the master and come back in parts. Values; safe on any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "experiment/requests/trials.h"

namespace cadre::experiment::requests {

/// Larger parts cost fewer requests and more memory of the master: each is held until it is written.
constexpr std::int64_t part_bytes_most = std::int64_t{8} << 20;
constexpr std::string_view checkpoint_doc = "Checkpoint ID.";
constexpr std::string_view file_name_doc = "Path of the file in the checkpoint.";

struct FileState {
  static constexpr std::string_view type_name = "file_state";
  static constexpr std::string_view doc = "How much of a file of a checkpoint is stored.";
  std::int64_t have = 0;
  bool complete = false;
};
template <class V>
void describe(V& v, FileState& m) {
  v.field("have", m.have, "Number of bytes stored, from the beginning.");
  v.field("complete", m.complete, "Whether all of it is stored and its hash is correct.");
}

struct FileBytes {
  static constexpr bool is_bytes = true;
  static constexpr std::string_view type_name = "file_bytes";
  static constexpr std::string_view doc = "Bytes of a file of a checkpoint.";
  Bytes bytes;
};
template <class V>
void describe(V& v, FileBytes& m) {
  v.required("bytes", m.bytes, "The bytes; they are the body of the response.");
}

/// A file exists when it is whole and its hash is correct; until then it can be begun again. Only for a checkpoint that
/// was begun and is not complete, with the token of the current run of its trial.
struct PutFile {
  static constexpr std::string_view type_name = "put_checkpoint_file";
  static constexpr Route route =
      Route{"PUT", "/checkpoints/{checkpoint}/files",
            "Uploads the next bytes of a file of a checkpoint, at most 8 MiB; continue at `have` of the response.",
            Need::editor}
          .with_bytes()
          .without_audit()
          .with_body_max(ByteSize{part_bytes_most});
  using Answer = FileState;
  CheckpointId checkpoint;
  std::string name;
  std::int64_t size = 0;
  std::int64_t offset = 0;
  std::string hash;
  Bytes bytes;
};
template <class V>
void describe(V& v, PutFile& m) {
  v.required("checkpoint", m.checkpoint, checkpoint_doc, length(36, 36));
  v.required("name", m.name, file_name_doc, length(1, 1'024));
  v.required("size", m.size, "Size of the whole file in bytes.", range(0, std::int64_t{1} << 50));
  v.required("offset", m.offset, "Offset of these bytes.", at_least(0));
  v.required("hash", m.hash, "SHA-256 of the whole file, in hexadecimal digits.", length(64, 64));
  v.field("bytes", m.bytes, "The bytes: the body of the request.");
}

/// The bytes are the body of the response, as they are: checkpoints have gigabytes, and base64 in JSON would cost a
/// third more on the wire and several times the processor time on both sides. They are fewer than asked for only at the
/// end of the file.
struct ReadFile {
  static constexpr std::string_view type_name = "read_checkpoint_file";
  static constexpr Route route =
      Route{"GET", "/checkpoints/{checkpoint}/files", "Returns bytes of a file of a complete checkpoint.", Need::viewer}
          .answered_with_bytes();
  using Answer = FileBytes;
  CheckpointId checkpoint;
  std::string name;
  std::int64_t offset = 0;
  std::int64_t most = part_bytes_most;
};
template <class V>
void describe(V& v, ReadFile& m) {
  v.required("checkpoint", m.checkpoint, checkpoint_doc, length(36, 36));
  v.required("name", m.name, file_name_doc, length(1, 1'024));
  v.field("offset", m.offset, "Offset of the first byte.", at_least(0));
  v.field("most", m.most, "Maximum number of bytes.", range(1, part_bytes_most));
}

/// Served beside the control loop, by the bulk side.
using ObjectRequest = std::variant<PutFile, ReadFile>;

}  // namespace cadre::experiment::requests
