#include "app/listener.h"

#include <chrono>
#include <thread>

#include "app/gateway_thread.h"
#include "describe/describe.h"
#include "loop/file.h"
#include "net/http/listener.h"

namespace cadre::app {
namespace {

using namespace std::chrono_literals;

constexpr int attempts_max = 25;
constexpr auto between_attempts = 200ms;

/// The port that the master of this folder had before; 0: none.
std::uint16_t port_before(const cluster::DataFolder& data) {
  const Result<std::string> text = loop::read_file(data.client_file());
  if (!text) return 0;
  const auto known = describe::read_json_of_peer<cluster::KnownMaster>(*text);
  if (!known) return 0;
  const std::string_view url = known->url;
  const std::size_t scheme = url.find("://");
  const Result<net::HostPort> before =
      net::parse_host_port(url.substr(scheme == std::string_view::npos ? 0 : scheme + 3));
  return before ? before->port.value_or(0) : 0;
}

}  // namespace

Result<loop::Descriptor> open_listener(const master::Http& http, const cluster::DataFolder& data, Log& log) {
  TRY_ASSIGN(where, parse_http_listen(http.listen));
  if (const std::uint16_t before = where.port == 0 ? port_before(data) : 0; before != 0) {
    if (Result<loop::Descriptor> same = net::http::listen_at(where.host, before)) return same;
  }
  for (int attempt = 1;; ++attempt) {
    Result<loop::Descriptor> listener = net::http::listen_at(where.host, where.port);
    if (listener || listener.error().code != Errc::conflict) return listener;
    if (attempt == attempts_max) {
      return fail(Errc::conflict, listener.error().message +
                                      "; choose another port with --port N, or another address with --http HOST:PORT");
    }
    if (attempt == 1) log.warning(listener.error().message + "; retrying for 5 s");
    std::this_thread::sleep_for(between_attempts);
  }
}

}  // namespace cadre::app
