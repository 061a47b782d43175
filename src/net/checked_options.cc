#include "net/checked_options.h"

namespace cadre::net {

Result<void> check_limits(const Limits& limits) {
  const auto read = describe::read<Limits>(describe::write(limits));
  if (read) return {};
  return Failure(describe::to_error(read.error(), "limits"));
}

bool needs_keys(const Address& address, UnixProof proof) {
  return std::holds_alternative<TcpAddress>(address) || proof == UnixProof::keys;
}

Result<std::vector<Address>> check(const HubOptions& options) {
  TRY(check_limits(options.limits));
  if (options.addresses.empty()) return fail(Errc::invalid, "a hub needs an address to bind; give it one");
  std::vector<Address> addresses;
  for (const std::string& text : options.addresses) {
    TRY_ASSIGN(address, parse_address(text));
    if (needs_keys(address, options.unix_proof) && !options.keys) {
      return fail(Errc::invalid, "a hub at " + text + " needs keys: over TCP everything is encrypted and no peer is " +
                                     "unknown; set HubOptions::keys");
    }
    addresses.push_back(std::move(address));
  }
  return addresses;
}

Result<Address> check(const LinkOptions& options) {
  TRY(check_limits(options.limits));
  TRY_ASSIGN(address, parse_address(options.address));
  if (needs_keys(address, options.unix_proof) && (!options.keys || options.hub_key.empty())) {
    return fail(Errc::invalid, "a link to " + options.address + " needs keys of its own and the hub's public key; " +
                                   "set LinkOptions::keys and LinkOptions::hub_key");
  }
  if (const auto* tcp = std::get_if<TcpAddress>(&address)) {
    if (tcp->port == 0) {
      return fail(Errc::invalid, "a link to " + options.address + " needs a port; port 0 is for hubs that take any");
    }
    if (tcp->host == "*") {
      return fail(Errc::invalid, "a link to " + options.address + " needs the name of a host; * is for hubs");
    }
  }
  return address;
}

Result<void> check_size(BytesView message, const Limits& limits) {
  if (message.size() <= static_cast<std::size_t>(limits.message_max.value)) return {};
  return fail(Errc::invalid, "a message of " + std::to_string(message.size()) + " bytes is over message_max (" +
                                 to_string(limits.message_max) + "); send less at a time");
}

}  // namespace cadre::net
