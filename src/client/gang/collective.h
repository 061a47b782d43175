/// One rank's part in the calls that all ranks of a gang make together: what it sends to which rank, and what it waits
/// for. Pure; one thread at a time.
///
/// Each call sends something of every rank to rank 0 at least, and no call ends before all ranks have made it. So rank
/// 0 notices whenever ranks make different calls, and nobody is more than one call ahead.
///
/// A large allreduce is cut into pieces. Each piece has a rank that gets it from all others, combines it in the order
/// of the ranks and sends the result to all: every rank sends and receives about twice the size of the numbers,
/// whatever the number of ranks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/slice.h"
#include "client/gang/gang.h"

namespace cadre::client {

class Collective {
 public:
  enum class Operation : std::uint8_t { gather, allgather, broadcast, allreduce };
  struct Call {
    Operation operation{};
    BytesView bytes{};               ///< what this rank gives; of a broadcast only rank 0's counts
    std::span<std::byte> numbers{};  ///< of an allreduce: what it gives, and its result
    NumberKind kind{};
    Reduction how{};
  };
  /// A message to one rank. The body refers to memory of the call, or lives until the next one begins.
  struct Outgoing {
    std::uint32_t to = 0;
    Bytes head;
    BytesView body;
  };
  /// The largest body.
  static constexpr std::size_t piece_bytes_max = std::size_t{1} << 20;
  /// Numbers of at most that size go from each rank to each other, which takes one message instead of two.
  static constexpr std::size_t small_bytes_max = 16'384;

  /// `names` of the ranks, for messages: "rank 3 on agent b".
  Collective(std::uint32_t rank, std::vector<std::string> names) : rank_(rank), names_(std::move(names)) {}

  /// The memory of the call must stay until end(), or failure().
  void begin(const Call& call);
  void received(std::uint32_t from, Slice frame);
  /// The connection to that rank was lost.
  void lost(std::uint32_t rank, std::string_view why);
  /// This rank cannot go on.
  void abandon(Error why);
  /// This rank makes no more calls.
  void leave();

  [[nodiscard]] std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }
  /// To every rank, before anything that waits.
  [[nodiscard]] std::vector<Bytes> take_news() { return std::exchange(news_, {}); }
  /// Nothing more comes for the present call. It ends when what is outgoing was sent.
  [[nodiscard]] bool is_complete() const { return call_.has_value() && missing_ == 0; }
  /// Ends the call: what was gathered or told.
  [[nodiscard]] std::vector<Bytes> end();
  /// Why no call succeeds any more.
  [[nodiscard]] const std::optional<Error>& failure() const { return failure_; }

 private:
  struct Head;
  struct Given {
    Bytes bytes;
    bool is_whole = false;
  };
  struct Piece {
    std::vector<Slice> parts;
    std::uint32_t missing = 0;
  };

  bool is_chief() const { return rank_ == 0; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  bool is_large() const;
  std::size_t piece_bytes() const;
  std::uint32_t owner(std::size_t piece) const { return static_cast<std::uint32_t>(piece % size()); }
  Head head_of(bool is_result, std::size_t total, std::size_t offset) const;
  void send(std::uint32_t to, bool is_result, std::size_t total, std::size_t offset, BytesView body);
  void send_all(std::uint32_t to, bool is_result, BytesView bytes);
  void begin_large();
  void take(std::uint32_t from, const Head& head, Slice body);
  void take_part(std::uint32_t from, const Head& head, BytesView body);
  void take_result(std::uint32_t from, const Head& head, BytesView body);
  void take_piece(std::uint32_t from, const Head& head, Slice body);
  void finish_piece(std::size_t number, Piece& piece);
  void all_came();
  /// True: that was the rest.
  bool append(std::uint32_t from, Given& given, const Head& head, BytesView body);
  void fail_by(std::uint32_t from, std::string_view what);
  void fail_with(Error error);
  static std::string text_of(const Head& head);

  const std::uint32_t rank_;
  const std::vector<std::string> names_;
  std::uint64_t number_ = 0;  ///< of the present call, or the last one
  std::optional<Call> call_;
  std::size_t missing_ = 0;                             ///< messages, or pieces, that the call waits for
  std::vector<Given> given_;                            ///< by rank
  Bytes told_;                                          ///< the result of a gather or broadcast, so far
  std::map<std::size_t, Piece> pieces_;                 ///< of a large allreduce: those of this rank, by number
  std::vector<bool> has_piece_;                         ///< which results are there
  std::vector<std::pair<std::uint32_t, Slice>> early_;  ///< of the next call
  std::map<std::uint32_t, std::uint64_t> left_;         ///< ranks that have ended: after which call
  std::vector<Outgoing> outgoing_;
  std::vector<Bytes> news_;
  std::optional<Error> failure_;
};

}  // namespace cadre::client
