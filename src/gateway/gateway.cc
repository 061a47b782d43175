#include "gateway/gateway.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/protocol.h"
#include "cluster/bulk.h"
#include "gateway/bodies.h"
#include "gateway/openapi.h"
#include "gateway/problem.h"
#include "gateway/timed_exchange.h"

namespace cadre::gateway {
namespace {

using net::http::Method;

/// Of those who read output at a time; what each reads stays in memory until it is sent.
constexpr std::size_t readers_max = 32;
/// Reading a body of this size takes some tenths of a millisecond; larger ones must not hold up other requests.
constexpr std::size_t large_body = 64 << 10;
constexpr std::string_view bearer = "Bearer ";

}  // namespace

Result<std::unique_ptr<Gateway>> Gateway::open(const Dependencies& deps, Options options) {
  net::http::ServerOptions server = options.server;
  std::unique_ptr<Gateway> gateway(new Gateway(deps, std::move(options)));
  server.body_max = [self = gateway.get()](Method method, std::string_view target) {
    return self->body_max_of(method, target);
  };
  TRY_ASSIGN(listening,
             net::http::Server::listen(deps.loop, deps.log, std::move(server),
                                       [self = gateway.get()](std::unique_ptr<net::http::Exchange> exchange) {
                                         self->take(std::move(exchange));
                                       }));
  gateway->server_ = std::move(listening);
  return gateway;
}

Gateway::Gateway(const Dependencies& deps, Options options)
    : deps_(deps),
      options_(std::move(options)),
      passes_(options_.pass_secret),
      calendar_(deps.loop),
      replies_([this](api::CallId call) { deps_.service.forget(call); }),
      bulk_replies_([this](api::CallId call) { deps_.bulk.forget(call); }),
      reading_(deps_.loop, readers_max),
      reading_large_(deps_.loop, 1),
      feed_(options_.last_change, options_.changes),
      names_(deps.loop, options_.names_begin),
      started_(calendar_.now()),
      tasks_(deps.loop) {
  add_routes();
}

Gateway::~Gateway() {
  server_.reset();
  tasks_.destroy_all();
}

void Gateway::add_route(std::string_view method, std::string_view path, Handler handler) {
  table_.add(method, path, endpoints_.size());
  endpoints_.push_back({std::string(path), std::move(handler)});
}

void Gateway::add_route(const api::Route& route, Handler handler) {
  add_route(route.method, "/api/v1" + std::string(route.path), std::move(handler));
  endpoints_.back().body_max = route.body_max;
}

ByteSize Gateway::body_max_of(Method method, std::string_view target) const {
  const RouteTable::Outcome found = table_.find(method, target.substr(0, target.find('?')));
  return found.match ? endpoints_[found.match->meaning].body_max : api::Route{}.body_max;
}

void Gateway::add_operation(const api::Operation& operation, Serve serve) {
  operations_.push_back(std::make_unique<const Served>(Served{operation, std::move(serve)}));
  add_route(operation.route, [this, &served = *operations_.back()](const Visit& visit) {
    std::optional<api::Credential> who = api::Credential{"", "", visit.request().peer};
    if (!served.is_anonymous()) who = credential_of(visit);
    if (!who) return;
    who->body_bytes = visit.request().body.size();
    if (who->body_bytes >= large_body) return tasks_.spawn(read_large(visit, *std::move(who), served));
    serve_read(visit, *std::move(who), served, served.read(visit));
  });
}

loop::Task<void> Gateway::read_large(Visit visit, api::Credential who, const Served& served) {
  const Semaphore::Permit permit = co_await reading_large_.acquire();
  std::optional<ReadRequest> request;
  const Result<void> done = co_await deps_.pool.run([&]() -> Result<void> {
    request = served.read(visit);
    return {};
  });
  if (!done) co_return visit.answer(problem(done.error().code, done.error().message, {}));
  serve_read(visit, std::move(who), served, *std::move(request));
}

void Gateway::serve_read(const Visit& visit, api::Credential who, const Served& served, ReadRequest request) {
  if (served.operation.route.body == api::Body::fields) visit.exchange->release_body();  // the request may wait long
  if (request) return served.serve(visit, std::move(who), *request);
  served.is_anonymous() ? visit.answer(problem(request.error())) : refuse(visit, std::move(who), request.error());
}

void Gateway::add_routes() {
  add_cluster_requests();
  add_access_requests();
  add_output_requests();
  const auto forward_to = [this](api::Service& service) -> Serve {
    return [this, &service](const Visit& visit, api::Credential who, const api::Request& request) {
      ask(service, visit, std::move(who), request);
    };
  };
  for (const PartInterface& part : options_.parts) {
    for (const api::Operation& operation : part.operations) {
      const auto here = served_here_.find(operation.name);
      add_operation(operation, here == served_here_.end() ? forward_to(deps_.service) : here->second);
    }
    for (const api::Operation& operation : part.bulk_operations) {
      // The audit log and the idempotency keys belong to the control loop, which these requests do not pass.
      CHECK(part.bulk != nullptr && !operation.route.is_in_audit() && !operation.route.is_keyed());
      add_operation(operation, forward_to(*part.bulk));
    }
  }
  add_change_routes();
  add_name_routes();
  add_plain_routes();
  openapi_ = std::make_shared<const std::string>(openapi_document(options_.version, options_.parts));
}

void Gateway::take(std::unique_ptr<net::http::Exchange> exchange) {
  const auto timed = std::make_shared<TimedExchange>(std::move(exchange), deps_.loop, durations_);
  Visit visit{timed, {}};
  const net::http::Request& request = visit.request();
  if (const auto theirs = protocol::parse_header(net::http::find(request.headers, protocol::header_name))) {
    if (auto why = protocol::mismatch("this client", *theirs, "the master")) {
      return visit.answer(problem(426, *std::move(why)));
    }
  }
  const RouteTable::Outcome found = table_.find(request.method, request.path());
  if (found.match) {
    const Endpoint& endpoint = endpoints_[found.match->meaning];
    timed->set_route(endpoint.route);
    visit.names = found.match->names;
    return endpoint.handler(visit);
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
  timed->set_route("file");
  tasks_.spawn(serve_file(visit));
}

std::optional<api::Credential> Gateway::credential_of(const Visit& visit) const {
  std::string_view header = net::http::find(visit.request().headers, "Authorization");
  if (!header.starts_with(bearer)) {
    refuse_stranger(visit, "a token is required: send Authorization: Bearer TOKEN; get one with cadre login");
    return std::nullopt;
  }
  header.remove_prefix(bearer.size());
  api::Credential who{"", "", visit.request().peer};
  if (!read_idempotency_key(visit, who)) return std::nullopt;
  if (!Passes::is_pass(header)) {
    who.token_hash = hash_of_token(header);
    return who;
  }
  if (const auto lease = passes_.check(header)) {
    who.lease = to_string(*lease);
    return who;
  }
  refuse_stranger(visit, "unknown token");
  return std::nullopt;
}

bool Gateway::read_idempotency_key(const Visit& visit, api::Credential& who) const {
  const net::http::Request& request = visit.request();
  const std::string_view key = net::http::find(request.headers, "Idempotency-Key");
  if (key.empty() || request.method != Method::post) return true;
  const bool is_plain = std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!is_plain || key.size() > api::idempotency_key_most) {
    visit.answer(problem(400, "the Idempotency-Key must be 1 to " + std::to_string(api::idempotency_key_most) +
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
    deps_.log.warning("a request from " + visit.request().peer + " was refused: " + why + " (" +
                      std::to_string(strangers_) + " so far)");
  }
  visit.answer(unauthenticated(why));
}

void Gateway::ask(api::Service& service, const Visit& visit, api::Credential who, api::Request request) {
  const api::CallId call =
      replies_.add([exchange = visit.exchange](const api::Reply& reply) { exchange->answer(response_of(reply)); });
  visit.exchange->on_gone([this, call] { replies_.forget(call); });
  service.ask(call, std::move(who), std::move(request));
}

void Gateway::refuse(const Visit& visit, api::Credential who, const describe::Faults& faults) {
  const api::CallId call = replies_.add([exchange = visit.exchange, faults](const api::Reply& reply) {
    exchange->answer(reply.is_unauthenticated() ? response_of(reply) : problem(faults));
  });
  visit.exchange->on_gone([this, call] { replies_.forget(call); });
  deps_.service.ask(call, std::move(who), access::GetMe{});
}

}  // namespace cadre::gateway
