/// The HTTP gateway of the master: REST, WebSocket and static files. It gets everything from the master's services and
/// keeps no state that must survive. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "access/requests.h"
#include "api/operation.h"
#include "api/part.h"
#include "api/service.h"
#include "base/log.h"
#include "base/metric.h"
#include "base/result.h"
#include "cluster/bulk_endpoint.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "gateway/arguments.h"
#include "gateway/change_feed.h"
#include "gateway/name_service.h"
#include "gateway/rights.h"
#include "gateway/route_table.h"
#include "gateway/secrets.h"
#include "gateway/semaphore.h"
#include "gateway/waiting.h"
#include "loop/blocking_pool.h"
#include "loop/calendar.h"
#include "loop/real_loop.h"
#include "loop/tasks.h"
#include "net/http/server.h"

namespace cadre::gateway {

/// A part of the master, as far as clients see it.
struct PartInterface {
  std::string name;
  api::Operations operations;
  bool has_snapshot = false;
  api::Operations bulk_operations{};  ///< that `bulk` serves
  api::Service* bulk = nullptr;       ///< must outlive the gateway; null: it has none
  std::vector<api::ChangeKind> changes{};
};

struct Options {
  net::http::ServerOptions server;
  std::vector<PartInterface> parts;
  std::string version;
  std::string web;            ///< folder of the page; empty: there is none
  std::string pass_secret;    ///< by which tokens of tasks are signed
  bool open_metrics = false;  ///< whether /metrics takes no token
  std::uint64_t names_begin =
      1;  ///< from where epochs of names count on: more than any gateway of this cluster gave out
  std::uint64_t last_change = 0;
  std::vector<api::ChangeRow> changes;           ///< that were written last, up to `last_change`
  std::function<std::vector<Metric>()> metrics;  ///< beside those of the parts; called on the gateway's thread
};

class Gateway {
 public:
  /// Its dependencies; all of them must outlive it.
  struct Dependencies {
    loop::RealLoop& loop;
    Log& log;
    api::Service& service;
    cluster::BulkEndpoint& bulk;
    loop::BlockingPool& pool;  ///< for passwords, files and large bodies
  };

  [[nodiscard]] static Result<std::unique_ptr<Gateway>> open(const Dependencies& deps, Options options);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  ~Gateway();

  std::uint16_t port() const { return server_->port(); }

  // Replies of the services.
  void tell(api::CallId call, api::Reply reply) { replies_.tell(call, std::move(reply)); }
  void tell_bulk(api::CallId call, cluster::bulk::FromMaster message) { bulk_replies_.tell(call, std::move(message)); }
  void tell_changes(const std::vector<api::ChangeRow>& changes) { feed_.add(changes); }

 private:
  /// One request on its way. Shared with whoever answers it, which may be another's answer or a timer.
  struct Visit {
    std::shared_ptr<net::http::Exchange> exchange;
    PathNames names;
    const net::http::Request& request() const { return exchange->request(); }
    void answer(net::http::Response response) const { exchange->answer(std::move(response)); }
  };
  using Handler = std::function<void(const Visit&)>;
  /// Serves a request whose arguments were read, of a caller with a credential.
  using Serve = std::function<void(const Visit&, api::Credential, const api::Request&)>;
  using ReadRequest = tl::expected<api::Request, describe::Faults>;
  /// An operation, and how it is served.
  struct Served {
    api::Operation operation;
    Serve serve;
    bool is_anonymous() const { return operation.route.need == api::Need::nothing; }
    /// Safe on any thread.
    ReadRequest read(const Visit& visit) const {
      return arguments(operation, visit.names, visit.request()).and_then(operation.read);
    }
  };

  /// Of requests by method, route and class of the status.
  static constexpr std::size_t series_max = 1'000;

  Gateway(const Dependencies& deps, Options options);

  void take(std::unique_ptr<net::http::Exchange> exchange);
  void add_route(const api::Route& route, Handler handler);
  void add_route(std::string_view method, std::string_view path, Handler handler);
  void add_routes();
  /// Maximum size of the body of a request, as its route declares.
  ByteSize body_max_of(net::http::Method method, std::string_view target) const;

  // The caller (gateway.cc).
  /// The credential of the request; if there is none, sends an error.
  std::optional<api::Credential> credential_of(const Visit& visit) const;
  /// Whether it has no key, or a valid one, which is stored in `who`; otherwise sends an error.
  bool read_idempotency_key(const Visit& visit, api::Credential& who) const;
  void refuse_stranger(const Visit& visit, const std::string& why) const;
  /// Forwards the request to a service, and responds with its reply.
  void ask(api::Service& service, const Visit& visit, api::Credential who, api::Request request);
  /// The request is invalid; the faults are only sent to authenticated callers.
  void refuse(const Visit& visit, api::Credential who, const describe::Faults& faults);
  /// co_await inquire(who, request): the reply of the service.
  auto inquire(api::Credential who, api::Request request) {
    return replies_.ask([this, who = std::move(who), request = std::move(request)](api::CallId call) mutable {
      deps_.service.ask(call, std::move(who), std::move(request));
    });
  }
  /// Takes what is to be called when the client has disconnected.
  using OnGone = std::function<void(std::function<void()>)>;
  /// The same of the bulk side. With `on_gone`, it is refused when the client has disconnected.
  auto inquire_bulk(cluster::bulk::ToMaster message) {
    return bulk_replies_.ask(
        [this, message = std::move(message)](api::CallId call) mutable { deps_.bulk.ask(call, std::move(message)); });
  }
  auto inquire_bulk(cluster::bulk::ToMaster message, const OnGone& on_gone) {
    return bulk_replies_.ask([this, message = std::move(message), on_gone](api::CallId call) mutable {
      on_gone([this, call] {
        bulk_replies_.dismiss(call, cluster::bulk::Refused{0, Errc::unavailable, "the client has disconnected"});
      });
      deps_.bulk.ask(call, std::move(message));
    });
  }

