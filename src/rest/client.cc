#include "rest/client.h"

#include <algorithm>

#include "base/protocol.h"
#include "base/rounded.h"
#include "loop/random_word.h"
#include "net/http/fields.h"

namespace cadre::rest {
namespace {

using namespace std::chrono_literals;
using describe::Value;
using net::http::Method;

Repeat repeat_of(const api::Route& route) {
  return route.is_keyed() || route.is_idempotent() ? Repeat::when_lost : Repeat::when_unheard;
}

net::http::ClientOptions client_options(const Endpoint& master, const Options& options) {
  net::http::ClientOptions client;
  client.ca_file = master.ca_file;
  client.path = master.socket;
  client.connect_wait = options.connect_wait;
  client.connections_max = options.connections_max;
  return client;
}

}  // namespace

Errc code_of(int status, const api::Problem&) {
  switch (status) {
    case 400:
    case 413: return Errc::invalid;
    case 401:
    case 403:
    case 426: return Errc::denied;
    case 404: return Errc::not_found;
    case 409: return Errc::conflict;
    case 429:
    case 503: return Errc::unavailable;
    case 504: return Errc::timed_out;
    default: return Errc::corrupt;
  }
}

Client::Client(loop::RealLoop& loop, Endpoint master, Options options)
    : loop_(loop),
      master_(std::move(master)),
      options_(std::move(options)),
      client_(loop, client_options(master_, options_)),
      pause_(options_.pause_min) {}

Client::Call Client::call_of(const api::Route& route, Value fields, std::string bytes, Duration wait) const {
  Value::Map& map = *fields.as<Value::Map>();
  Call call;
  call.need = route.need;
  call.repeat = std::min(repeat_of(route), options_.repeat);
  call.wait = route.is_keyed() ? std::max(wait, creation_max) : wait;
  call.question.headers.emplace_back(protocol::header_name, protocol::to_header(protocol::own()));
  if (route.is_keyed()) {
    const bool has_key = !options_.creation_key.empty();
    call.question.headers.emplace_back("Idempotency-Key", has_key ? options_.creation_key : loop::random_word(32));
  }
  call.question.method = net::http::parse_method(route.method);
  call.question.is_asked_once = call.question.method == Method::remove;  // the second time nothing would be there
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

Value Client::fields_of(const api::Route& route, const describe::Type& type, const void* request) {
  Value fields = describe::write(type, request, describe::Defaults::omitted);
  const auto& written = *fields.as<Value::Map>();
  const auto in_path = std::count_if(written.begin(), written.end(),
                                     [&](const describe::Entry& field) { return route.has_in_path(field.key); });
  if (in_path == std::count(route.path.begin(), route.path.end(), '{')) return fields;
  Value all = describe::write(type, request);
  for (describe::Entry& field : *all.as<Value::Map>()) {
    if (route.has_in_path(field.key)) fields.set(std::move(field.key), std::move(field.value));
  }
  return fields;
}

void Client::note(const Result<net::http::Response>& response) {
  const bool returns = response && !is_there_;
  is_there_ = response.has_value();
  pause_ = is_there_ ? options_.pause_min : std::min(2 * pause_, options_.pause_max);
  // A master that went away before it answered was there.
  was_there_ = was_there_ || is_there_ || response.error().code == Errc::timed_out;
  if (returns && options_.on_return) options_.on_return();
}

loop::Task<Result<std::string>> Client::send(Call call) {
  const TimePoint begun = loop_.now();
  bool may_be_done = false;  // a master that received it may have executed it and gone before it answered
  for (;;) {
    net::http::Question question = call.question;
    question.wait = std::max<Duration>(call.wait - (loop_.now() - begun), 1ms);
    Result<net::http::Response> response = co_await client_.ask(std::move(question));
    note(response);
    if (response && response->status / 100 == 2) co_return std::move(response->body);
    const bool is_gone_anyway = response && response->status == 404 && call.question.method == Method::remove;
    if (is_gone_anyway && may_be_done) co_return "{}";
    const bool is_restarting = response && response->status == 503 && may_be_done;
    if (is_restarting && loop_.now() - begun + options_.pause_min < call.wait) {
      co_await loop::sleep(loop_, options_.pause_min);
      continue;
    }
    if (response) co_return Failure(problem_in(*response, call));
    const Errc code = response.error().code;
    may_be_done = may_be_done || code == Errc::timed_out;
    const bool may_repeat = (code == Errc::unavailable && call.repeat >= Repeat::when_unheard) ||
                            (code == Errc::timed_out && call.repeat >= Repeat::when_lost);
    const Duration patience = was_there_ ? call.wait : std::min(call.wait, options_.first_wait);
    if (!may_repeat || loop_.now() - begun + options_.pause_min >= patience) {
      Error error = response.error();
      // Whatever came last: an earlier attempt may have been executed.
      if (may_be_done && !call.when_unanswered.empty()) error.code = Errc::timed_out;
      co_return Failure(explain(error, call));
    }
    co_await pause(begun + patience);
  }
}

/// Many requests may wait, one for each task of a job: only one of them tries at a time, the others continue once the
/// master is there.
loop::Task<void> Client::pause(TimePoint until) {
  do {
    const Duration wait = std::clamp<Duration>(next_attempt_ - loop_.now(), options_.pause_min, options_.pause_max);
    co_await loop::sleep(loop_, std::min<Duration>(wait, std::max<Duration>(until - loop_.now(), 1ms)));
  } while (!is_there_ && loop_.now() < next_attempt_ && loop_.now() < until);
  next_attempt_ = loop_.now() + pause_;
}

loop::Task<Result<void>> Client::send_for_lines(Call call, std::function<void(std::string_view)> on_line) {
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
  if (!response && response.error().code == Errc::timed_out) co_return fail(Errc::timed_out, std::string(stream_lost));
  if (!response) co_return Failure(explain(response.error(), call));
  if (response->status / 100 != 2) co_return Failure(problem_in(*response, call));
  co_return Result<void>();
}

Error Client::problem_in(const net::http::Response& response, const Call& call) const {
  const auto problem = describe::read_json_of_peer<api::Problem>(response.body);
  if (!problem) {
    return {Errc::corrupt,
            "what answers at " + master_.url + " is not a master: it responded " + std::to_string(response.status)};
  }
  Error error{options_.code_of(response.status, *problem), problem->detail.empty() ? problem->title : problem->detail};
  if (response.status == 401 && master_.token.empty() && call.need != api::Need::nothing) {
    error.message = "not logged in; log in with: cadre login " + master_.url +
                    " --user NAME, or set CADRE_TOKEN; for your own master, use its data folder instead of its URL";
  }
  for (const api::ProblemFault& fault : problem->faults) {
    error.message += "\n  " + (fault.path.empty() ? "" : fault.path + ": ") + fault.message;
  }
  return error;
}

Error Client::explain(const Error& error, const Call& call) const {
  const std::string who = "the master at " + master_.url;
  if (error.code == Errc::unavailable) {
    return {error.code, "no master answers at " + master_.url + "; start one with `cadre up`, or name another with " +
                            options_.naming};
  }
  if (error.code == Errc::denied && master_.url.starts_with("https://")) {
    return {error.code,
            who + ": " + error.message +
                "; name the PEM file of the authority that signed it with cadre login --ca FILE or CADRE_CA"};
  }
  // An address or a token that cannot be sent is stored wrongly; the master has not judged the request.
  if (error.code == Errc::invalid) return {Errc::corrupt, error.message};
  if (error.code != Errc::timed_out) return error;
  if (!call.when_unanswered.empty()) {
    return {error.code, who + " has not answered for " + rounded(call.wait) + "; " + std::string(call.when_unanswered)};
  }
  return {error.code, who + " has not answered for " + rounded(call.wait) +
                          ", or disconnected before it responded; try again later"};
}

Error Client::malformed(const describe::Faults& faults) {
  return {Errc::corrupt, describe::to_error(faults, "the master's answer").message +
                             "; check that `cadre` and the master have the same version"};
}

}  // namespace cadre::rest
