/// What a command asks of a master, over its HTTP API. For the thread of its loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api/route.h"
#include "client/cluster/refusal.h"
#include "client/cluster/which_master.h"
#include "cluster/data_folder.h"
#include "describe/describe.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "net/http/client.h"

namespace cadre::client {

/// How long a command waits for an answer that needs no waiting for anything else.
constexpr Duration answer_max = std::chrono::seconds(15);
/// The same for what creates something: it is repeated with its key while the master restarts.
constexpr Duration creation_max = std::chrono::seconds(30);
/// How long one that follows something waits for a master that is gone.
constexpr Duration absence_max = std::chrono::minutes(10);

/// What is said of a stream that was cut.
constexpr std::string_view stream_lost = "the connection to the master was lost; what was run is ended";

/// When a question that was not answered is asked again.
enum class Repeat : std::uint8_t {
  never,
  when_unheard,  ///< nobody can have heard it
  when_lost,     ///< the connection was lost before it was answered, too
};

class Connection {
 public:
  /// `naming` as client/which_master.h says.
  Connection(loop::RealLoop& loop, cluster::KnownMaster master, std::string_view naming = naming_by_option);

  // These are no coroutines: g++ 12 spoils arguments of coroutines that are made while something is awaited.

  /// The answer. Asked again when the connection is lost before it came, unless it must not be done twice; who was
  /// there once is waited for.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Got<typename T::Answer>> ask(const T& request, Duration wait = answer_max) {
    return get<typename T::Answer>(call_of(T::route, describe::write(request), "", wait));
  }

  /// The same, but it is never asked again: for what only the master of now understands.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Got<typename T::Answer>> ask_once(const T& request, Duration wait) {
    Call call = call_of(T::route, describe::write(request), "", wait);
    call.repeat = Repeat::never;
    call.question.is_asked_once = true;
    return get<typename T::Answer>(std::move(call));
  }

  /// The same as ask() for one whose body is bytes.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Got<typename T::Answer>> put(const T& request, const std::string& bytes, Duration wait) {
    return get<typename T::Answer>(call_of(T::route, describe::write(request), bytes, wait));
  }

  /// For one that is answered line by line. It is asked once; ending the task ends it.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Got<void>> stream(const T& request, std::function<void(std::string_view)> on_line) {
    return send_for_lines(call_of(T::route, describe::write(request), "", absence_max), std::move(on_line));
  }

  /// One value of a stream, or of an answer.
  template <class T>
  [[nodiscard]] Got<T> read(std::string_view body) const {
    describe::Bounds bounds;
    bounds.nodes = 20'000'000;  // a list of all jobs is long, and who sends it is our own master
    auto value = describe::read_json_of_peer<T>(body, bounds);
    if (value) return *std::move(value);
    return NotGot(spoiled(value.error()));
  }

  /// Whether the master was there when it was last asked.
  bool is_connected() const { return is_there_; }
  const cluster::KnownMaster& master() const { return master_; }
  loop::Loop& loop() { return loop_; }

 private:
  struct Call {
    api::Route route;
    net::http::Question question;
    Repeat repeat = Repeat::never;
    Duration wait{};
  };
  Call call_of(const api::Route& route, describe::Value fields, std::string bytes, Duration wait) const;
  template <class Answer>
  loop::Task<Got<Answer>> get(Call call) {
    Got<std::string> body = co_await send(std::move(call));
    if (!body) co_return NotGot(std::move(body).error());
    co_return read<Answer>(*body);
  }
  loop::Task<Got<std::string>> send(Call call);
  loop::Task<Got<void>> send_for_lines(Call call, std::function<void(std::string_view)> on_line);
  Refusal explain(const Error& error, const Call& call) const;
  Refusal refusal_in(const net::http::Response& response, const Call& call) const;
  Refusal spoiled(const describe::Faults& faults) const;

  loop::RealLoop& loop_;
  const cluster::KnownMaster master_;
  const std::string naming_;
  net::http::Client client_;
  bool is_there_ = true;
  bool was_there_ = false;
  Duration pause_;          ///< after the next attempt to reach a master that is away
  TimePoint next_attempt_;  ///< not before that, while it is away
};

}  // namespace cadre::client
