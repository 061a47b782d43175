/// A scripted master that keeps one trial, for the tests of this room: it speaks HTTP on a port of its own, can refuse,
/// fail, cut connections and be started again. For the test's thread; it serves on one of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/problem.h"
#include "experiment/requests/metrics.h"
#include "experiment/requests/objects.h"
#include "experiment/views.h"
#include "loop/real_loop.h"
#include "net/http/server.h"
#include "objects/hash.h"

namespace cadre::client {

class FakeTrialMaster {
 public:
  using Request = net::http::Request;
  using Response = net::http::Response;
  /// What happens to a request instead of what would.
  enum class Fate : std::uint8_t { served, unserved_and_cut, served_and_cut };
  struct Trouble {
    Fate fate = Fate::served;
    int status = 0;  ///< answered instead of serving it; 0: none
    std::string why{};
  };

  explicit FakeTrialMaster(std::string trial = "12.3") {
    run.trial = experiment::parse_trial_id(trial).value();
    run.run = 1;
    run.seed = 42;
    run.hyperparameters = describe::Value(describe::Value::Map{});
    start();
  }
  FakeTrialMaster(const FakeTrialMaster&) = delete;
  FakeTrialMaster& operator=(const FakeTrialMaster&) = delete;
  ~FakeTrialMaster() {
    if (thread_.joinable()) stop();
  }

