#include "remote/call_frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace cadre::remote {
namespace {

constexpr std::uint32_t call_magic = 0x316c6163;  // "cal1"
constexpr std::size_t head_bytes = 32;
constexpr std::size_t part_bytes = 16;
constexpr std::size_t alignment = 16;
constexpr std::array<std::byte, alignment> zeros{};

std::size_t aligned(std::size_t offset) { return (offset + alignment - 1) / alignment * alignment; }

template <class Number>
void put(std::string& to, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) to += static_cast<char>(number >> (8 * i) & 0xff);
}

template <class Number>
Number get(const std::byte*& from) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) number |= static_cast<Number>(*from++) << (8 * i);
  return number;
}

}  // namespace

Bytes write_pieces(std::span<const PieceNews> news) {
  std::string text;
  for (const PieceNews& one : news) put(text, one.piece), put(text, static_cast<std::uint32_t>(one.is_gone));
  const BytesView view = as_bytes(text);
  return {view.begin(), view.end()};
}

std::optional<std::vector<PieceNews>> read_pieces(BytesView bytes) {
  if (bytes.size() % 8 != 0) return std::nullopt;
  std::vector<PieceNews> news;
  for (const std::byte* at = bytes.data(); at != bytes.data() + bytes.size();) {
    const auto piece = get<std::uint32_t>(at);
    const auto is_gone = get<std::uint32_t>(at);
    if (is_gone > 1) return std::nullopt;
    news.push_back({piece, is_gone == 1});
  }
  return news;
}

EncodedCall::EncodedCall(Verb verb, std::uint64_t id, std::string_view name, BytesView body,
                         std::span<const PartToSend> parts) {
  CHECK(name.size() <= name_bytes_max && parts.size() <= parts_max);
  head_.reserve(head_bytes + parts.size() * part_bytes + name.size() + alignment);
  put(head_, call_magic);
  put(head_, static_cast<std::uint8_t>(verb));
  put(head_, std::uint8_t{0});
  put(head_, static_cast<std::uint16_t>(parts.size()));
  put(head_, id);
  put(head_, static_cast<std::uint32_t>(name.size()));
  put(head_, std::uint32_t{0});
  put(head_, static_cast<std::uint64_t>(body.size()));
  for (const PartToSend& part : parts) {
    put(head_, static_cast<std::uint64_t>(part.bytes.size()));
    put(head_, part.piece);
    put(head_, std::uint32_t{0});
  }
  head_ += name;
  head_.append(aligned(name.size()) - name.size(), '\0');
  pieces_.push_back(as_bytes(head_));
  std::size_t unaligned = body.size();
  pieces_.push_back(body);
  for (const PartToSend& part : parts) {
    if (part.piece != 0) continue;
    pieces_.push_back(BytesView(zeros).first(aligned(unaligned) - unaligned));
    pieces_.push_back(part.bytes);
    unaligned = part.bytes.size();
  }
}

std::optional<std::string> obstacle_to(std::string_view name, BytesView body, std::span<const BytesView> parts) {
  if (name.size() > name_bytes_max) return "a name has at most " + std::to_string(name_bytes_max) + " bytes";
  if (parts.size() > parts_max) return "a call has at most " + std::to_string(parts_max) + " large parts";
  std::size_t total = body.size();
  for (const BytesView& part : parts) total += part.size();
  if (total > call_bytes_max) return "a call, or its answer, carries at most 4 GiB";
  return std::nullopt;
}

std::span<std::byte> CallReader::room() {
  if (head_) return {payload_.get() + filled_, head_->payload - filled_};
  return std::span(scratch_).subspan(end_);
}

CallReader::Found CallReader::read_head() {
  const std::size_t have = end_ - begin_;
  if (have < head_bytes) return Found::nothing;
  const std::byte* at = scratch_.data() + begin_;
  Head head;
  const auto its_magic = get<std::uint32_t>(at);
  const auto verb = get<std::uint8_t>(at);
  const auto zero = get<std::uint8_t>(at);
  const auto parts = get<std::uint16_t>(at);
  head.frame.id = get<std::uint64_t>(at);
  head.name_bytes = get<std::uint32_t>(at);
  const auto also_zero = get<std::uint32_t>(at);
  const auto body = get<std::uint64_t>(at);
  const bool is_frame = its_magic == call_magic && verb >= 1 && verb <= static_cast<std::uint8_t>(last_verb) &&
                        zero == 0 && also_zero == 0 && parts <= parts_max && head.name_bytes <= name_bytes_max &&
                        body <= payload_max_;
  if (!is_frame) return Found::nonsense;
  if (have < head_bytes + parts * part_bytes) return Found::nothing;
  head.frame.verb = static_cast<Verb>(verb);
  head.body_bytes = static_cast<std::size_t>(body);
  head.payload = aligned(head.name_bytes) + head.body_bytes;
  for (std::size_t i = 0; i < parts; ++i) {
    const auto size = get<std::uint64_t>(at);
    Part part;
    part.piece = get<std::uint32_t>(at);
    if (get<std::uint32_t>(at) != 0 || size > payload_max_) return Found::nonsense;
    part.size = static_cast<std::size_t>(size);
    if (part.piece == 0) head.payload = aligned(head.payload) + part.size;
    head.frame.parts.push_back(std::move(part));
  }
  if (head.payload > payload_max_ + name_bytes_max + alignment * parts_max) return Found::nonsense;
  begin_ += head_bytes + parts * part_bytes;
  head_ = std::move(head);
  return Found::head;
}

bool CallReader::took(std::size_t bytes, std::vector<CallFrame>& frames) {
  (head_ ? filled_ : end_) += bytes;
  for (;;) {
    if (!head_) {
      const Found found = read_head();
      if (found == Found::nonsense) return false;
      if (found == Found::nothing) break;
      payload_ = std::make_shared_for_overwrite<std::byte[]>(std::max<std::size_t>(head_->payload, 1));
      filled_ = std::min(head_->payload, end_ - begin_);
      std::memcpy(payload_.get(), scratch_.data() + begin_, filled_);
      begin_ += filled_;
    }
    if (filled_ < head_->payload) break;
    finish(frames);
  }
  std::memmove(scratch_.data(), scratch_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  return true;
}

void CallReader::finish(std::vector<CallFrame>& frames) {
  CallFrame frame = std::move(head_->frame);
  std::byte* const start = payload_.get();
  frame.name.assign(reinterpret_cast<const char*>(start), head_->name_bytes);
  std::size_t at = aligned(head_->name_bytes);
  frame.body = {start + at, head_->body_bytes, payload_};
  at += head_->body_bytes;
  for (Part& part : frame.parts) {
    if (part.piece != 0) continue;
    at = aligned(at);
    part.slice = {start + at, part.size, payload_};
    at += part.size;
  }
  frames.push_back(std::move(frame));
  head_.reset();
  payload_.reset();
  filled_ = 0;
}

}  // namespace cadre::remote
