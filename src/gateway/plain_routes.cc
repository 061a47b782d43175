#include "gateway/bodies.h"
#include "gateway/metrics.h"
#include "gateway/requests.h"
#include "gateway/static_file.h"

namespace cadre::gateway {
namespace {

using cluster::Told;
namespace requests = cluster::requests;

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
  std::optional<requests::Status> status;
  if (!options_.open_metrics || !net::http::find(visit.request().headers, "Authorization").empty()) {
    std::optional<cluster::Credential> who = credential_of(visit);
    if (!who) co_return;
    requests::Request question = requests::GetStatus{};
    const Told told = co_await inquire(*std::move(who), std::move(question));
    const auto* reply = std::get_if<requests::Reply>(&told);
    if (reply == nullptr || !std::holds_alternative<requests::Status>(*reply))
      co_return visit.answer(response_of(told));
    status = std::get<requests::Status>(*reply);
  }
  std::vector<Figure> figures = options_.figures ? options_.figures() : std::vector<Figure>();
  if (status) add_figures(*status, figures);
  add_figures(server_->counters(), figures);
  add_figures(names_.counters(), figures);
  figures.push_back({"http_refused_strangers_total",
                     "Number of requests without a token, or with one that was not created here.",
                     static_cast<double>(strangers_)});
  net::http::Response response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = exposition(figures);
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
  Result<StaticFile> file = co_await ground_.pool.run([&] { return read_static(options_.web, path); });
  if (!file) co_return visit.answer(problem(file.error().code, file.error().message, {}));
  response.content_type = std::move(file->content_type);
  response.body = std::move(file->body);
  visit.answer(std::move(response));
}

}  // namespace cadre::gateway
