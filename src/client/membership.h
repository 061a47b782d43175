/// What the two sides of a member share: the switchboard, which belongs to the loop, and those who call from any
/// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "remote/group.h"

namespace cadre::client {

/// What to do with a message for which there is no room.
enum class Overflow : std::uint8_t { block, fail, drop_oldest };

struct MemberOptions {
  std::string group;
  std::string type;
  std::string name;                          ///< empty: one is made up
  std::string names;                         ///< a URL, as for open_names
  std::string host = "127.0.0.1";            ///< where others reach it
  std::map<std::string, std::size_t> peers;  ///< how many of each type are expected
  bool uses_sockets_of_host = true;          ///< to speak with members on the same host, in place of the network
  Overflow overflow = Overflow::block;
  remote::Group::Options rules;  ///< of which group and self are filled in
};

struct Membership {
  explicit Membership(MemberOptions o) : options(std::move(o)) {}

  const MemberOptions options;
  std::atomic<std::uint64_t> peers_version = 0;  // another one each time that somebody has come or gone

  std::mutex mutex;
  // With the lock held.
  std::optional<remote::Group> group;                                    // from the moment on that it has an epoch
  std::optional<Error> failed;                                           // why there is none, or none any more
  std::map<std::uint64_t, std::optional<Result<remote::Note>>> answers;  // that are waited for
  std::uint64_t copied_bytes = 0;                                        // on this side, as counted last
  bool is_closing = false;
  bool has_left = false;
  bool is_ended = false;
  std::vector<std::uint64_t> undelivered;  // at the end
};

}  // namespace cadre::client
