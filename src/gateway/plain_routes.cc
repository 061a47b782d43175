#include "gateway/bodies.h"
#include "gateway/gateway.h"
#include "gateway/metrics.h"
#include "gateway/problem.h"
#include "gateway/static_file.h"

namespace cadre::gateway {
namespace {

constexpr std::string_view welcome =
    "This is the master of a cadre cluster.\n\n"
    "Its API is under /api/v1; /api/v1/openapi.json describes it. On the command line, `cadre --help`.\n";

}  // namespace

void Gateway::add_plain_routes() {
  add_route("GET", "/api/v1/health", [this](const Visit& visit) { health(visit); });
  add_route("GET", "/api/v1/openapi.json", [this](const Visit& visit) {
    net::http::Response response;
    response.document = openapi_;
    visit.answer(std::move(response));
  });
  add_route("GET", "/metrics", [this](const Visit& visit) { tasks_.spawn(metrics(visit)); });
}

void Gateway::health(const Visit& visit) const { visit.answer(json(Health{"ok", options_.version, started_})); }

loop::Task<void> Gateway::metrics(Visit visit) {
  std::vector<Metric> all = options_.metrics ? options_.metrics() : std::vector<Metric>();
  if (!options_.open_metrics || !net::http::find(visit.request().headers, "Authorization").empty()) {
    std::optional<api::Credential> who = credential_of(visit);
    if (!who) co_return;
    const api::Reply reply = co_await inquire(*std::move(who), api::GetMetrics{});
    const auto* of_parts = reply.as<api::Metrics>();
    if (of_parts == nullptr) co_return visit.answer(response_of(reply));
    all.insert(all.end(), of_parts->metrics.begin(), of_parts->metrics.end());
  }
  for (const MetricSet* set :
       std::initializer_list<const MetricSet*>{&server_->counters().metrics, &metrics_, &names_.counters().metrics}) {
    for (Metric& one : set->read()) all.push_back(std::move(one));
  }
  net::http::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = exposition(all);
  visit.answer(std::move(response));
}

loop::Task<void> Gateway::serve_file(Visit visit) {
  const std::string path(visit.request().path());
  net::http::Response response;
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  if (options_.web.empty()) {
    if (path != "/") co_return visit.answer(problem(404, "there is no " + path));
    response.content_type = "text/plain; charset=utf-8";
    response.body = welcome;
    co_return visit.answer(std::move(response));
  }
  Result<StaticFile> file = co_await deps_.pool.run([&] { return read_static(options_.web, path); });
  if (!file) co_return visit.answer(problem(file.error().code, file.error().message, {}));
  response.content_type = std::move(file->content_type);
  response.body = std::move(file->body);
  visit.answer(std::move(response));
}

}  // namespace cadre::gateway
