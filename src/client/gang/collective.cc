#include "client/gang/collective.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include "client/gang/combine.h"

namespace cadre::client {
namespace {

enum class Said : std::uint8_t { part = 1, result, failed, left };

constexpr std::array<std::string_view, 11> kind_names{"float16", "float32", "float64", "int8",   "int16", "int32",
                                                      "int64",   "uint8",   "uint16",  "uint32", "uint64"};
constexpr std::array<std::string_view, 4> reduction_names{"sum", "mean", "min", "max"};
constexpr std::array<std::string_view, 4> operation_names{"gather", "allgather or barrier", "broadcast", "allreduce"};

/// Pieces begin at whole numbers of any kind.
constexpr std::size_t piece_alignment = 64;
constexpr std::size_t piece_bytes_min = std::size_t{64} << 10;
constexpr std::size_t error_bytes_max = 4'096;

constexpr std::string_view same_calls =
    "all ranks must make the same calls in the same order; should_stop, the next length of a search, and restored or "
    "sharded checkpoints count, too";

}  // namespace

/// What a message is about, as it lies on the wire, little endian.
struct Collective::Head {
  Said said{};
  Operation operation{};
  NumberKind kind{};
  Reduction how{};
  std::uint32_t unused = 0;
  std::uint64_t number = 0;
  std::uint64_t total = 0;
  std::uint64_t offset = 0;

  /// Nothing: this is none.
  static std::optional<Head> read(BytesView frame) {
    static_assert(std::endian::native == std::endian::little && sizeof(Head) == 32);
    Head head;
    if (frame.size() < sizeof head) return std::nullopt;
    std::memcpy(&head, frame.data(), sizeof head);
    const bool is_known = head.said >= Said::part && head.said <= Said::left &&
                          head.operation <= Operation::allreduce && head.kind <= NumberKind::u64 &&
                          head.how <= Reduction::max;
    return is_known ? std::optional(head) : std::nullopt;
  }
  Bytes bytes() const {
    const auto* begin = reinterpret_cast<const std::byte*>(this);
    return {begin, begin + sizeof *this};
  }
  /// Whether a rank that has sent that makes the same call.
  bool is_same_call(const Head& other) const {
    if (operation != other.operation) return false;
    return operation != Operation::allreduce || (kind == other.kind && how == other.how && total == other.total);
  }
};

std::string Collective::text_of(const Head& head) {
  std::string text(operation_names[static_cast<std::size_t>(head.operation)]);
  if (head.operation != Operation::allreduce) return text;
  const std::size_t count = head.total / bytes_of(head.kind);
  return text + " (" + std::string(reduction_names[static_cast<std::size_t>(head.how)]) + " of " +
         std::to_string(count) + " " + std::string(kind_names[static_cast<std::size_t>(head.kind)]) + ")";
}

bool Collective::is_large() const {
  return call_->operation == Operation::allreduce && call_->numbers.size() > small_bytes_max;
}

std::size_t Collective::piece_bytes() const {
  const std::size_t share = (call_->numbers.size() / size() + piece_alignment) / piece_alignment * piece_alignment;
  return std::clamp(share, piece_bytes_min, piece_bytes_max);
}

Collective::Head Collective::head_of(bool is_result, std::size_t total, std::size_t offset) const {
  Head head;
  head.said = is_result ? Said::result : Said::part;
  head.operation = call_->operation;
  head.kind = call_->kind;
  head.how = call_->how;
  head.number = number_;
  head.total = total;
  head.offset = offset;
  return head;
}

void Collective::send(std::uint32_t to, bool is_result, std::size_t total, std::size_t offset, BytesView body) {
  outgoing_.push_back({to, head_of(is_result, total, offset).bytes(), body});
}

/// At least one message.
void Collective::send_all(std::uint32_t to, bool is_result, BytesView bytes) {
  std::size_t offset = 0;
  do {
    const BytesView body = bytes.subspan(offset, std::min(piece_bytes_max, bytes.size() - offset));
    send(to, is_result, bytes.size(), offset, body);
    offset += body.size();
  } while (offset < bytes.size());
}

void Collective::begin(const Call& call) {
  if (failure_) return;
  call_ = call;
  ++number_;
  given_.assign(size(), {});
  told_.clear();
  for (const auto& [rank, last] : left_) {
    if (last < number_) return fail_by(rank, "has ended before " + text_of(head_of(false, call.numbers.size(), 0)));
  }
  missing_ = size() - 1;
  const BytesView own = call.operation == Operation::allreduce ? BytesView(call.numbers) : call.bytes;
  const bool is_for_all = call.operation == Operation::allgather || call.operation == Operation::allreduce;
  if (is_large()) {
    begin_large();
  } else if (is_for_all) {
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      if (rank != rank_) send_all(rank, false, own);
    }
  } else if (!is_chief()) {
    send_all(0, false, call.operation == Operation::gather ? own : BytesView());
    missing_ = 1;
  }
  if (missing_ == 0) all_came();
  for (auto& [from, frame] : std::exchange(early_, {})) received(from, std::move(frame));
}

