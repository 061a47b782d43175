#include "base/protocol.h"

#include <charconv>

std::string_view cadre::version() { return CADRE_VERSION; }

namespace cadre::protocol {
namespace {

/// The oldest that this program understands, and what it speaks itself.
constexpr std::int32_t oldest_protocol = 2;
constexpr std::int32_t newest_protocol = 2;

std::int32_t oldest_of(const Range& range) { return range.oldest.value_or(range.newest); }

std::string to_text(const Range& range) {
  std::string text = "protocol " + std::to_string(oldest_of(range));
  if (oldest_of(range) != range.newest) text += " to " + std::to_string(range.newest);
  return text + " (" + (range.version.empty() ? "version not stated" : "cadre " + range.version) + ")";
}

/// Takes a number off the front.
std::optional<std::int32_t> take_number(std::string_view& text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

}  // namespace

Range own() {
  // The oldest is left out where it is the newest: a peer from before ranges then understands the greeting.
  const bool is_one = oldest_protocol == newest_protocol;
  return {newest_protocol, is_one ? std::nullopt : std::optional(oldest_protocol), std::string(version())};
}

std::optional<std::string> mismatch(std::string_view peer, const Range& theirs, std::string_view self,
                                    const Range& ours) {
  const bool is_too_old = theirs.newest < oldest_of(ours);
  const bool is_too_new = oldest_of(theirs) > ours.newest;
  if (!is_too_old && !is_too_new) return std::nullopt;
  return std::string(peer) + " speaks " + to_text(theirs) + ", " + std::string(self) + " speaks " + to_text(ours) +
         "; upgrade " + std::string(is_too_old ? peer : self);
}

std::string to_header(const Range& range) {
  return std::to_string(oldest_of(range)) + "-" + std::to_string(range.newest) + " " + range.version;
}

std::optional<Range> parse_header(std::string_view text) {
  Range range;
  const std::optional<std::int32_t> oldest = take_number(text);
  if (!oldest || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const std::optional<std::int32_t> newest = take_number(text);
  if (!newest || *newest < *oldest || (!text.empty() && !text.starts_with(' '))) return std::nullopt;
  range.newest = *newest;
  if (*oldest != *newest) range.oldest = oldest;
  if (!text.empty()) range.version = text.substr(1);
  return range;
}

}  // namespace cadre::protocol
