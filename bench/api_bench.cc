#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "bench/bench.h"
#include "bench/cluster_for_bench.h"
#include "bench/http_load.h"

namespace cadre::bench {
namespace {

namespace requests = cluster::requests;

constexpr int idle_connections = 1'000;

std::uint16_t port_of(const std::string& url) {
  return static_cast<std::uint16_t>(std::atoi(url.substr(url.rfind(':') + 1).c_str()));
}

std::string get(const std::string& path, const std::string& token) {
  return "GET " + path + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + token + "\r\n\r\n";
}

std::string post(const std::string& path, const std::string& token, const std::string& body) {
  return "POST " + path + " HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer " + token +
         "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// The bare server, with as many connections that say nothing.
Result<LoadResult> hello(const std::string& folder) {
  const Process program(raw_program("beast_hello"), {}, folder + "/hello");
  std::uint16_t port = 0;
  for (int i = 0; i < 500 && port == 0; ++i) {
    ::usleep(10'000);
    std::ifstream(folder + "/hello") >> port;
  }
  if (port == 0) return fail(Errc::unavailable, "beast_hello did not start; build it with make bench");
  TRY_ASSIGN(idle, IdleConnections::open(port, idle_connections));
  return run_load({port, get("/", "none")});
}

}  // namespace

Result<Figures> bench_api() {
  const Scratch scratch;
  const std::string data = scratch.path() + "/master";
  const Process master({"master", "--data", data, "--port", "0"}, scratch.path() + "/master.log");
  TRY_ASSIGN(client, Client::connect(data));
  requests::Submit job = job_of({"true"});
  TRY_ASSIGN(jobs, client->ask(std::vector<requests::Submit>(100, job)));
  const std::uint16_t port = port_of(client->master().url);
  const std::string& token = client->master().token;
  TRY_ASSIGN(idle, IdleConnections::open(port, idle_connections));
  TRY_ASSIGN(limit, hello(scratch.path()));
  Figures figures{"api", {}};
  figures.rows.push_back({"bare Beast hello, p50", limit.p50_ms, "ms", {}, {}});
  figures.rows.push_back({"bare Beast hello, p99", limit.p99_ms, "ms", {}, {}});
  const auto measure = [&](const std::string& name, const std::string& request) -> Result<void> {
    TRY_ASSIGN(result, run_load({port, request}));
    figures.rows.push_back({name, result.per_second, "1/s", limit.per_second, result.per_second / limit.per_second});
    figures.rows.push_back({name + ", p50", result.p50_ms, "ms", limit.p50_ms, result.p50_ms / limit.p50_ms});
    figures.rows.push_back({name + ", p99", result.p99_ms, "ms", limit.p99_ms, result.p99_ms / limit.p99_ms});
    return {};
  };
  const std::string id = std::to_string(jobs.front().id.value);
  TRY(measure("health", get("/api/v1/health", token)));
  TRY(measure("describe a job", get("/api/v1/jobs/" + id, token)));
  TRY(measure("list 20 jobs", get("/api/v1/jobs?most=20", token)));
  TRY(measure("submit a job", post("/api/v1/jobs", token, describe::write_json(job))));
  return figures;
}

}  // namespace cadre::bench
