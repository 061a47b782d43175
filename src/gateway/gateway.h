/// The HTTP gateway of the master: REST, WebSocket and static files. It gets everything from the master's services and
/// keeps no state that must survive. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "cluster/desk.h"
#include "cluster/output.h"
#include "gateway/change_feed.h"
#include "gateway/name_desk.h"
#include "gateway/operation.h"
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

/// A metric for Prometheus.
struct Figure {
  std::string name;  ///< without `cadre_`; a count that only grows ends with _total
  std::string help;
  double value = 0;
};

struct Options {
  net::http::ServerOptions server;
  std::string version;
  std::string web;            ///< folder of the page; empty: there is none
  std::string pass_secret;    ///< by which tokens of tasks are signed
  bool open_metrics = false;  ///< whether /metrics takes no token
  std::uint64_t names_begin =
      1;  ///< from where epochs of names count on: more than any gateway of this cluster gave out
  std::uint64_t last_change = 0;
  std::vector<cluster::control::ChangeRow> changes;  ///< that were written last, up to `last_change`
  std::function<std::vector<Figure>()> figures;      ///< called on the gateway's thread
};

class Gateway {
 public:
  /// Its dependencies; all of them must outlive it.
  struct Ground {
    loop::RealLoop& loop;
    Log& log;
    cluster::Desk& desk;
    cluster::BulkDesk& bulk;
    loop::BlockingPool& pool;  ///< for passwords and files
  };

  [[nodiscard]] static Result<std::unique_ptr<Gateway>> open(const Ground& ground, Options options);
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;
  ~Gateway();

  std::uint16_t port() const { return server_->port(); }

  // Replies of the services.
  void tell(cluster::Desk::Asker asker, cluster::Told told) { told_.tell(asker, std::move(told)); }
  void tell_bulk(cluster::Desk::Asker asker, cluster::bulk::FromMaster message) {
    bulk_told_.tell(asker, std::move(message));
  }
  void tell_changes(const std::vector<cluster::control::ChangeRow>& changes) { feed_.add(changes); }

 private:
  /// One request on its way. Shared with whoever answers it, which may be another's answer or a timer.
  struct Visit {
    std::shared_ptr<net::http::Exchange> exchange;
    PathNames names;
    const net::http::Request& request() const { return exchange->request(); }
    void answer(net::http::Response response) const { exchange->answer(std::move(response)); }
  };
  using Handler = std::function<void(const Visit&)>;

  Gateway(const Ground& ground, Options options);

  void take(std::unique_ptr<net::http::Exchange> exchange);
  void add_route(const api::Route& route, Handler handler);
  void add_route(std::string_view method, std::string_view path, Handler handler);
  void add_routes();

  // The caller (gateway.cc).
  /// The credential of the request; if there is none, sends an error.
  std::optional<cluster::Credential> credential_of(const Visit& visit) const;
  /// Whether it has no key, or a valid one, which is stored in `who`; otherwise sends an error.
  bool read_idempotency_key(const Visit& visit, cluster::Credential& who) const;
  void refuse_stranger(const Visit& visit, const std::string& why) const;
  /// Forwards the request to the service, and responds with its reply.
  void ask(const Visit& visit, cluster::Credential who, cluster::Asked asked);
  /// The request is invalid; the faults are only sent to authenticated callers.
  void refuse(const Visit& visit, cluster::Credential who, const describe::Faults& faults);
  /// co_await inquire(who, asked): the reply of the service.
  auto inquire(cluster::Credential who, cluster::Asked asked) {
    return told_.ask([this, who = std::move(who), asked = std::move(asked)](cluster::Desk::Asker asker) mutable {
      ground_.desk.ask(asker, std::move(who), std::move(asked));
    });
  }
  /// The same of the bulk side. With a visit, it is refused once the peer of that is gone.
  auto inquire_bulk(cluster::bulk::ToMaster message) {
    return bulk_told_.ask([this, message = std::move(message)](cluster::Desk::Asker asker) mutable {
      ground_.bulk.ask(asker, std::move(message));
    });
  }
  auto inquire_bulk(cluster::bulk::ToMaster message, const Visit& visit) {
    return bulk_told_.ask([this, message = std::move(message), visit](cluster::Desk::Asker asker) mutable {
      visit.exchange->on_gone([this, asker] {
        bulk_told_.dismiss(asker, cluster::bulk::Refused{0, Errc::unavailable, "the client is gone"});
      });
      ground_.bulk.ask(asker, std::move(message));
    });
  }

  // gateway/requests.h
  /// A route for a request: reads its arguments, and serves callers that have a credential.
  template <class T, class Serve>
  void add_request(Serve serve);
  /// The same for all of a choice that have one.
  template <class Serve, class... Ts>
  void add_requests(Serve serve, std::type_identity<std::variant<Ts...>>);

  void add_cluster_routes();  // cluster_routes.cc
  void wait_for_job(const Visit& visit, const cluster::Credential& who, const cluster::requests::GetJob& request);
  /// Acknowledges how much of a command's output was sent to its client.
  void acknowledge(cluster::Credential who, cluster::requests::SendInput seen);
  loop::Task<void> run_exec(Visit visit, cluster::Credential who, cluster::requests::RunExec request);

  void add_access_routes();  // access_routes.cc
  loop::Task<void> login(Visit visit, access::Login request);
  loop::Task<void> create_user(Visit visit, cluster::Credential who, access::CreateUser request);
  loop::Task<void> set_user(Visit visit, cluster::Credential who, access::SetUser request);
  loop::Task<void> create_token(Visit visit, cluster::Credential who, access::CreateToken request);

  void add_output_routes();  // output_routes.cc
  loop::Task<void> read_logs(Visit visit, cluster::Credential who, cluster::requests::ReadLogs request);
  loop::Task<void> stream_logs(Visit visit, cluster::Credential who, cluster::requests::ReadLogs request);
  /// What it is given must outlive it.
  loop::Task<Result<cluster::requests::LogPage>> read_page(const Visit& visit,
                                                           const cluster::requests::ReadLogs& request,
                                                           const cluster::requests::TaskView& task);
  loop::Task<void> get_code(Visit visit, cluster::Credential who, cluster::requests::GetCode request);
  loop::Task<void> put_code(Visit visit, cluster::Credential who, cluster::requests::PutCode request);

  void add_change_routes();  // change_routes.cc
  loop::Task<void> follow_changes(Visit visit, cluster::Credential who);

  void add_name_routes();  // name_routes.cc
  loop::Task<void> serve_name(Visit visit, cluster::Credential who, names::requests::Request request);

  void add_plain_routes();  // plain_routes.cc
  void health(const Visit& visit) const;
  loop::Task<void> metrics(Visit visit);
  loop::Task<void> serve_file(Visit visit);

  Ground ground_;
  const Options options_;
  const Passes passes_;
  loop::Calendar calendar_;
  Waiting<cluster::Told> told_;
  Waiting<cluster::bulk::FromMaster> bulk_told_;
  Semaphore reading_;  ///< of output
  ChangeFeed feed_;
  Rights rights_;
  NameDesk names_;
  std::vector<std::unique_ptr<Operation>> operations_;  // their places must not change
  std::vector<Handler> handlers_;
  RouteTable table_;
  std::shared_ptr<const std::string> openapi_;  // shared with answers that are under way
  mutable std::uint64_t strangers_ = 0;         ///< requests without a token, or with one that was not created here
  TimePoint started_;
  loop::Tasks tasks_;
  std::unique_ptr<net::http::Server> server_;
};

}  // namespace cadre::gateway
