/// Asks a master for names: a question that nobody has heard is asked again until its deadline. For the loop's thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "api/route.h"
#include "base/result.h"
#include "base/time.h"
#include "describe/describe.h"
#include "loop/real_loop.h"
#include "loop/task.h"
#include "names/names.h"
#include "names/url.h"
#include "net/http/client.h"

namespace cadre::names {

class RegistryClient {
 public:
  /// `found` is called when a master that was lost answers again.
  RegistryClient(loop::RealLoop& loop, const MasterUrl& url, const Options& options, std::function<void()> found);

  /// No coroutine: g++ 12 spoils arguments of coroutines that are made while something is awaited.
  template <api::Routed T>
  [[nodiscard]] loop::Task<Result<typename T::Answer>> ask(const T& request, TimePoint deadline) {
    return read<typename T::Answer>(question_of(T::route, describe::write(request)), deadline);
  }

  loop::RealLoop& loop() { return loop_; }

 private:
  net::http::Question question_of(const api::Route& route, describe::Value fields) const;
  loop::Task<Result<std::string>> send(net::http::Question question, TimePoint deadline);
  Error refusal_in(const net::http::Response& response) const;
  Error spoiled(const describe::Faults& faults) const;

  template <class Answer>
  loop::Task<Result<Answer>> read(net::http::Question question, TimePoint deadline) {
    CO_TRY_ASSIGN(body, co_await send(std::move(question), deadline));
    describe::Bounds bounds;
    bounds.nodes = answer_nodes_max;
    auto answer = describe::read_json_of_peer<Answer>(body, bounds);
    if (!answer) co_return Failure(spoiled(answer.error()));
    co_return *std::move(answer);
  }

  static constexpr std::size_t answer_nodes_max = 1'000'000;  // a long list

  loop::RealLoop& loop_;
  const MasterUrl url_;
  const Options options_;
  const std::function<void()> found_;
  net::http::Client client_;
  bool is_lost_ = false;
};

}  // namespace cadre::names