  static constexpr const char* token = "cadre-of-the-task";
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  void start() {
    std::promise<void> ready;
    thread_ = std::thread([this, &ready] { serve(ready); });
    ready.get_future().wait();
  }
  /// Whatever is asked at the moment is not answered any more.
  void stop() {
    loop_->stop();
    thread_.join();
  }
  /// What is to happen to the next requests whose path ends like this, one after another.
  void trouble(const std::string& path_end, Trouble one, int times = 1) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < times; ++i) troubles_.emplace_back(path_end, one);
  }

  /// All batches of reports that were served, in order.
  std::vector<experiment::requests::ReportMetrics> batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  /// Steps of the reports of a group as they were stored first; a batch that was repeated as it is counts once.
  std::vector<std::int64_t> steps_of(const std::string& group) {
    std::vector<std::int64_t> steps;
    std::string last;
    for (const auto& batch : batches()) {
      const std::string text = describe::write_json(batch);
      if (text == last) continue;
      last = text;
      for (const auto& one : batch.reports) {
        if (one.group == group) steps.push_back(one.steps);
      }
    }
    return steps;
  }
  std::vector<experiment::requests::ReportTrial> news() {
    const std::lock_guard lock(mutex_);
    return news_;
  }
  /// Names of the operations that were served, in order.
  std::vector<std::string> served() {
    const std::lock_guard lock(mutex_);
    return served_;
  }
  int connections() const { return connections_; }
  std::map<std::string, experiment::CheckpointView> checkpoints() {
    const std::lock_guard lock(mutex_);
    return checkpoints_;
  }
  std::map<std::string, std::string> files_of(const std::string& uuid) {
    const std::lock_guard lock(mutex_);
    return files_[uuid];
  }
  void put_file(const std::string& uuid, const std::string& name, const std::string& content) {
    const std::lock_guard lock(mutex_);
    files_[uuid][name] = content;
  }
  /// Of files that are not whole, as a crash may.
  void lose_parts() {
    const std::lock_guard lock(mutex_);
    parts_.clear();
  }

  experiment::RunView run;                                                 ///< what BeginRun gives
  std::string fault;                                                       ///< of each batch of reports
  std::function<bool(const experiment::requests::MetricReport&)> refuses;  ///< reports that are invalid

 private:
  void serve(std::promise<void>& ready) {
    loop::RealLoop loop;
    loop_ = &loop;
    SilentLog log;
    net::http::ServerOptions options;
    options.port = port_;
    options.body_max = [](net::http::Method, std::string_view) { return ByteSize{16 << 20}; };
    auto server =
        net::http::Server::listen(loop, log, std::move(options), [&](auto exchange) { take(std::move(exchange)); });
    port_ = server.value()->port();
    ready.set_value();
    loop.run();
    connections_ = static_cast<int>(std::uint64_t{(*server)->counters().connections});
  }

  void take(std::unique_ptr<net::http::Exchange> exchange) {
    const std::lock_guard lock(mutex_);
    const Request& request = exchange->request();
    const std::string path(request.path());
    Trouble now;
    const auto found =
        std::find_if(troubles_.begin(), troubles_.end(), [&](const auto& one) { return path.ends_with(one.first); });
    if (found != troubles_.end()) {
      now = found->second;
      troubles_.erase(found);
    }
    if (now.status != 0) return exchange->answer(problem(now.status, now.why));
    if (now.fate == Fate::unserved_and_cut) return cut(std::move(exchange));
    Response response = answer(request, path);
    if (now.fate == Fate::served_and_cut) return cut(std::move(exchange));
    exchange->answer(std::move(response));
  }

  /// Ends the connection within its answer.
  static void cut(std::unique_ptr<net::http::Exchange> exchange) {
    const std::unique_ptr<net::http::Stream> stream = exchange->stream({200, "application/json", "", {}});
  }

  static Response problem(int status, const std::string& why) {
    api::Problem body;
    body.title = net::http::reason_of(status);
    body.status = status;
    body.detail = why;
    Response response;
    response.status = status;
    response.content_type = "application/problem+json";
    response.body = describe::write_json(body);
    return response;
  }
  template <class T>
  static Response told(const T& value) {
    Response response;
    response.body = describe::write_json(value);
    return response;
  }

  static std::vector<std::string> segments(std::string_view path) {
    std::vector<std::string> all;
    for (std::size_t begin = 1; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      all.emplace_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    return all;
  }

  template <class T>
  static T read(const Request& request, const std::vector<std::pair<std::string, std::string>>& names) {
    describe::Value fields =
        request.body.empty() ? describe::Value(describe::Value::Map{}) : describe::parse_json(request.body).value();
    for (const auto& [name, value] : names) fields.set(name, describe::Value(value));
    auto read = describe::read<T>(fields);
    if (!read) throw std::runtime_error(describe::to_error(read.error(), request.target).message);
    return *std::move(read);
  }

  Response answer(const Request& request, const std::string& path) {
    namespace requests = experiment::requests;
    if (net::http::find(request.headers, "Authorization") != std::string("Bearer ") + token) {
      return problem(401, "the token is not valid");
    }
    const std::vector<std::string> at = segments(path);  // api v1 noun id …
    if (at.size() < 4) return problem(404, "there is no such operation");
    const std::string what = at[2] + (at.size() > 4 ? "/" + at[4] : "") + (at.size() > 6 ? "/" + at[6] : "");
    if (at[2] == "trials" && at[3] != experiment::to_string(run.trial)) return problem(404, "there is no such trial");
    served_.push_back(what);
    if (what == "trials/run") return told(run);
    if (what == "trials/state") {
      news_.push_back(read<requests::ReportTrial>(request, {{"trial", at[3]}}));
      return told(access::Done{});
    }
    if (what == "trials/metrics") return store(read<requests::ReportMetrics>(request, {{"trial", at[3]}}));
    if (what == "trials/checkpoints") {
      if (checkpoints_.contains(at[5])) return problem(409, "it is complete");
      files_[at[5]];
      experiment::CheckpointView begun;
      begun.id = experiment::CheckpointId(at[5]);
      begun.trial = run.trial;
      return told(begun);
    }
    if (what == "trials/checkpoints/complete") {
      return complete(read<requests::CompleteCheckpoint>(request, {{"trial", at[3]}, {"checkpoint", at[5]}}));
    }
    if (what == "checkpoints" && run.checkpoint && run.checkpoint->id.value == at[3]) return told(*run.checkpoint);
    if (what == "checkpoints" && checkpoints_.contains(at[3])) return told(checkpoints_.at(at[3]));
    if (what == "checkpoints/files") return file(request, at[3]);
    return problem(404, "there is no such object");
  }

  Response store(experiment::requests::ReportMetrics batch) {
    for (std::size_t i = 0; refuses && i < batch.reports.size(); ++i) {
      if (refuses(batch.reports[i])) return problem(400, "reports[" + std::to_string(i) + "]: is refused");
    }
    experiment::requests::Reported reported{batch.reports.size(), {}};
    if (!fault.empty()) reported.faults.push_back(fault);
    batches_.push_back(std::move(batch));
    return told(reported);
  }

  Response complete(const experiment::requests::CompleteCheckpoint& whole) {
    const std::map<std::string, std::string>& have = files_[whole.checkpoint.value];
    experiment::CheckpointView view;
    view.id = whole.checkpoint;
    view.trial = run.trial;
    view.run = run.run;
    view.steps = whole.steps;
    for (const experiment::CheckpointFile& one : whole.files) {
      const auto found = have.find(one.name);
      const bool is_there = found != have.end() && objects::sha256(as_bytes(found->second)) == one.hash;
      if (!is_there) return problem(400, one.name + " is not stored");
      view.size += one.size;
    }
    view.files = whole.files;
    view.metadata = whole.metadata;
    checkpoints_[whole.checkpoint.value] = view;
    return told(view);
  }

  Response file(const Request& request, const std::string& uuid) {
    std::map<std::string, std::string> query;
    const net::http::Query given = net::http::query_of(request.target).value();
    for (const auto& [key, value] : given) query[key] = value;
    const std::string& name = query["name"];
    const auto offset = static_cast<std::size_t>(query.contains("offset") ? std::stoll(query["offset"]) : 0);
    if (request.method == net::http::Method::get) {
      const std::string& content = files_[uuid][name];
      Response response;
      response.content_type = "application/octet-stream";
      response.body = content.substr(std::min(offset, content.size()), part_max);
      return response;
    }
    std::string& part = parts_[uuid + "/" + name];
    if (offset > part.size()) return problem(409, "the part begins behind the end of what is stored");
    if (offset == part.size()) part += request.body;
    const auto size = static_cast<std::size_t>(std::stoll(query["size"]));
    const bool is_complete = part.size() == size && objects::sha256(as_bytes(part)) == query["hash"];
    if (is_complete) files_[uuid][name] = part;
    return told(experiment::requests::FileState{static_cast<std::int64_t>(part.size()), is_complete});
  }

 public:
  std::size_t part_max = 1 << 20;  ///< of what is read at a time

 private:
  std::mutex mutex_;
  std::deque<std::pair<std::string, Trouble>> troubles_;
  std::vector<experiment::requests::ReportMetrics> batches_;
  std::vector<experiment::requests::ReportTrial> news_;
  std::vector<std::string> served_;
  std::map<std::string, experiment::CheckpointView> checkpoints_;
  std::map<std::string, std::map<std::string, std::string>> files_;  ///< by checkpoint and name
  std::map<std::string, std::string> parts_;
  std::atomic<std::uint16_t> port_ = 0;
  std::atomic<int> connections_ = 0;
  loop::RealLoop* loop_ = nullptr;
  std::thread thread_;
};

}  // namespace cadre::client
