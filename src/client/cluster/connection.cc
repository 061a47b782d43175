#include "client/cluster/connection.h"

#include <algorithm>

#include "api/problem.h"
#include "base/protocol.h"
#include "base/rounded.h"
#include "client/host_identity.h"
#include "cluster/requests.h"
#include "net/http/fields.h"

namespace cadre::client {
namespace {

using namespace std::chrono_literals;
using describe::Value;
using net::http::Method;

/// How long to wait until it is clear that nobody is there.
constexpr Duration connect_max = 1s;
/// Between two attempts to reach a master that is away, of all that wait for it together: longer each time.
constexpr Duration ask_again_after = 100ms;
constexpr Duration ask_again_after_max = 2s;

Repeat repeat_of(const api::Route& route) {
  return route.is_keyed() || route.is_idempotent() ? Repeat::when_lost : Repeat::when_unheard;
}

bool submits_job(const api::Route& route) {
  return route.is_keyed() && route.path == cluster::requests::Submit::route.path;
}

ExitCode code_of(int status) {
  if (status == 429 || status == 503 || status == 504) return unreachable;
  return status == 400 || status == 401 || status == 403 || status == 409 || status == 413 || status == 426 ? refused
                                                                                                            : failed;
}

}  // namespace

Connection::Connection(loop::RealLoop& loop, cluster::KnownMaster master, std::string_view naming)
    : loop_(loop),
      master_(std::move(master)),
      naming_(naming),
      client_(loop, {.ca_file = master_.ca, .connect_wait = 5s, .path = master_.socket}),
      pause_(ask_again_after) {}

Connection::Call Connection::call_of(const api::Route& route, Value fields, std::string bytes, Duration wait) const {
  Value::Map& map = *fields.as<Value::Map>();
  Call call;
  call.route = route;
  call.repeat = repeat_of(route);
  call.wait = route.is_keyed() ? std::max(wait, creation_max) : wait;
  call.question.headers.emplace_back(protocol::header_name, protocol::to_header(protocol::own()));
  if (route.is_keyed()) call.question.headers.emplace_back("Idempotency-Key", random_word(32));
  call.question.method = net::http::parse_method(route.method);
  call.question.url = master_.url + "/api/v1" + net::http::fill(route.path, map);
  if (!master_.token.empty()) call.question.headers.emplace_back("Authorization", "Bearer " + master_.token);
  if (route.has_fields_in_body()) {
    call.question.headers.emplace_back("Content-Type", "application/json");
    call.question.body = describe::to_json(fields);
  } else {
    call.question.url += net::http::query_of(map);
    call.question.body = std::move(bytes);
  }
  return call;
}

loop::Task<Got<std::string>> Connection::send(Call call) {
  const TimePoint begun = loop_.now();
  bool may_be_done = false;  // one that was asked may have done it and gone before it said so
  for (;;) {
    net::http::Question question = call.question;
    question.wait = std::max<Duration>(call.wait - (loop_.now() - begun), 1ms);
    Result<net::http::Response> response = co_await client_.ask(std::move(question));
    is_there_ = response.has_value();
    pause_ = is_there_ ? ask_again_after : std::min<Duration>(2 * pause_, ask_again_after_max);
    const Errc code = response ? Errc{} : response.error().code;
    was_there_ = was_there_ || is_there_ || code == Errc::timed_out;  // who went away was there
    if (response && response->status / 100 == 2) co_return std::move(response->body);
    const bool is_gone_anyway = response && response->status == 404 && call.question.method == Method::remove;
    if (is_gone_anyway && may_be_done) co_return "{}";
    const bool is_restarting = response && response->status == 503 && may_be_done;
    if (is_restarting && loop_.now() - begun + ask_again_after < call.wait) {
      co_await loop::sleep(loop_, ask_again_after);
      continue;
    }
    if (response) co_return NotGot(refusal_in(*response, call));
    may_be_done = may_be_done || code == Errc::timed_out;
    // Nothing was asked of one that is not there; one that went away may have heard it.
    const bool may_repeat = (code == Errc::unavailable && call.repeat >= Repeat::when_unheard) ||
                            (code == Errc::timed_out && call.repeat >= Repeat::when_lost);
    const Duration patience = was_there_ ? call.wait : std::min(call.wait, connect_max);
    if (!may_repeat || loop_.now() - begun + ask_again_after >= patience) {
      Error error = response.error();
      // Whatever came last: a job may have been taken before.
      if (may_be_done && submits_job(call.route)) error.code = Errc::timed_out;
      co_return NotGot(explain(error, call));
    }
    // Many may wait, one for each task of a job: only one of them tries at a time, the others go on once it is there.
    const TimePoint until = begun + patience;
    do {
      const Duration wait = std::clamp<Duration>(next_attempt_ - loop_.now(), ask_again_after, ask_again_after_max);
      co_await loop::sleep(loop_, std::min<Duration>(wait, std::max<Duration>(until - loop_.now(), 1ms)));
    } while (!is_there_ && loop_.now() < next_attempt_ && loop_.now() < until);
    next_attempt_ = loop_.now() + pause_;
  }
}

loop::Task<Got<void>> Connection::send_for_lines(Call call, std::function<void(std::string_view)> on_line) {
  std::string rest;
  std::function<void(std::string_view)> on_piece = [&rest, &on_line](std::string_view piece) {
    rest += piece;
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      on_line(std::string_view(rest).substr(begin, end - begin));
      begin = end + 1;
    }
    rest.erase(0, begin);
  };
  net::http::Question question = call.question;
  question.wait = call.wait;
  Result<net::http::Response> response = co_await client_.ask(std::move(question), std::move(on_piece));
  if (!response && response.error().code == Errc::timed_out) {
    co_return NotGot(Refusal{unreachable, std::string(stream_lost)});
  }
  if (!response) co_return NotGot(explain(response.error(), call));
  if (response->status / 100 != 2) co_return NotGot(refusal_in(*response, call));
  co_return Got<void>();
}

