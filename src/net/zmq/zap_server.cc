#include "net/zmq/zap_server.h"

#include <array>
#include <optional>

#include "net/zmq/socket.h"

namespace cadre::net {
namespace {

constexpr int requests_at_once = 64;
enum Part : std::size_t { version, request_id, domain, address, identity, mechanism, credentials, parts_max };

zmq::socket_t bind_zap(zmq::context_t& context) {
  zmq::socket_t socket(context, zmq::socket_type::rep);
  socket.set(zmq::sockopt::linger, 0);
  socket.bind("inproc://zeromq.zap.01");
  return socket;
}

std::optional<PublicKey> key_of(const zmq::message_t& raw) {
  constexpr std::size_t key_bytes = 32;
  constexpr std::size_t key_characters = 40;
  if (raw.size() != key_bytes) return std::nullopt;
  std::array<char, key_characters + 1> text{};
  zmq_z85_encode(text.data(), raw.data<std::uint8_t>(), raw.size());
  const auto key = parse_public_key({text.data(), key_characters});
  return key ? std::optional(*key) : std::nullopt;
}

}  // namespace

ZapServer::ZapServer(loop::RealLoop& loop, zmq::context_t& context)
    : socket_(bind_zap(context)), watch_(loop, socket_, [this] { return take(); }) {}

ZmqWatch::Left ZapServer::take() {
  for (int taken = 0; taken < requests_at_once; ++taken) {
    const std::vector<zmq::message_t> request = receive_parts(socket_, parts_max + 1);
    if (request.empty()) return ZmqWatch::Left::nothing;
    const std::string user = judge(request);
    const BytesView id = request.size() > request_id ? bytes_of(request[request_id]) : BytesView();
    const BytesView status = as_bytes(user.empty() ? "400" : "200");
    static_cast<void>(send_parts(socket_, {as_bytes("1.0"), id, status, BytesView(), as_bytes(user), BytesView()}));
  }
  return ZmqWatch::Left::something;
}

/// Whom to note on the connection's messages; empty: it may not come in.
std::string ZapServer::judge(const std::vector<zmq::message_t>& request) {
  const auto part = [&](Part which) { return request[which].to_string_view(); };
  const bool whole = (request.size() == credentials || request.size() == parts_max) && part(version) == "1.0";
  const bool curve = whole && part(mechanism) == "CURVE" && request.size() == parts_max;
  const bool plain = whole && part(mechanism) == "NULL" && request.size() == credentials;
  const std::optional<PublicKey> key = curve ? key_of(request[credentials]) : PublicKey();
  if ((!curve && !plain) || !key) return ++malformed_, "";
  const auto found = judges_.find(request[domain].to_string());
  if (found == judges_.end() || !found->second(*key, part(address))) return "";
  if (!curve) return std::string(unix_user);
  return std::string(part(domain).ends_with(local_domain_end) ? local_prefix : "") + key->text();
}

}  // namespace cadre::net
