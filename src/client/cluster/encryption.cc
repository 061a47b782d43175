#include "client/cluster/encryption.h"

#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>

#include "base/result.h"
#include "describe/utf8.h"
#include "loop/real_loop.h"
#include "net/http/client.h"

namespace cadre::client {
namespace {

constexpr std::string_view plain_scheme = "http://";
constexpr Duration probe_wait = std::chrono::seconds(3);

enum class Speaks { tls, plain, nothing };

loop::Task<void> ask_both(net::http::Client& client, const std::string& place, std::optional<Speaks>& found) {
  net::http::Question question;
  question.url = "https://" + place + "/api/v1/health";
  question.wait = probe_wait;
  const Result<net::http::Response> encrypted = co_await client.ask(question);
  if (encrypted || encrypted.error().code == Errc::denied) {  // also one whose certificate is not believed
    found = Speaks::tls;
    co_return;
  }
  question.url = "http://" + place + "/api/v1/health";
  const Result<net::http::Response> plain = co_await client.ask(question);
  found = plain ? Speaks::plain : Speaks::nothing;
}

Speaks probe(const std::string& place) {
  loop::RealLoop loop;
  net::http::Client client(loop, {});
  std::optional<Speaks> found;
  loop.spawn(ask_both(client, place, found));
  static_cast<void>(loop.run_until(loop.now() + 3 * probe_wait, [&] { return found.has_value(); }));
  loop.destroy_tasks();
  return found.value_or(Speaks::nothing);
}

bool is_own_host(std::string_view place) {
  place = place.substr(place.rfind('@') + 1);
  return place.starts_with("127.") || place.starts_with("localhost") || place.starts_with("[::1]");
}

void warn_once(const std::string& url) {
  static std::mutex mutex;
  static std::set<std::string> warned;
  const std::lock_guard lock(mutex);
  if (!warned.insert(url).second) return;
  std::fprintf(stderr,
               "cadre: the connection to %s is not encrypted: its master has no TLS (cadre master --tls-cert)\n",
               describe::escaped(url).c_str());
}

}  // namespace

bool answers(const std::string& url) { return probe(url.substr(url.find("://") + 3)) != Speaks::nothing; }

std::string prefer_tls(const std::string& http_url) {
  if (!http_url.starts_with(plain_scheme)) return http_url;
  const std::string place = http_url.substr(plain_scheme.size());
  const Speaks speaks = probe(place);
  if (speaks == Speaks::tls) return "https://" + place;
  if (speaks == Speaks::plain && !is_own_host(place)) warn_once(http_url);
  return http_url;
}

}  // namespace cadre::client
