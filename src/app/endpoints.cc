#include "app/endpoints.h"

#include "agent/host_facts.h"
#include "net/address.h"
#include "net/host_port.h"

namespace cadre::app {

Result<Endpoints> endpoints(const std::string& listen) {
  constexpr std::uint16_t port_max = 65'533;
  const Result<net::HostPort> parsed = net::parse_host_port(listen);
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid, "listen: '" + listen + "' " + why +
                                   "; use a value such as 0.0.0.0:7300 (port 0 selects three free ports)");
  };
  if (!parsed) return refuse("is not host:port: " + parsed.error().message);
  if (!parsed->port) return refuse("is not host:port: it has no port");
  if (*parsed->port > port_max) return refuse("is too large: the master also uses the two ports after it");
  const auto at = [&](int step) {
    const int port = *parsed->port == 0 ? 0 : *parsed->port + step;
    return net::to_string(net::TcpAddress{parsed->host, static_cast<std::uint16_t>(port)});
  };
  return Endpoints{at(0), at(1), at(2)};
}

std::string seen_from_outside(const std::string& address, const std::string& host) {
  const Result<net::Address> parsed = net::parse_address(address);
  const auto* tcp = parsed ? std::get_if<net::TcpAddress>(&*parsed) : nullptr;
  if (tcp == nullptr) return address;
  const bool everywhere = tcp->host == "0.0.0.0" || tcp->host == "*";
  if (host.empty() && !everywhere) return address;
  return net::to_string(net::TcpAddress{host.empty() ? agent::facts_of_host().name : host, tcp->port});
}

}  // namespace cadre::app
