/// A scripted master for the tests of this room: it has one job with its output, speaks HTTP at a port that its data
/// folder tells, and can be started again. For the test's thread; it serves on one of its own.
#pragma once

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/overloaded.h"
#include "cli/asked_test.h"
#include "cluster/data_folder.h"
#include "describe/utf8.h"
#include "logs/record.h"
#include "loop/real_loop.h"
#include "net/http/server.h"
#include "objects/hash.h"
#include "tests/servers/scratch.h"

namespace cadre::cli {

/// A task that runs.
inline cluster::requests::TaskView running_task(cluster::TaskId id, std::uint64_t epoch = 1) {
  cluster::requests::TaskView task;
  task.id = id;
  task.role = "task";
  task.rank = static_cast<std::int32_t>(id.member);
  task.stage = cluster::lease::Stage::running;
  task.epoch = epoch;
  task.agent = cluster::AgentId("blue");
  return task;
}

/// What the master says to one request.
struct Answer {
  enum class Way : std::uint8_t { whole, stream, cut_stream, open_stream, silence };
  Way way = Way::whole;
  net::http::Response response;
  std::vector<std::string> pieces;  ///< of a stream
};

template <class T>
Answer told(const T& value) {
  Answer answer;
  answer.response.body = describe::write_json(value);
  return answer;
}
/// A body as it is.
inline Answer told_text(int status, std::string content_type, std::string body) {
  return {Answer::Way::whole, {status, std::move(content_type), std::move(body), {}}, {}};
}
using ProblemFaults = std::vector<std::pair<std::string, std::string>>;
/// No, as the gateway responds.
inline Answer told_no(int status, const std::string& detail, const ProblemFaults& faults = {}) {
  describe::Value body;
  body.set("title", describe::Value(net::http::reason_of(status))).set("status", describe::Value(status));
  body.set("detail", describe::Value(detail));
  describe::Value::List list;
  for (const auto& [path, message] : faults) {
    list.push_back(describe::Value().set("path", describe::Value(path)).set("message", describe::Value(message)));
  }
  body.set("faults", describe::Value(std::move(list)));
  return told_text(status, "application/problem+json", describe::to_json(body));
}
inline Answer told_in_pieces(Answer::Way way, std::vector<std::string> pieces) {
  return {way, {200, "application/x-ndjson", "", {}}, std::move(pieces)};
}
/// Never a word.
inline Answer silence() { return {Answer::Way::silence, {}, {}}; }

class FakeMaster {
 public:
  using Request = AskedRequest;
  /// What to answer instead of what it would; nothing: what it would.
  using Script = std::function<std::optional<Answer>(const Request&)>;

  explicit FakeMaster(Script script = nullptr) : script_(std::move(script)) {
    job.id = {17};
    job.version = 1;
    start();
    const cluster::KnownMaster known{url(), "somebody", token, ""};
    std::ofstream(cluster::DataFolder{folder()}.client_file()) << describe::write_json(known);
  }
  FakeMaster(const FakeMaster&) = delete;
  FakeMaster& operator=(const FakeMaster&) = delete;
  ~FakeMaster() {
    if (thread_.joinable()) stop();
  }

  static constexpr const char* token = "cadre-0123456789";
  const std::string& folder() const { return directory_.path(); }
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
  void restart(Duration gone = std::chrono::milliseconds(50)) {
    stop();
    std::this_thread::sleep_for(gone);
    job.version = 1;  // as with a real one: versions do not outlive it
    start();
  }