Refusal Connection::refusal_in(const net::http::Response& response, const Call& call) const {
  const auto problem = describe::read_json_of_peer<api::Problem>(response.body);
  if (!problem) {
    return {failed, "what answers at " + master_.url + " is no master: it says " + std::to_string(response.status)};
  }
  Refusal refusal{code_of(response.status), problem->detail.empty() ? problem->title : problem->detail};
  if (response.status == 401 && master_.token.empty() && call.route.need != api::Need::nothing) {
    refusal.message = "not logged in; log in with: cadre login " + master_.url + " --user NAME, or set CADRE_TOKEN";
  }
  for (const api::ProblemFault& fault : problem->faults) {
    refusal.message += "\n  " + (fault.path.empty() ? "" : fault.path + ": ") + fault.message;
  }
  return refusal;
}

Refusal Connection::explain(const Error& error, const Call& call) const {
  if (error.code == Errc::unavailable) {
    return {unreachable,
            "no master answers at " + master_.url + "; start one with `cadre up`, or name another with " + naming_};
  }
  if (error.code == Errc::denied && master_.url.starts_with("https://")) {
    return {refused, "the master at " + master_.url + ": " + error.message +
                         "; name the PEM file of the authority that signed it with cadre login --ca FILE or CADRE_CA"};
  }
  if (error.code != Errc::timed_out) return {error.code == Errc::denied ? refused : failed, error.message};
  if (submits_job(call.route)) {
    return {unreachable, "the master at " + master_.url + " has not answered for " + to_string(call.wait) +
                             "; it may have taken the job: look with `cadre job list` before you submit it again"};
  }
  return {unreachable, "the master at " + master_.url + " has not answered for " + rounded(call.wait) +
                           ", or went away before it did; try again when it is back"};
}

Refusal Connection::spoiled(const describe::Faults& faults) const {
  return {failed, describe::to_error(faults, "the master's answer").message +
                      "; are `cadre` here and the master of one version?"};
}

}  // namespace cadre::client
