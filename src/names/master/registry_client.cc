#include "names/master/registry_client.h"

#include <algorithm>

#include "api/problem.h"
#include "base/protocol.h"
#include "names/backoff.h"
#include "net/http/fields.h"

namespace cadre::names {
namespace {

using namespace std::chrono_literals;
using net::http::Method;

/// Each watch holds a connection while it waits.
net::http::ClientOptions client_options(const MasterUrl& url, const Options& options) {
  net::http::ClientOptions client;
  client.ca_file = url.ca_file;
  client.path = url.socket;
  client.connect_wait = options.op_wait;
  client.connections_max = static_cast<std::int32_t>(std::min<std::size_t>(options.watches_max, 10'000)) + 64;
  return client;
}

Errc code_of(int status) {
  switch (status) {
    case 400:
    case 413: return Errc::invalid;
    case 401:
    case 403:
    case 426: return Errc::denied;
    case 404: return Errc::not_found;
    case 409: return Errc::conflict;
    case 504: return Errc::timed_out;
    default: return Errc::unavailable;
  }
}

}  // namespace

RegistryClient::RegistryClient(loop::RealLoop& loop, const MasterUrl& url, const Options& options,
                               std::function<void()> found)
    : loop_(loop),
      url_(url),
      options_(options),
      found_(std::move(found)),
      client_(loop, client_options(url, options)) {}

net::http::Question RegistryClient::question_of(const api::Route& route, describe::Value fields) const {
  describe::Value::Map& map = *fields.as<describe::Value::Map>();
  net::http::Question question;
  question.method = net::http::parse_method(route.method);
  question.url = url_.address + "/api/v1" + net::http::fill(route.path, map);
  question.is_asked_once = question.method == Method::remove;  // the second time nothing would be there
  question.headers.emplace_back(protocol::header_name, protocol::to_header(protocol::own()));
  if (!url_.token.empty()) question.headers.emplace_back("Authorization", "Bearer " + url_.token);
  if (route.has_fields_in_body()) {
    question.headers.emplace_back("Content-Type", "application/json");
    question.body = describe::to_json(fields);
  } else {
    question.url += net::http::query_of(map);
  }
  return question;
}

loop::Task<Result<std::string>> RegistryClient::send(net::http::Question question, TimePoint deadline) {
  Backoff backoff(options_.backoff_max);
  for (;;) {
    net::http::Question once = question;
    once.wait = std::max<Duration>(deadline - loop_.now(), 1ms);
    Result<net::http::Response> response = co_await client_.ask(std::move(once));
    if (response) {
      if (std::exchange(is_lost_, false)) found_();
      if (response->status / 100 == 2) co_return std::move(response->body);
      co_return Failure(refusal_in(*response));
    }
    const Error& error = response.error();
    if (error.code == Errc::denied || error.code == Errc::invalid) co_return Failure(error);
    is_lost_ = true;
    if (error.code != Errc::unavailable) {
      co_return fail(Errc::timed_out,
                     "the master at " + url_.address + " has not answered in time (" + error.message + ")");
    }
    const Duration pause = backoff.next();
    if (loop_.now() + pause >= deadline) {
      co_return fail(Errc::unavailable, "the master at " + url_.address + " cannot be reached: " + error.message);
    }
    co_await loop::sleep(loop_, pause);
  }
}

Error RegistryClient::refusal_in(const net::http::Response& response) const {
  const auto problem = describe::read_json_of_peer<api::Problem>(response.body);
  const std::string who = "the master at " + url_.address;
  if (!problem) {
    return {Errc::unavailable,
            "what answers at " + url_.address + " is no master: it says " + std::to_string(response.status)};
  }
  std::string text = problem->detail.empty() ? problem->title : problem->detail;
  bool is_of_workspace = false;
  for (const api::ProblemFault& fault : problem->faults) {
    is_of_workspace |= fault.path == "workspace";
    text += "; " + fault.path + ": " + fault.message;
  }
  if (response.status == 401 && url_.token.empty())
    text = "it wants a token: set CADRE_TOKEN, or log in: cadre login URL --user NAME";
  const bool is_hidden = response.status == 404 && is_of_workspace;  // it is not the name that is not there
  return {is_hidden ? Errc::denied : code_of(response.status), who + " says: " + text};
}

Error RegistryClient::spoiled(const describe::Faults& faults) const {
  return {Errc::unavailable, describe::to_error(faults, "what the master at " + url_.address + " says").message +
                                 "; is it of the same version as this?"};
}

}  // namespace cadre::names
