#include "tests/servers/links.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace cadre::servers {
namespace {

using loop::Descriptor;

void check(bool done, const std::string& what) {
  if (!done) throw std::system_error(errno, std::generic_category(), what);
}

Descriptor open_socket(int family, int type, int protocol) {
  Descriptor socket(::socket(family, type | SOCK_CLOEXEC, protocol));
  check(bool(socket), "socket");
  return socket;
}

/// A request to the kernel, put together piece by piece.
class NetlinkMessage {
 public:
  NetlinkMessage(std::uint16_t type, std::uint16_t flags) {
    nlmsghdr header{};
    header.nlmsg_type = type;
    header.nlmsg_flags = flags;
    append(&header, sizeof(header));
  }

  void append(const void* bytes, std::size_t size) {
    bytes_.append(static_cast<const char*>(bytes), size);
    bytes_.resize(NLMSG_ALIGN(bytes_.size()));
  }
  void attribute(std::uint16_t type, const void* bytes, std::size_t size) {
    const std::size_t at = open(type);
    append(bytes, size);
    set_length(at, RTA_LENGTH(size));
  }
  /// What is appended up to close() is inside of the attribute.
  std::size_t open(std::uint16_t type) {
    const std::size_t at = bytes_.size();
    const rtattr header{0, type};
    append(&header, sizeof(header));
    return at;
  }
  void close(std::size_t at) { set_length(at, bytes_.size() - at); }

  /// Sends it and waits for the answer.
  void ask(const std::string& what) {
    const auto length = static_cast<std::uint32_t>(bytes_.size());
    std::memcpy(bytes_.data() + offsetof(nlmsghdr, nlmsg_len), &length, sizeof(length));
    const Descriptor socket = open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    check(send(socket.get(), bytes_.data(), bytes_.size(), 0) == static_cast<ssize_t>(bytes_.size()), what);
    struct {
      nlmsghdr header;
      nlmsgerr error;
      char request[4096];
    } answer{};
    check(recv(socket.get(), &answer, sizeof(answer), 0) >= 0, what);
    errno = -answer.error.error;
    check(answer.header.nlmsg_type == NLMSG_ERROR && errno == 0, what);
  }

 private:
  void set_length(std::size_t at, std::size_t length) {
    const auto value = static_cast<std::uint16_t>(length);
    std::memcpy(bytes_.data() + at + offsetof(rtattr, rta_len), &value, sizeof(value));
  }

  std::string bytes_;
};

void append_end(NetlinkMessage& message, const CableEnd& end) {
  const ifinfomsg any{};
  message.append(&any, sizeof(any));
  message.attribute(IFLA_IFNAME, end.interface.c_str(), end.interface.size() + 1);
  message.attribute(IFLA_ADDRESS, end.hardware_address.data(), end.hardware_address.size());
}

ifreq request_for(const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  return request;
}

void put_address(const std::string& text, sockaddr& place) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text.c_str(), &address.sin_addr);
  std::memcpy(&place, &address, sizeof(address));
}

}  // namespace

void lay_cable(const CableEnd& here, const CableEnd& there, int network_there) {
  NetlinkMessage message(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK);
  append_end(message, here);
  const std::size_t info = message.open(IFLA_LINKINFO);
  message.attribute(IFLA_INFO_KIND, "veth", 4);
  const std::size_t data = message.open(IFLA_INFO_DATA);
  const std::size_t peer = message.open(VETH_INFO_PEER);
  append_end(message, there);
  message.attribute(IFLA_NET_NS_FD, &network_there, sizeof(network_there));
  message.close(peer);
  message.close(data);
  message.close(info);
  message.ask("lay a cable (veth)");
}

void set_address(const std::string& interface, const std::string& address) {
  const Descriptor socket = open_socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request = request_for(interface);
  put_address(address, request.ifr_addr);
  check(ioctl(socket.get(), SIOCSIFADDR, &request) == 0, "set the address of " + interface);
  put_address("255.255.255.0", request.ifr_netmask);
  check(ioctl(socket.get(), SIOCSIFNETMASK, &request) == 0, "set the netmask of " + interface);
}

void bring_up(const std::string& interface) {
  const Descriptor socket = open_socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request = request_for(interface);
  request.ifr_flags = IFF_UP;
  check(ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0, "bring up " + interface);
}

Descriptor open_frames(const std::string& interface) {
  Descriptor socket = open_socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0);
  const int yes = 1;
  const int buffer_bytes = 8 << 20;  // cut down to net.core.rmem_max
  check(setsockopt(socket.get(), SOL_PACKET, PACKET_VNET_HDR, &yes, sizeof(yes)) == 0, "PACKET_VNET_HDR");
  // The queue before the interface is made some time after the cable is laid; until then it would drop everything.
  check(setsockopt(socket.get(), SOL_PACKET, PACKET_QDISC_BYPASS, &yes, sizeof(yes)) == 0, "PACKET_QDISC_BYPASS");
  check(setsockopt(socket.get(), SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes)) == 0, "PACKET_IGNORE_OUTGOING");
  check(setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes)) == 0, "SO_RCVBUF");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  check(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0, "listen to " + interface);
  return socket;
}

}  // namespace cadre::servers
