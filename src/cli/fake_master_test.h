/// A scripted master for the tests of this room: it has one job with its output, on the real sockets of a data folder,
/// and can be started again. For the test's thread; it serves on one of its own.
#pragma once

#include <sys/stat.h>

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
#include "cluster/bulk.h"
#include "cluster/data_folder.h"
#include "cluster/requests.h"
#include "logs/record.h"
#include "loop/real_loop.h"
#include "net/zmq_network.h"
#include "objects/hash.h"
#include "tests/servers/scratch.h"

namespace cadre::cli {

/// A task that runs.
inline cluster::requests::TaskView running_task(cluster::TaskId id, std::uint64_t epoch = 1) {
  cluster::requests::TaskView task;
  task.id = id;
  task.role = "task";
  task.rank = static_cast<std::int32_t>(id.member);
  task.stage = "running";
  task.epoch = epoch;
  task.agent = cluster::AgentId("blue");
  return task;
}

class FakeMaster {
 public:
  using Request = cluster::requests::Request;
  using Replies = std::vector<cluster::requests::Reply>;
  /// What to answer instead of what it would; nothing: what it would.
  using Script = std::function<std::optional<Replies>(const Request&)>;

  explicit FakeMaster(Script script = nullptr) : script_(std::move(script)) {
    job.id = {17};
    job.version = 1;
    start();
  }
  FakeMaster(const FakeMaster&) = delete;
  FakeMaster& operator=(const FakeMaster&) = delete;
  ~FakeMaster() {
    if (thread_.joinable()) stop();
  }

  const std::string& folder() const { return directory_.path(); }