  /// Changes the job and tells those who wait for that.
  void change(const std::function<void(cluster::requests::JobView&)>& fn) {
    const std::lock_guard lock(mutex_);
    fn(job);
    ++job.version;
    loop_->post([this] { answer_waiting(); });
  }
  /// Its only task runs, for this epoch.
  void start_task(std::uint64_t epoch = 1) {
    change([epoch](cluster::requests::JobView& one) {
      one.stage = cluster::JobStage::running;
      one.tasks = {running_task({one.id, 0}, epoch)};
    });
  }
  /// Of its output so many bytes are still under way.
  void end_task(cluster::lease::Reason reason, std::int32_t number, const std::string& detail = "",
                std::int64_t late = 0) {
    const std::int64_t end = output_end({{job.id, 0}, {job.tasks.at(0).epoch}}) + late;
    change([&](cluster::requests::JobView& one) {
      one.stage = cluster::JobStage::ended;
      one.reason = reason;
      one.code = number;
      one.detail = detail;
      one.tasks[0].stage = cluster::lease::Stage::ended;
      one.tasks[0].ended = TimePoint(std::chrono::system_clock::now().time_since_epoch());
      one.tasks[0].ending = cluster::TaskEnding{reason, number, detail, {}, end};
    });
  }
  void write(cluster::LeaseId lease, logs::Stream stream, const std::string& text, bool continues = false) {
    const std::lock_guard lock(mutex_);
    logs::encode({stream, continues, TimePoint(std::chrono::seconds(1'700'000'000)), text}, output_[lease]);
    loop_->post([this] { answer_waiting(); });
  }
  std::int64_t output_end(cluster::LeaseId lease) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(output_[lease].size());
  }
  /// What was written before this is kept no longer.
  void lose_output(cluster::LeaseId lease, std::int64_t before) {
    const std::lock_guard lock(mutex_);
    lost_[lease] = before;
  }

  /// The code that was put, by its hash, and in how many parts.
  std::pair<std::map<std::string, Bytes>, std::size_t> code() {
    const std::lock_guard lock(mutex_);
    return {code_, parts_put_};
  }

  /// Input that was sent, by the number of the command; 0: to the task itself.
  std::string input(std::uint64_t exec = 0) {
    const std::lock_guard lock(mutex_);
    return input_[exec];
  }

  /// Everything that was asked of this kind, in order.
  template <class T>
  std::vector<T> asked() {
    const std::lock_guard lock(mutex_);
    std::vector<T> found;
    for (const Request& request : asked_) {
      if (const auto* one = std::get_if<T>(&request)) found.push_back(*one);
    }
    return found;
  }
  /// Waits until something of this kind was asked so many times.
  template <class T>
  bool wait_asked(std::size_t count = 1) {
    return wait([&] { return asked<T>().size() >= count; });
  }
  /// Everything that was asked, as it was said.
  std::vector<net::http::Request> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  /// The Idempotency-Keys of all that was asked, in order.
  std::vector<std::string> keys() {
    std::vector<std::string> all;
    for (const net::http::Request& one : heard()) {
      all.emplace_back(net::http::find(one.headers, "Idempotency-Key"));
    }
    return all;
  }
  /// Waits until so many did not wait for their answer to its end.
  bool wait_gone(std::size_t count = 1) {
    return wait([&] { return gone_ >= count; });
  }

  cluster::requests::JobView job;  ///< for who has stopped it, or through change()

 private:
  using Exchange = std::shared_ptr<net::http::Exchange>;  // shared by who keeps it and who answers
  struct Waiting {
    Exchange exchange;
    Request request;
  };

  static bool wait(const std::function<bool()>& holds) {
    for (int i = 0; i < 10'000 && !holds(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return holds();
  }

  void serve(std::promise<void>& ready) {
    loop::RealLoop loop;
    SilentLog log;
    net::http::ServerOptions options;
    options.port = port_;
    options.body_max = [](net::http::Method, std::string_view) { return ByteSize{4 << 20}; };
    auto server =
        net::http::Server::listen(loop, log, std::move(options), [this](std::unique_ptr<net::http::Exchange> one) {
          hear(std::move(one));
        }).value();
    port_ = server->port();
    loop_ = &loop;
    ready.set_value();
    loop.run();
    server.reset();  // before those who wait, who would be told that there is no answer
    waiting_.clear();
    silent_.clear();
    loop.destroy_tasks();
    streams_.clear();
  }

  void hear(const Exchange& exchange) {
    const std::lock_guard lock(mutex_);
    const net::http::Request& heard = exchange->request();
    heard_.push_back(heard);
    exchange->on_gone([this] { ++gone_; });
    const std::optional<Request> request = read_asked(heard);
    if (!request) return answer(exchange, told_no(404, "there is no " + std::string(heard.path())));
    asked_.push_back(*request);
    const std::optional<Answer> scripted = script_ ? script_(*request) : std::nullopt;
    if (scripted) return answer(exchange, *scripted);
    if (net::http::find(heard.headers, "Authorization") != std::string("Bearer ") + token) {
      return answer(exchange, told_no(401, "this token is not known"));
    }
    if (const std::optional<Answer> own = own_answer(*request, heard.body)) return answer(exchange, *own);
    waiting_.push_back({exchange, *request});
  }

  void answer(const Exchange& exchange, const Answer& said) {
    if (said.way == Answer::Way::silence) {
      silent_.push_back(exchange);
    } else if (said.way == Answer::Way::whole) {
      exchange->answer(said.response);
    } else {
      loop_->spawn(send(*this, exchange, said));
    }
  }
  static loop::Task<void> send(FakeMaster& self, Exchange exchange, Answer said) {
    std::unique_ptr<net::http::Stream> stream = exchange->stream(std::move(said.response));
    for (std::string& piece : said.pieces) {
      static_cast<void>(co_await stream->write(std::move(piece)));
      co_await loop::sleep(*self.loop_, std::chrono::milliseconds(5));  // so that each comes alone
    }
    if (said.way == Answer::Way::stream) static_cast<void>(co_await stream->end());
    if (said.way == Answer::Way::open_stream) {
      self.streams_.push_back(std::move(stream));
      self.silent_.push_back(std::move(exchange));
    }
  }

  void answer_waiting() {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const Waiting& one) {
      const std::optional<Answer> now = own_answer(one.request, "");
      if (now) answer(one.exchange, *now);
      return now.has_value();
    });
  }

  /// Nothing: later.
  std::optional<Answer> own_answer(const Request& request, const std::string& body) {
    namespace requests = cluster::requests;
    return std::visit(
        overloaded{
            [&](const requests::GetJob& get) -> std::optional<Answer> {
              if (get.seen && *get.seen == job.version) return std::nullopt;
              return told(job);
            },
            [&](const requests::Why&) -> std::optional<Answer> { return told(requests::Text{"waits for 1 slot"}); },
            [&](const requests::GetTask& get) -> std::optional<Answer> {
              for (const requests::TaskView& task : job.tasks) {
                if (task.id == get.task) return told(task);
              }
              return told_no(404, "there is no task " + to_string(get.task));
            },
            [&](const requests::ReadLogs& read) { return page(read); },
            [&](const requests::SendInput& sent) -> std::optional<Answer> {
              std::string& all = input_[sent.exec];
              const std::string_view bytes = as_text(sent.bytes);
              if (static_cast<std::size_t>(sent.offset) == all.size()) all += bytes;
              return told(requests::InputState{static_cast<std::int64_t>(all.size())});
            },
            [&](const requests::GetCode& get) -> std::optional<Answer> { return told(state_of(get.hash)); },
            [&](const requests::PutCode& put) -> std::optional<Answer> {
              ++parts_put_;
              Bytes& have = code_[put.hash];
              const BytesView bytes = as_bytes(body);
              if (static_cast<std::size_t>(put.offset) == have.size()) {
                have.insert(have.end(), bytes.begin(), bytes.end());
              }
              return told(state_of(put.hash));
            },
            [&](const auto&) -> std::optional<Answer> { return told(job); },
        },
        request);
  }

  cluster::requests::CodeState state_of(const std::string& hash) {
    const auto found = code_.find(hash);
    if (found == code_.end()) return {};
    return {static_cast<std::int64_t>(found->second.size()), objects::sha256(found->second) == hash};
  }

  std::optional<Answer> page(const cluster::requests::ReadLogs& read) {
    const cluster::LeaseId lease{read.task, {read.epoch.value_or(1)}};
    const Bytes& all = output_[lease];
    const auto end = static_cast<std::int64_t>(all.size());
    const std::int64_t offset = read.tail > 0 ? tail(all, read.tail) : std::max(read.offset, lost_[lease]);
    if (read.wait && offset >= end) return std::nullopt;
    cluster::requests::LogPage made{
        read.task, static_cast<std::int32_t>(read.task.member), lease.epoch.value, offset, end, {}};
    logs::Decoder decoder(BytesView(all).subspan(static_cast<std::size_t>(offset)));
    while (const std::optional<logs::Line> line = decoder.next()) {
      cluster::requests::LogLine& added = made.lines.emplace_back();
      added.time = line->time;
      added.stream = static_cast<cluster::requests::OutputStream>(line->stream);
      added.continues = line->continues;
      const BytesView bytes = as_bytes(line->text);
      describe::is_utf8(line->text) ? void(added.text = line->text)
                                    : void(added.bytes = Bytes(bytes.begin(), bytes.end()));
    }
    return told(made);
  }
  static std::int64_t tail(const Bytes& all, std::int64_t lines) {
    std::vector<std::int64_t> begins;
    logs::Decoder decoder(all);
    for (std::int64_t begin = 0; decoder.next(); begin = static_cast<std::int64_t>(decoder.consumed())) {
      begins.push_back(begin);
    }
    const auto count = static_cast<std::int64_t>(begins.size());
    return begins.empty() ? 0 : begins[static_cast<std::size_t>(std::max<std::int64_t>(0, count - lines))];
  }

  servers::TempDir directory_;
  Script script_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::string> input_;
  std::map<std::string, Bytes> code_;
  std::size_t parts_put_ = 0;
  std::vector<Request> asked_;
  std::vector<net::http::Request> heard_;
  std::map<cluster::LeaseId, Bytes> output_;
  std::map<cluster::LeaseId, std::int64_t> lost_;
  std::atomic<std::size_t> gone_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<Exchange> silent_;  ///< who is never answered
  std::vector<std::unique_ptr<net::http::Stream>> streams_;
  std::atomic<std::uint16_t> port_ = 0;
  loop::RealLoop* loop_ = nullptr;
  std::thread thread_;
};

}  // namespace cadre::cli