void Collective::begin_large() {
  const BytesView own = call_->numbers;
  const std::size_t step = piece_bytes();
  const std::size_t count = (own.size() + step - 1) / step;
  pieces_.clear();
  has_piece_.assign(count, false);
  missing_ = count;
  for (std::size_t number = 0; number < count; ++number) {
    const BytesView body = own.subspan(number * step, std::min(step, own.size() - number * step));
    if (owner(number) != rank_) {
      send(owner(number), false, own.size(), number * step, body);
      continue;
    }
    Piece& piece = pieces_[number];
    piece.parts.resize(size());
    piece.parts[rank_] = Slice(nullptr, body);
    piece.missing = size() - 1;
    if (piece.missing == 0) finish_piece(number, piece);
  }
}

void Collective::received(std::uint32_t from, Slice frame) {
  if (failure_) return;
  const std::optional<Head> head = Head::read(frame);
  if (!head || from >= size() || from == rank_) return fail_by(from, "sent a malformed message");
  const BytesView body = frame.view.subspan(sizeof(Head));
  if (head->said == Said::failed) {
    const auto code =
        static_cast<Errc>(std::min<std::uint64_t>(head->total, static_cast<std::uint64_t>(Errc::corrupt)));
    failure_ = Error{code, std::string(as_text(body.first(std::min(body.size(), error_bytes_max))))};
    outgoing_.clear();
    if (is_chief()) news_.emplace_back(frame.view.begin(), frame.view.end());
    return;
  }
  if (head->said == Said::left) {
    left_[from] = head->number;
    if (call_ && head->number < number_)
      fail_by(from, "has ended before " + text_of(head_of(false, call_->numbers.size(), 0)));
    return;
  }
  if (head->number == number_ + 1) return early_.emplace_back(from, std::move(frame)), void();
  if (!call_ || head->number != number_) return fail_by(from, "sent a message that belongs to no call");
  Slice rest(std::move(frame.owner), body);
  take(from, *head, std::move(rest));
}

void Collective::take(std::uint32_t from, const Head& head, Slice body) {
  const Head own = head_of(false, call_->numbers.size(), 0);
  if (!own.is_same_call(head)) {
    return fail_with({Errc::conflict, "the calls of the ranks differ: call " + std::to_string(number_) + " is " +
                                          text_of(head) + " on " + names_[from] + ", but " + text_of(own) + " on " +
                                          names_[rank_] + "; " + std::string(same_calls)});
  }
  if (is_large()) return take_piece(from, head, std::move(body));
  head.said == Said::result ? take_result(from, head, body) : take_part(from, head, body);
}

bool Collective::append(std::uint32_t from, Given& given, const Head& head, BytesView body) {
  if (given.is_whole || head.offset != given.bytes.size() || body.size() > head.total - head.offset) {
    fail_by(from, "sent a malformed message");
    return false;
  }
  given.bytes.insert(given.bytes.end(), body.begin(), body.end());
  given.is_whole = given.bytes.size() == head.total;
  return given.is_whole;
}

void Collective::take_part(std::uint32_t from, const Head& head, BytesView body) {
  const bool is_for_chief = call_->operation == Operation::gather || call_->operation == Operation::broadcast;
  if (is_for_chief && !is_chief()) return fail_by(from, "sent a malformed message");
  if (append(from, given_[from], head, body) && --missing_ == 0) all_came();
}