  /// A route for an operation: reads its arguments, and serves callers that have a credential.
  void add_operation(const api::Operation& operation, Serve serve);
  /// Reads the arguments on the pool.
  loop::Task<void> read_large(Visit visit, api::Credential who, const Served& served);
  void serve_read(const Visit& visit, api::Credential who, const Served& served, ReadRequest request);
  /// Requests of this type are served by the gateway itself, which may ask the service for more than one thing.
  template <class T, class Fn>
  void serve_here(Fn fn) {
    served_here_[T::type_name] = [fn = std::move(fn)](const Visit& visit, api::Credential who,
                                                      const api::Request& request) {
      fn(visit, std::move(who), *request.as<T>());
    };
  }

  void add_cluster_requests();  // cluster_routes.cc
  void wait_for_job(const Visit& visit, const api::Credential& who, const cluster::requests::GetJob& request);
  /// Acknowledges how much of a command's output was sent to its client.
  void acknowledge(api::Credential who, cluster::requests::SendInput seen);
  loop::Task<void> run_exec(Visit visit, api::Credential who, cluster::requests::RunExec request);

  void add_access_requests();  // access_routes.cc
  loop::Task<void> login(Visit visit, access::Login request);
  loop::Task<void> create_user(Visit visit, api::Credential who, access::CreateUser request);
  loop::Task<void> set_user(Visit visit, api::Credential who, access::SetUser request);
  loop::Task<void> create_token(Visit visit, api::Credential who, access::CreateToken request);

  void add_output_requests();  // output_routes.cc
  loop::Task<void> read_logs(Visit visit, api::Credential who, cluster::requests::ReadLogs request);
  loop::Task<void> stream_logs(Visit visit, api::Credential who, cluster::requests::ReadLogs request);
  /// What it is given must outlive it.
  loop::Task<Result<cluster::requests::LogPage>> read_page(const OnGone& on_gone,
                                                           const cluster::requests::ReadLogs& request,
                                                           const cluster::requests::TaskView& task);
  loop::Task<void> get_code(Visit visit, api::Credential who, cluster::requests::GetCode request);
  loop::Task<void> put_code(Visit visit, api::Credential who, cluster::requests::PutCode request);

  void add_change_routes();  // change_routes.cc
  loop::Task<void> follow_changes(Visit visit, api::Credential who);
  /// Sends the current state of all parts. The change after which the client follows; nothing: the state cannot be read
  /// now, or `is_gone`. What it is given must outlive it.
  loop::Task<std::optional<std::uint64_t>> send_snapshot(net::http::WebSocket& socket, const api::Credential& who,
                                                         const access::UserView& user, bool& is_gone);

  void add_name_routes();  // name_routes.cc
  loop::Task<void> serve_name(Visit visit, api::Credential who, names::requests::Request request);

  void add_plain_routes();  // plain_routes.cc
  void health(const Visit& visit) const;
  loop::Task<void> metrics(Visit visit);
  loop::Task<void> serve_file(Visit visit);

  Dependencies deps_;
  const Options options_;
  const Passes passes_;
  loop::Calendar calendar_;
  MetricSet metrics_;
  mutable Counter strangers_{metrics_, "http_refused_strangers_total",
                             "Number of requests without a token, or with one that was not created here."};
  LabelledHistogram durations_{metrics_,
                               "http_request_seconds",
                               "Time from the receipt of a request to the start of its response, in seconds.",
                               {{"method", "route", "status"}, series_max},
                               buckets::seconds};
  Waiting<api::Reply> replies_;
  Waiting<cluster::bulk::FromMaster> bulk_replies_;
  Semaphore reading_;        ///< of output
  Semaphore reading_large_;  ///< of large bodies
  ChangeFeed feed_;
  Rights rights_;
  NameService names_;
  std::vector<std::unique_ptr<const Served>> operations_;  // their places must not change
  std::map<std::string_view, Serve> served_here_;          ///< by the names of the requests
  struct Endpoint {
    std::string route;  ///< template of its path
    Handler handler;
    ByteSize body_max{};
  };
  std::vector<Endpoint> endpoints_;
  RouteTable table_;
  std::shared_ptr<const std::string> openapi_;  // shared with answers that are under way
  TimePoint started_;
  loop::Tasks tasks_;
  std::unique_ptr<net::http::Server> server_;
};

}  // namespace cadre::gateway
