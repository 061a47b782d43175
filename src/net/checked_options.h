/// Options of hubs and links, checked alike for every network. Safe on any thread.
#pragma once

#include <vector>

#include "net/address.h"
#include "net/hub.h"
#include "net/link.h"

namespace cadre::net {

/// Whether both sides prove who they are by keys there.
[[nodiscard]] bool needs_keys(const Address& address, UnixProof proof);

/// The addresses to bind, in order.
[[nodiscard]] Result<std::vector<Address>> check(const HubOptions& options);

/// The address to connect to.
[[nodiscard]] Result<Address> check(const LinkOptions& options);

/// Invalid when a message is over its bound.
[[nodiscard]] Result<void> check_size(BytesView message, const Limits& limits);

}  // namespace cadre::net
