/// A client of a master's HTTP API: fills in the route of a request, sends it again while the master is away, and reads
/// the response or the problem in it. For the thread of its loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "api/problem.h"
#include "api/route.h"
#include "base/result.h"
#include "base/time.h"
#include "describe/describe.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "net/http/client.h"

namespace cadre::rest {

/// How long a caller waits for a response that does not depend on anything else.
constexpr Duration answer_max = std::chrono::seconds(15);
/// The same for requests that create something: they are repeated with their key while the master restarts.
constexpr Duration creation_max = std::chrono::seconds(30);
/// How long a caller that follows something waits for a master that is gone.
constexpr Duration absence_max = std::chrono::minutes(10);

/// The message for a stream that was cut.
constexpr std::string_view stream_lost = "the connection to the master was lost; the command was ended";

/// Where a master is, and the credentials of its caller.
struct Endpoint {
  std::string url;
  std::string token;    ///< empty: none
  std::string ca_file;  ///< PEM file with trusted certificates; empty: those of the system
  std::string socket;   ///< Unix socket of a master on this host; empty: `url` is used
};

/// When a request without a response is sent again.
enum class Repeat : std::uint8_t {
  never,
  when_unheard,  ///< nobody can have received it
  when_lost,     ///< also if the connection was lost before the response came
};

/// The kind of error that a status is.
[[nodiscard]] Errc code_of(int status, const api::Problem& problem);

struct Options {
  std::string naming = "CADRE_MASTER";  ///< how the user names another master, for messages
  Duration connect_wait = std::chrono::seconds(5);
  std::int32_t connections_max = 256;
  Duration first_wait = std::chrono::seconds(1);  ///< for a master that has never answered
  /// Between two attempts to reach a master that is away: twice as long each time. All requests share the attempts.
  Duration pause_min = std::chrono::milliseconds(100);
  Duration pause_max = std::chrono::seconds(2);
  /// The most that is done. Routes that are neither idempotent nor keyed are never repeated when lost.
  Repeat repeat = Repeat::when_lost;
  /// Idempotency-Key of a request that creates an object, for a caller that repeats it after its own restart; empty:
  /// each has a new one.
  std::string creation_key = {};
  std::function<void()> on_return = {};  ///< a master that was away answers again
  Errc (*code_of)(int status, const api::Problem& problem) = rest::code_of;
};

class Client {
 public:
  Client(loop::RealLoop& loop, Endpoint master, Options options);

  // These are no coroutines: g++ 12 spoils arguments of coroutines that are made while something is awaited.

  /// Sends a request, and again if that is safe, until its response came or `wait` is over. The errors are those of the
  /// response (code_of), or `unavailable`: nobody received it; `timed_out`: it may have been executed; `denied`: the
  /// certificate of the master is not trusted; `corrupt`: what was received, or is to be sent, is malformed.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Result<typename T::Answer>> ask(const T& request, Duration wait = answer_max) {
    return get<typename T::Answer>(call_of(request, "", wait));
  }

  /// The same, but it is sent only once: for requests that only the present process of the master understands.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Result<typename T::Answer>> ask_once(const T& request, Duration wait) {
    Call call = call_of(request, "", wait);
    call.repeat = Repeat::never;
    call.question.is_asked_once = true;
    return get<typename T::Answer>(std::move(call));
  }

  /// The same as ask() for a request whose body is bytes.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Result<typename T::Answer>> put(const T& request, const std::string& bytes, Duration wait) {
    return get<typename T::Answer>(call_of(request, bytes, wait));
  }

  /// The same as ask() for a request that is answered with bytes.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Result<std::string>> fetch(const T& request, Duration wait) {
    static_assert(T::route.gives_bytes());
    return send(call_of(request, "", wait));
  }

  /// The same as ask() for any route, with these fields; gives the body of the response.
  [[nodiscard]] loop::Task<Result<std::string>> ask_any(const api::Route& route, describe::Value fields,
                                                        Duration wait = answer_max) {
    return send(call_of(route, std::move(fields), "", wait));
  }

  /// For a request that is answered line by line. It is sent once; destroying the task ends it.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Result<void>> stream(const T& request, std::function<void(std::string_view)> on_line) {
    return send_for_lines(call_of(request, "", absence_max), std::move(on_line));
  }

  /// The same for any route, with these fields.
  [[nodiscard]] loop::Task<Result<void>> stream_any(const api::Route& route, describe::Value fields,
                                                    std::function<void(std::string_view)> on_line) {
    return send_for_lines(call_of(route, std::move(fields), "", absence_max), std::move(on_line));
  }

  /// One value of a stream, or of a response.
  template <class T>
  [[nodiscard]] static Result<T> read(std::string_view body) {
    describe::Bounds bounds;
    bounds.nodes = 20'000'000;  // a list of all jobs is long, and its sender is our own master
    auto value = describe::read_json_of_peer<T>(body, bounds);
    if (value) return *std::move(value);
    return Failure(malformed(value.error()));
  }

  /// Whether the master answered the last request.
  bool is_connected() const { return is_there_; }
  const Endpoint& master() const { return master_; }
  loop::RealLoop& loop() { return loop_; }

 private:
  struct Call {
    api::Need need{};
    net::http::Question question;
    Repeat repeat = Repeat::never;
    Duration wait{};
    std::string_view when_unanswered;  ///< what to do when it is unknown whether it was executed
  };
  template <api::Routed T>
  Call call_of(const T& request, std::string bytes, Duration wait) const {
    Call call = call_of(T::route, fields_of(T::route, describe::type_of<T>(), &request), std::move(bytes), wait);
    if constexpr (requires { T::when_unanswered; }) call.when_unanswered = T::when_unanswered;
    return call;
  }
  Call call_of(const api::Route& route, describe::Value fields, std::string bytes, Duration wait) const;
  /// The fields of a request of that type without those that have their defaults: a master of an older version refuses
  /// fields that it does not know.
  static describe::Value fields_of(const api::Route& route, const describe::Type& type, const void* request);
  template <class Answer>
  loop::Task<Result<Answer>> get(Call call) {
    Result<std::string> body = co_await send(std::move(call));
    if (!body) co_return Failure(std::move(body).error());
    co_return read<Answer>(*body);
  }
  loop::Task<Result<std::string>> send(Call call);
  loop::Task<Result<void>> send_for_lines(Call call, std::function<void(std::string_view)> on_line);
  void note(const Result<net::http::Response>& response);
  loop::Task<void> pause(TimePoint until);
  Error explain(const Error& error, const Call& call) const;
  Error problem_in(const net::http::Response& response, const Call& call) const;
  static Error malformed(const describe::Faults& faults);

  loop::RealLoop& loop_;
  const Endpoint master_;
  const Options options_;
  net::http::Client client_;
  bool is_there_ = true;
  bool was_there_ = false;
  Duration pause_;          ///< after the next attempt to reach a master that is away
  TimePoint next_attempt_;  ///< not before that, while it is away
};

}  // namespace cadre::rest
