/// What a caller and the process of an actor say to each other, as bytes of a stream. Pure values and functions; one
/// thread at a time.
///
/// A frame is a head, little endian,
///   u32 magic   u8 verb   u8 0   u16 parts   u64 id   u32 bytes of the name   u32 0   u64 bytes of the body
/// for each part
///   u64 bytes   u32 piece of shared memory that holds it, 0: it follows   u32 0
/// and the name, the body, and each part that follows, every one of which begins at a multiple of 16 behind the name's
/// beginning, so that whoever reads them can look at numbers in them where they lie.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace cadre::remote {

enum class Verb : std::uint8_t {
  // From a caller.
  create = 1,  ///< make the object: its class by name, the arguments in the body
  call,        ///< run a method by name
  get,         ///< tell an attribute by name
  set,         ///< give an attribute a value
  cancel,      ///< do not run the call of this id if it has not begun
  end,         ///< nobody needs the object any more
  // From the actor.
  value,      ///< of the call of this id
  error,      ///< of the call of this id: the name is the type of the error
  cancelled,  ///< the call of this id was not run
  // From both.
  pieces,  ///< pieces of shared memory that are given back, or gone: the body is a list of PieceNews
  // From the actor, if its caller has asked for it (CADRE_ACTOR_OUTPUT).
  output,  ///< lines that it has written: the name is the stream, stdout or stderr
};
constexpr Verb last_verb = Verb::output;

/// Bytes and what keeps them alive.
struct Segment {
  std::byte* data = nullptr;
  std::size_t size = 0;
  std::shared_ptr<const void> owner;
  BytesView view() const { return {data, size}; }
};

/// A part of what is said that is large enough to be kept out of its body.
struct Part {
  Segment slice;            ///< empty when a piece holds it
  std::uint32_t piece = 0;  ///< of shared memory
  std::size_t size = 0;
};

struct CallFrame {
  Verb verb = Verb::call;
  std::uint64_t id = 0;
  std::string name;
  Segment body;
  std::vector<Part> parts;
};

struct PieceNews {
  std::uint32_t piece = 0;
  bool is_gone = false;  ///< sent by the owner of the piece; otherwise the piece is returned to its owner
};
Bytes write_pieces(std::span<const PieceNews> news);
std::optional<std::vector<PieceNews>> read_pieces(BytesView bytes);

/// A part as it is sent: bytes, or a piece that holds them.
struct PartToSend {
  BytesView bytes;
  std::uint32_t piece = 0;
};

constexpr std::size_t name_bytes_max = 4'096;
constexpr std::size_t parts_max = 1'024;
/// In all, of the body and its parts.
constexpr std::size_t call_bytes_max = std::size_t{4} << 30;

/// Why it cannot be said, if it cannot: it would be no frame.
std::optional<std::string> obstacle_to(std::string_view name, BytesView body, std::span<const BytesView> parts);

/// A frame in pieces that are to be sent one after another; `heads` holds those that are not the sender's.
class EncodedCall {
 public:
  EncodedCall(Verb verb, std::uint64_t id, std::string_view name, BytesView body, std::span<const PartToSend> parts);
  EncodedCall(const EncodedCall&) = delete;
  EncodedCall& operator=(const EncodedCall&) = delete;
  std::span<const BytesView> pieces() const { return pieces_; }

 private:
  std::string head_;
  std::vector<BytesView> pieces_;
};

/// Makes frames of bytes that come in any portions.
class CallReader {
 public:
  /// A frame with more behind its name than this is none.
  explicit CallReader(std::size_t payload_max) : payload_max_(payload_max) {}

  /// Where the next bytes are to be put: where they can stay, if they belong to something large.
  std::span<std::byte> room();
  /// So many were put there; appends the frames that are whole now. False when it is no frame that came: nothing after
  /// that can be understood.
  [[nodiscard]] bool took(std::size_t bytes, std::vector<CallFrame>& frames);

 private:
  struct Head {
    CallFrame frame;
    std::size_t name_bytes = 0;
    std::size_t body_bytes = 0;
    std::size_t payload = 0;  ///< all behind the heads
  };
  enum class Found : std::uint8_t { nothing, head, nonsense };
  Found read_head();
  void finish(std::vector<CallFrame>& frames);

  static constexpr std::size_t scratch_bytes = 64 << 10;
  const std::size_t payload_max_;
  std::vector<std::byte> scratch_ = std::vector<std::byte>(scratch_bytes);
  std::size_t begin_ = 0;  ///< of what was not understood yet
  std::size_t end_ = 0;
  std::optional<Head> head_;
  std::shared_ptr<std::byte[]> payload_;
  std::size_t filled_ = 0;
};

}  // namespace cadre::remote