  void start() {
    mkdir((folder() + "/run").c_str(), 0700);
    std::promise<void> ready;
    thread_ = std::thread([this, &ready] { serve(ready); });
    ready.get_future().wait();
  }
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
    loop_->post([this] { answer_watchers(); });
  }
  /// Its only task runs, for this epoch.
  void start_task(std::uint64_t epoch = 1) {
    change([epoch](cluster::requests::JobView& one) {
      one.stage = cluster::control::JobStage::running;
      one.tasks = {running_task({one.id, 0}, epoch)};
    });
  }
  /// Of its output so many bytes are still under way.
  void end_task(cluster::lease::Reason reason, std::int32_t number, const std::string& detail = "",
                std::int64_t late = 0) {
    const std::int64_t end = output_end({{job.id, 0}, {job.tasks.at(0).epoch}}) + late;
    change([&](cluster::requests::JobView& one) {
      one.stage = cluster::control::JobStage::ended;
      one.reason = reason;
      one.code = number;
      one.detail = detail;
      one.tasks[0].stage = "ended";
      one.tasks[0].ended = TimePoint(std::chrono::system_clock::now().time_since_epoch());
      one.tasks[0].ending = cluster::TaskEnding{reason, number, detail, {}, end};
    });
  }
  void write(cluster::LeaseId lease, logs::Stream stream, const std::string& text, bool continues = false) {
    const std::lock_guard lock(mutex_);
    logs::encode({stream, continues, TimePoint(std::chrono::seconds(1'700'000'000)), text}, output_[lease]);
    loop_->post([this] { answer_readers(); });
  }
  std::int64_t output_end(cluster::LeaseId lease) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(output_[lease].size());
  }

  /// The code that was put, by its hash, and in how many parts.
  std::pair<std::map<std::string, Bytes>, std::size_t> code() {
    const std::lock_guard lock(mutex_);
    return {code_, parts_put_};
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
    for (int i = 0; i < 10'000 && asked<T>().size() < count; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return asked<T>().size() >= count;
  }

  cluster::requests::JobView job;  ///< for who has stopped it, or through change()

 private:
  struct Waiting {
    net::Peer peer;
    std::uint64_t number = 0;
    std::uint64_t seen = 0;
  };

  void serve(std::promise<void>& ready) {
    loop::RealLoop loop;
    SilentLog log;
    const auto network = net::ZmqNetwork::make(loop, log).value();
    const cluster::DataFolder data{folder()};
    clients_ = network
                   ->bind({.addresses = {data.clients_address()}},
                          [this](const net::Peer& peer, const Bytes& bytes) { hear(peer, bytes); })
                   .value();
    bulk_ = network
                ->bind({.addresses = {data.bulk_address()}},
                       [this](const net::Peer& peer, const Bytes& bytes) { hear_bulk(peer, bytes); })
                .value();
    loop_ = &loop;
    ready.set_value();
    loop.run();
    watchers_.clear();
    readers_.clear();
    clients_.reset();
    bulk_.reset();
  }

  void answer(const net::Peer& peer, std::uint64_t number, cluster::requests::Reply reply) {
    (void)clients_->send(peer, describe::write_msgpack(cluster::requests::Answer{number, std::move(reply)}));
  }
  void answer_bulk(const net::Peer& peer, const cluster::bulk::FromMaster& message) {
    (void)bulk_->send(peer, describe::write_msgpack(message));
  }

  void hear(const net::Peer& peer, const Bytes& bytes) {
    const auto question = describe::read_msgpack<cluster::requests::Question>(bytes).value();
    const std::lock_guard lock(mutex_);
    asked_.push_back(question.request);
    if (script_) {
      if (auto replies = script_(question.request)) {
        for (auto& reply : *replies) answer(peer, question.number, std::move(reply));
        return;
      }
    }
    if (const auto* get = std::get_if<cluster::requests::GetJob>(&question.request)) {
      if (get->seen && *get->seen == job.version) return watchers_.push_back({peer, question.number, *get->seen});
    }
    if (std::holds_alternative<cluster::requests::Why>(question.request)) {
      return answer(peer, question.number, cluster::requests::Text{"waits for 1 slot"});
    }
    answer(peer, question.number, job);
  }

  void answer_watchers() {
    const std::lock_guard lock(mutex_);
    for (const Waiting& one : std::exchange(watchers_, {})) answer(one.peer, one.number, job);
  }

  void hear_bulk(const net::Peer& peer, const Bytes& bytes) {
    const auto message = describe::read_msgpack<cluster::bulk::ToMaster>(bytes).value();
    const std::lock_guard lock(mutex_);
    std::visit(overloaded{
                   [&](const cluster::bulk::ReadOutput& read) {
                     reads.push_back(read);
                     if (!answer_read(peer, read)) readers_.emplace_back(peer, read);
                   },
                   [&](const cluster::bulk::AskBlob& ask) { answer_bulk(peer, state_of(ask.number, ask.hash)); },
                   [&](const cluster::bulk::PutBlob& put) {
                     ++parts_put_;
                     Bytes& have = code_[put.hash];
                     if (static_cast<std::size_t>(put.offset) == have.size()) {
                       have.insert(have.end(), put.bytes.begin(), put.bytes.end());
                     }
                     answer_bulk(peer, state_of(put.number, put.hash));
                   },
                   [](const auto&) {},
               },
               message);
  }

  cluster::bulk::BlobState state_of(std::uint64_t number, const std::string& hash) {
    const auto found = code_.find(hash);
    if (found == code_.end()) return {number, 0, false};
    return {number, static_cast<std::int64_t>(found->second.size()), objects::sha256(found->second) == hash};
  }

  bool answer_read(const net::Peer& peer, const cluster::bulk::ReadOutput& read) {
    const Bytes& all = output_[read.lease];
    std::int64_t offset = read.offset;
    if (read.last_lines > 0) offset = tail(all, read.last_lines);
    if (read.wait && offset >= static_cast<std::int64_t>(all.size())) return false;
    answer_bulk(peer, cluster::bulk::Output{read.number, offset, static_cast<std::int64_t>(all.size()),
                                            Bytes(all.begin() + offset, all.end())});
    return true;
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
  void answer_readers() {
    const std::lock_guard lock(mutex_);
    std::erase_if(readers_, [&](const auto& one) { return answer_read(one.first, one.second); });
  }

 public:
  std::vector<cluster::bulk::ReadOutput> reads;  ///< for who has stopped it, or when nothing is asked

 private:
  servers::TempDir directory_;
  Script script_;
  std::mutex mutex_;
  std::map<std::string, Bytes> code_;
  std::size_t parts_put_ = 0;
  std::vector<Request> asked_;
  std::map<cluster::LeaseId, Bytes> output_;
  std::vector<Waiting> watchers_;
  std::vector<std::pair<net::Peer, cluster::bulk::ReadOutput>> readers_;
  loop::RealLoop* loop_ = nullptr;
  std::unique_ptr<net::Hub> clients_;
  std::unique_ptr<net::Hub> bulk_;
  std::thread thread_;
};

}  // namespace cadre::cli
