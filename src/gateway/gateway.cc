#include "gateway/gateway.h"

#include <algorithm>
#include <utility>

#include "base/protocol.h"
#include "cluster/bulk.h"
#include "gateway/bodies.h"
#include "gateway/openapi.h"
#include "gateway/requests.h"

namespace cadre::gateway {
namespace {

using net::http::Method;

constexpr ByteSize body_max{4 << 20};
/// Of those who read output at a time; what each reads stays in memory until it is sent.
constexpr std::size_t readers_max = 32;
constexpr std::string_view bearer = "Bearer ";

ByteSize body_max_of(Method, std::string_view target) {
  return target.starts_with("/api/v1/login") ? ByteSize{16 << 10} : body_max;
}

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::open(const Ground& ground, Options options) {
  net::http::ServerOptions server = options.server;
  server.body_max = body_max_of;
  std::unique_ptr<Gateway> gateway(new Gateway(ground, std::move(options)));
  TRY_ASSIGN(listening,
             net::http::Server::listen(ground.loop, ground.log, std::move(server),
                                       [self = gateway.get()](std::unique_ptr<net::http::Exchange> exchange) {
                                         self->take(std::move(exchange));
                                       }));
  gateway->server_ = std::move(listening);
  return gateway;
}

Gateway::Gateway(const Ground& ground, Options options)
    : ground_(ground),
      options_(std::move(options)),
      passes_(options_.pass_secret),
      calendar_(ground.loop),
      told_([this](cluster::Desk::Asker asker) { ground_.desk.forget(asker); }),
      bulk_told_([this](cluster::Desk::Asker asker) { ground_.bulk.forget(asker); }),
      reading_(ground_.loop, readers_max),
      feed_(options_.last_change, options_.changes),
      names_(ground.loop, options_.names_begin),
      started_(calendar_.now()),
      tasks_(ground.loop) {
  add_routes();
}

Gateway::~Gateway() {
  server_.reset();
  tasks_.destroy_all();
}

void Gateway::add_route(std::string_view method, std::string_view path, Handler handler) {
  table_.add(method, path, handlers_.size());
  handlers_.push_back(std::move(handler));
}

void Gateway::add_route(const api::Route& route, Handler handler) {
  add_route(route.method, "/api/v1" + std::string(route.path), std::move(handler));
}

void Gateway::add_routes() {
  add_cluster_routes();
  add_access_routes();
  add_output_routes();
  add_change_routes();
  add_name_routes();
  add_plain_routes();
  openapi_ = std::make_shared<const std::string>(openapi_document(options_.version));
}

void Gateway::take(std::unique_ptr<net::http::Exchange> exchange) {
  Visit visit{std::move(exchange), {}};
  const net::http::Request& request = visit.request();
  if (const auto theirs = protocol::parse_header(net::http::find(request.headers, protocol::header_name))) {
    if (auto why = protocol::mismatch("this client", *theirs, "the master")) {
      return visit.answer(problem(426, *std::move(why)));
    }
  }
  const RouteTable::Outcome found = table_.find(request.method, request.path());
  if (found.match) {
    visit.names = found.match->names;
    return handlers_[found.match->meaning](visit);
  }
  const std::string path(request.path());
  if (found.is_faulty) return visit.answer(problem(400, "invalid escape in the path: " + path));
  if (!found.allowed.empty()) {
    net::http::Response response =
        problem(405, std::string(to_string(request.method)) + " is not allowed for " + path + "; use " + found.allowed);
    response.headers.emplace_back("Allow", found.allowed);
    return visit.answer(std::move(response));
  }
  if (path.starts_with("/api/") || (request.method != Method::get && request.method != Method::head)) {
    return visit.answer(problem(404, "there is no " + path + "; see /api/v1/openapi.json"));
  }
  tasks_.spawn(serve_file(visit));
}

std::optional<cluster::Credential> Gateway::credential_of(const Visit& visit) const {
  std::string_view header = net::http::find(visit.request().headers, "Authorization");
  if (!header.starts_with(bearer)) {
    refuse_stranger(visit, "a token is required: send Authorization: Bearer TOKEN; get one with cadre login");
    return std::nullopt;
  }
  header.remove_prefix(bearer.size());
  cluster::Credential who{"", std::nullopt, visit.request().peer};
  if (!read_idempotency_key(visit, who)) return std::nullopt;
  if (!Passes::is_pass(header)) {
    who.token_hash = hash_of_token(header);
    return who;
  }
  who.lease = passes_.check(header);
  if (who.lease) return who;
  refuse_stranger(visit, "unknown token");
  return std::nullopt;
}

bool Gateway::read_idempotency_key(const Visit& visit, cluster::Credential& who) const {
  const net::http::Request& request = visit.request();
  const std::string_view key = net::http::find(request.headers, "Idempotency-Key");
  if (key.empty() || request.method != Method::post) return true;
  const bool is_plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_plain || key.size() > access::idempotency_key_most) {
    visit.answer(problem(400, "the Idempotency-Key must be 1 to " + std::to_string(access::idempotency_key_most) +
                                  " visible ASCII characters; use a random one for each request"));
    return false;
  }
  who.idempotency.key = key;
  who.idempotency.fingerprint = passes_.digest("request", std::string(request.path()) + "\n" + request.body);
  return true;
}

void Gateway::refuse_stranger(const Visit& visit, const std::string& why) const {
  ++strangers_;
  if ((strangers_ & (strangers_ - 1)) == 0) {  // the 1st, 2nd, 4th, 8th …
    ground_.log.warning("a request from " + visit.request().peer + " was refused: " + why + " (" +
                        std::to_string(strangers_) + " so far)");
  }
  visit.answer(unknown(why));
}

void Gateway::ask(const Visit& visit, cluster::Credential who, cluster::Asked asked) {
  const cluster::Desk::Asker asker =
      told_.add([exchange = visit.exchange](const cluster::Told& told) { exchange->answer(response_of(told)); });
  visit.exchange->on_gone([this, asker] { told_.forget(asker); });
  ground_.desk.ask(asker, std::move(who), std::move(asked));
}

void Gateway::refuse(const Visit& visit, cluster::Credential who, const describe::Faults& faults) {
  const cluster::Desk::Asker asker = told_.add([exchange = visit.exchange, faults](const cluster::Told& told) {
    const bool is_known = !std::holds_alternative<cluster::Unknown>(told);
    exchange->answer(is_known ? problem(faults) : response_of(told));
  });
  visit.exchange->on_gone([this, asker] { told_.forget(asker); });
  ground_.desk.ask(asker, std::move(who), access::Request(access::GetMe{}));
}

}  // namespace cadre::gateway
