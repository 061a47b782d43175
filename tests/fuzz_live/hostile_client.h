/// A client of the API that sends requests with extreme values. For the thread of the loop.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "access/requests.h"
#include "cluster/output.h"
#include "cluster/requests.h"
#include "experiment/requests/metrics.h"
#include "experiment/requests/objects.h"
#include "loop/file.h"
#include "names/master/requests.h"
#include "net/http/client.h"
#include "net/http/fields.h"
#include "tests/fuzz_live/extremes.h"
#include "tests/fuzz_live/live_cluster.h"

namespace cadre::fuzz_live {

/// What is asked over HTTP, many at a time.
class HostileClient {
 public:
  HostileClient(Cluster& cluster, loop::RealLoop& loop) : cluster_(cluster), loop_(loop), client_(loop, {}) {}

  net::http::Response ask(net::http::Method method, const std::string& path, std::string body = "",
                          Duration wait = std::chrono::seconds(30)) {
    std::optional<Result<net::http::Response>> got;
    loop_.spawn(keep(question(method, path, std::move(body), wait), got));
    while (!got) run_for(loop_, std::chrono::milliseconds(50));
    if (!*got) give_up(path + " is not answered: " + got->error().message);
    return **got;
  }

  /// Waits for a master that starts.
  void wait_until_up(Duration most) {
    const TimePoint begun = loop_.now();
    for (;;) {
      const Result<std::string> text = loop::read_file(cluster::DataFolder{cluster_.data()}.client_file());
      const auto known =
          text ? describe::read_json<cluster::KnownMaster>(*text) : describe::Read<cluster::KnownMaster>();
      if (text && known && !known->url.empty()) {
        known_ = *known;
        std::optional<Result<net::http::Response>> got;
        loop_.spawn(keep(question(net::http::Method::get, "/health", "", std::chrono::seconds(2)), got));
        while (!got) run_for(loop_, std::chrono::milliseconds(20));
        if (*got && (*got)->status == 200) return;
      }
      if (!cluster_.is_master_alive()) give_up("the master does not start");
      if (loop_.now() - begun > most) give_up("the master does not answer after its start");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  template <class T>
  void add_hostile(Dice& dice) {
    if constexpr (api::Routed<T>) {
      if constexpr (std::is_same_v<T, access::Logout>) return;  // it would end the token that all is asked with
      describe::Value tree = hostile<T>(dice);
      if (tree.template as<describe::Value::Map>() == nullptr) tree = describe::Value(describe::Value::Map{});
      // Jobs of a user with an account that the agent does not have are refused, ordinary ones as well.
      if (tree.find("unix_user") != nullptr) tree.set("unix_user", describe::Value(std::string()));
      // Without its user, too, there is no token that all is asked with.
      if constexpr (std::is_same_v<T, access::SetUser> || std::is_same_v<T, access::DeleteUser>) {
        const describe::Value* user = tree.find("user");
        if (user != nullptr && *user == describe::Value(std::string("admin")))
          tree.set("user", describe::Value(std::string("another")));
      }
      // A new password of the admin would end the token that all is asked with.
      if constexpr (std::is_same_v<T, access::SetUser>) tree.set("keep_tokens", describe::Value(true));
      use_what_is_there(tree, dice);
      if (tree.find("hash") != nullptr && dice.percent(50)) tree.set("hash", describe::Value(std::string(64, 'a')));
      for (std::size_t at = T::route.path.find('{'); at != std::string_view::npos;
           at = T::route.path.find('{', at + 1)) {
        const std::string key(T::route.path.substr(at + 1, T::route.path.find('}', at) - at - 1));
        const describe::Value* value = tree.find(key);
        const bool is_text = value != nullptr && (value->template as<std::string>() != nullptr ||
                                                  value->template as<std::int64_t>() != nullptr);
        if (!is_text) tree.set(key, describe::Value(std::to_string(dice.bits() >> dice.below(64))));
      }
      const std::string path =
          "/" + net::http::fill(T::route.path, *tree.template as<describe::Value::Map>()).substr(1);
      const net::http::Method method = net::http::parse_method(T::route.method);
      net::http::Question one = question(method, path, "", std::chrono::seconds(30));
      if (T::route.has_fields_in_body()) {
        one.body = describe::to_json(tree);
        if (dice.percent(5)) one.body.resize(dice.below(one.body.size() + 1));
      } else {
        one.url += net::http::query_of(*tree.template as<describe::Value::Map>());
      }
      if (T::route.body == api::Body::bytes) one.body.assign(dice.below(3'000), 'x');
      if (dice.percent(30)) {
        one.headers.emplace_back("Idempotency-Key", dice.percent(50) ? "same" : std::string(dice.below(300), 'k'));
      }
      if (one.url.size() > 12'000) return;  // what a header cannot hold
      ++under_way_;
      loop_.spawn(judge(std::move(one), std::string(T::type_name)));
    }
  }
  template <class... Ts>
  void add_hostile_of(std::type_identity<std::variant<Ts...>>, Dice& dice) {
    std::size_t at = dice.below(sizeof...(Ts));
    ((at-- == 0 ? add_hostile<Ts>(dice) : void()), ...);
  }
  void burst(Dice& dice) {
    for (int i = 0; i < 60; ++i) {
      switch (dice.below(8)) {
        case 0: add_hostile_of(std::type_identity<access::Request>{}, dice); break;
        case 1: add_hostile_of(std::type_identity<names::requests::Request>{}, dice); break;
        case 2: add_hostile_of(std::type_identity<Bulk>{}, dice); break;
        case 3: add_hostile_of(std::type_identity<experiment::requests::ExperimentRequest>{}, dice); break;
        case 4: add_hostile_of(std::type_identity<experiment::requests::TrialRequest>{}, dice); break;
        case 5: add_hostile_of(std::type_identity<experiment::requests::BulkRequest>{}, dice); break;
        case 6: add_hostile_of(std::type_identity<experiment::requests::ObjectRequest>{}, dice); break;
        default: add_hostile_of(std::type_identity<cluster::requests::Request>{}, dice); break;
      }
    }
    const TimePoint begun = loop_.now();
    // Those that wait for something by intent may go on beside what follows.
    while (under_way_ > 20 && loop_.now() - begun < std::chrono::seconds(30))
      run_for(loop_, std::chrono::milliseconds(20));
    if (!fault_.empty()) give_up(fault_);
  }

  /// Asks until every kind of request was answered.
  void ask_each(Dice& dice) {
    for (int attempt = 0; attempt < 30; ++attempt) {
      unanswered_.clear();
      each_unanswered(std::type_identity<access::Request>{}, dice);
      each_unanswered(std::type_identity<names::requests::Request>{}, dice);
      each_unanswered(std::type_identity<cluster::requests::Request>{}, dice);
      each_unanswered(std::type_identity<Bulk>{}, dice);
      each_unanswered(std::type_identity<experiment::requests::ExperimentRequest>{}, dice);
      each_unanswered(std::type_identity<experiment::requests::TrialRequest>{}, dice);
      each_unanswered(std::type_identity<experiment::requests::BulkRequest>{}, dice);
      each_unanswered(std::type_identity<experiment::requests::ObjectRequest>{}, dice);
      if (unanswered_.empty()) return;
      const TimePoint begun = loop_.now();
      while (under_way_ > 0 && loop_.now() - begun < std::chrono::seconds(3))
        run_for(loop_, std::chrono::milliseconds(20));  // some wait by intent
      if (!fault_.empty()) give_up(fault_);
    }
    give_up("a request was never answered: " + unanswered_);
  }

  std::map<int, std::int64_t> statuses;
  std::map<std::string, std::int64_t, std::less<>> answered;  ///< by kind of request

 private:
  /// Often an experiment, a trial and a checkpoint that exist.
  static void use_what_is_there(describe::Value& tree, Dice& dice) {
    const std::string experiment = std::to_string(dice.between(1, 3));
    const auto set = [&](const char* key, const std::string& value) {
      if (tree.find(key) != nullptr && dice.percent(60)) tree.set(key, describe::Value(value));
    };
    set("experiment", experiment);
    set("trial", experiment + "." + std::to_string(dice.below(2)));
    set("checkpoint", "7d3c6a52-0b7e-4f6e-9d0a-3f1f4cf2b9a" + std::to_string(dice.below(10)));
    set("name", "file-" + std::to_string(dice.below(3)));
  }

  using Bulk = std::variant<access::ListAudit, access::Login, cluster::requests::ReadLogs, cluster::requests::GetCode,
                            cluster::requests::PutCode>;
  template <class T>
  void ask_unanswered(Dice& dice) {
    if constexpr (api::Routed<T> && !std::is_same_v<T, access::Logout>) {
      if (answered.contains(T::type_name)) return;
      unanswered_ += std::string(T::type_name) + " ";
      add_hostile<T>(dice);
    }
  }
  template <class... Ts>
  void each_unanswered(std::type_identity<std::variant<Ts...>>, Dice& dice) {
    (ask_unanswered<Ts>(dice), ...);
  }

  net::http::Question question(net::http::Method method, const std::string& path, std::string body, Duration wait) {
    net::http::Question one;
    one.method = method;
    one.url = known_.url + "/api/v1" + path;
    one.headers = {{"Authorization", "Bearer " + known_.token}, {"Content-Type", "application/json"}};
    one.body = std::move(body);
    one.wait = wait;
    return one;
  }
  loop::Task<void> keep(net::http::Question one, std::optional<Result<net::http::Response>>& got) {
    Result<net::http::Response> response = co_await client_.ask(std::move(one));
    got.emplace(std::move(response));
  }
  loop::Task<void> judge(net::http::Question one, std::string name) {
    const std::string shown = name + " " + one.url.substr(0, 200) + " " + one.body.substr(0, 2'000);
    Result<net::http::Response> response = co_await client_.ask(std::move(one));
    --under_way_;
    if (!response) {
      ++statuses[response.error().code == Errc::timed_out ? 0 : -1];
      co_return;
    }
    ++statuses[response->status];
    ++answered[name];
    if (response->status >= 500 && response->status != 503 && fault_.empty()) {
      fault_ = "status " + std::to_string(response->status) + ": " + response->body + "\nfor " + shown;
    }
  }

  Cluster& cluster_;
  loop::RealLoop& loop_;
  net::http::Client client_;
  cluster::KnownMaster known_;
  int under_way_ = 0;
  std::string fault_;
  std::string unanswered_;
};

}  // namespace cadre::fuzz_live
