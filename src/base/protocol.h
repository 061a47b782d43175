/// Which versions of the wire protocol a process speaks, as each greeting says it. Values; safe on any thread.
///
/// One number covers everything that cadre processes say to each other. It grows when a message changes in a way that a
/// peer cannot ignore; an added key does not count, since peers ignore keys that they do not know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cadre {

/// The version of this program.
std::string_view version();

namespace protocol {

struct Range {
  std::int32_t newest = 1;               ///< 1: from before greetings named a range
  std::optional<std::int32_t> oldest{};  ///< left out: `newest`
  std::string version;                   ///< of the program, for people; may be empty

  bool operator==(const Range&) const = default;
};
template <class V>
void describe(V& v, Range& p) {
  v.field("protocol", p.newest, "Newest protocol version that the sender speaks.");
  v.field("protocol_oldest", p.oldest, "Oldest protocol version that the sender speaks; left out: the newest.");
  v.field("version", p.version, "Version of the sender's program.");
}

/// What this program speaks.
Range own();

/// Why a peer and this process cannot work together, with the versions of both and the remedy; nothing, if they can.
/// `peer` and `self` are what people call the two: "agent 'a1'", "the master".
std::optional<std::string> mismatch(std::string_view peer, const Range& theirs, std::string_view self,
                                    const Range& ours = own());

/// `2-3 0.2.0`: the value of the header Cadre-Protocol.
std::string to_header(const Range& range);
/// Nothing, if it is not understood.
std::optional<Range> parse_header(std::string_view text);
constexpr std::string_view header_name = "Cadre-Protocol";

}  // namespace protocol
}  // namespace cadre