void Collective::take_result(std::uint32_t from, const Head& head, BytesView body) {
  const bool has_result = call_->operation == Operation::gather || call_->operation == Operation::broadcast;
  if (!has_result || from != 0) return fail_by(from, "sent a malformed message");
  Given& told = given_[0];
  if (append(from, told, head, body)) told_ = std::move(told.bytes), missing_ = 0;
}

/// What every rank gives is here.
void Collective::all_came() {
  const bool is_told = call_->operation == Operation::gather || call_->operation == Operation::broadcast;
  if (!is_chief() || !is_told) return;
  const BytesView result = call_->operation == Operation::broadcast ? call_->bytes : BytesView();
  for (std::uint32_t rank = 1; rank < size(); ++rank) send_all(rank, true, result);
}

void Collective::take_piece(std::uint32_t from, const Head& head, Slice body) {
  const std::size_t step = piece_bytes();
  const std::size_t number = head.offset / step;
  const std::span<std::byte> numbers = call_->numbers;
  const bool is_piece = head.offset % step == 0 && number < has_piece_.size() &&
                        body.size() == std::min(step, numbers.size() - number * step);
  if (!is_piece || has_piece_[number]) return fail_by(from, "sent a malformed message");
  if (head.said == Said::result) {
    if (owner(number) != from) return fail_by(from, "sent a malformed message");
    std::memcpy(numbers.data() + head.offset, body.view.data(), body.size());
    has_piece_[number] = true;
    --missing_;
    return;
  }
  const auto piece = pieces_.find(number);
  if (piece == pieces_.end() || piece->second.parts[from].size() != 0) return fail_by(from, "sent a malformed message");
  piece->second.parts[from] = std::move(body);
  if (--piece->second.missing == 0) finish_piece(number, piece->second);
}

void Collective::finish_piece(std::size_t number, Piece& piece) {
  const std::vector<BytesView> parts(piece.parts.begin(), piece.parts.end());
  const std::size_t offset = number * piece_bytes();
  const std::span<std::byte> result = call_->numbers.subspan(offset, parts[rank_].size());
  combine(call_->kind, call_->how, parts, result);
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    if (rank != rank_) send(rank, true, call_->numbers.size(), offset, result);
  }
  has_piece_[number] = true;
  --missing_;
  pieces_.erase(number);
}

std::vector<Bytes> Collective::end() {
  const Call call = *std::exchange(call_, std::nullopt);
  std::vector<Bytes> all;
  if (call.operation == Operation::broadcast) {
    all.push_back(is_chief() ? Bytes(call.bytes.begin(), call.bytes.end()) : std::move(told_));
  } else if (call.operation == Operation::allreduce) {
    if (call.numbers.size() > small_bytes_max) return all;
    std::vector<BytesView> parts;
    for (const Given& given : given_) parts.emplace_back(given.bytes);
    parts[rank_] = call.numbers;
    combine(call.kind, call.how, parts, call.numbers);
  } else if (is_chief() || call.operation == Operation::allgather) {
    for (Given& given : given_) all.push_back(std::move(given.bytes));
    all[rank_].assign(call.bytes.begin(), call.bytes.end());
  }
  return all;
}

void Collective::lost(std::uint32_t rank, std::string_view why) {
  if (!left_.contains(rank)) fail_with({Errc::unavailable, names_.at(rank) + " was lost: " + std::string(why)});
}

void Collective::abandon(Error why) { fail_with({why.code, names_[rank_] + " has given up: " + why.message}); }

void Collective::leave() {
  if (failure_) return;
  Head head;
  head.said = Said::left;
  head.number = number_;
  news_.push_back(head.bytes());
  failure_ = Error{Errc::conflict, "this process has left the gang: its trial was closed"};
}

void Collective::fail_by(std::uint32_t from, std::string_view what) {
  const std::string name = from < size() ? names_[from] : "rank " + std::to_string(from);
  fail_with({Errc::unavailable, name + " " + std::string(what)});
}

void Collective::fail_with(Error error) {
  if (failure_) return;
  Head head;
  head.said = Said::failed;
  head.total = static_cast<std::uint64_t>(error.code);
  Bytes frame = head.bytes();
  const BytesView text = as_bytes(error.message);
  frame.insert(frame.end(), text.begin(),
               text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), error_bytes_max)));
  news_.push_back(std::move(frame));
  outgoing_.clear();
  failure_ = std::move(error);
}

}  // namespace cadre::client
