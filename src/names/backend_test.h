/// For the tests of this room: each backend as a place of its own, and sessions that can be asked as if they blocked.
/// One thread at a time for each side.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "loop/real_loop.h"
#include "loop/thread_pool.h"
#include "names/master/master_for_tests.h"
#include "names/names.h"
#include "net/http/http_for_tests.h"
#include "net/redis/redis_tls_for_tests.h"
#include "tests/servers/redis.h"
#include "tests/servers/results.h"
#include "tests/servers/scratch.h"

namespace cadre::names {

using std::chrono::milliseconds;
using std::chrono::seconds;

enum class BackendKind { memory, file, redis, redis_tls, master, master_tls };

/// Where nobody has put anything yet.
class Place {
 public:
  explicit Place(BackendKind kind) {
    static int made = 0;
    const std::string name = "test" + std::to_string(++made);
    switch (kind) {
      case BackendKind::memory: url_ = "memory://" + name; break;
      case BackendKind::file: url_ = "file://" + folder_.path() + "/names"; break;
      case BackendKind::redis: url_ = servers::shared_redis().url("prefix=" + name + ":"); break;
      case BackendKind::redis_tls: url_ = net::redis::shared_redis_in_tls().server().url("prefix=" + name + ":"); break;
      case BackendKind::master: url_ = url_of(shared_master(), name); break;
      case BackendKind::master_tls: url_ = url_of(shared_master_in_tls(), name); break;
    }
  }
  const std::string& url() const { return url_; }

 private:
  static std::string url_of(MasterForTests& master, const std::string& workspace) {
    master.add_workspace(workspace);
    return master.url(workspace);
  }

  servers::TempDir folder_;
  std::string url_;
};

/// A session with a loop of its own, which runs only while this is asked.
class Side {
 public:
  explicit Side(const std::string& url, const Options& options = {})
      : pool_(loop, {"names", 1, 64}), names(open(loop, pool_, url, options).value()) {}

  Result<Epoch> put(std::string key, std::string value, PutOptions options = {}) {
    return run(names->put(std::move(key), std::move(value), options));
  }
  Result<Entry> get(std::string key) { return run(names->get(std::move(key))); }
  Result<Entry> wait(std::string key, Duration time) { return run(names->wait(std::move(key), loop.now() + time)); }
  Result<std::vector<Entry>> list(std::string prefix) { return run(names->list(std::move(prefix))); }
  Result<void> remove(std::string key) { return run(names->remove(std::move(key))); }
  Result<std::size_t> remove_subtree(std::string prefix) { return run(names->remove_subtree(std::move(prefix))); }

  template <class T>
  T run(loop::Task<T> task) {
    return net::http::run_task(loop, std::move(task));
  }
  /// Runs the loop in turns, so that the condition may run it itself; a failure when that takes longer than a minute.
  void run_until(const std::function<bool()>& holds) {
    const TimePoint end = loop.now() + seconds(60);
    bool is_so = holds();
    for (; !is_so && loop.now() < end; is_so = holds()) run_for(milliseconds(2));
    EXPECT_TRUE(is_so) << "not within a minute";
  }
  void run_for(Duration time) { net::http::run_for(loop, time); }

  loop::RealLoop loop;

 private:
  loop::ThreadPool pool_;

 public:
  std::unique_ptr<Names> names;
};

inline std::string shown(const Change& change) {
  return change.entry.key + (change.kind == Change::Kind::put ? "=" + change.entry.value : " gone");
}

class EveryBackend : public testing::TestWithParam<BackendKind> {
 protected:
  Place place_{GetParam()};
};

inline std::string name_of_backend(const testing::TestParamInfo<BackendKind>& info) {
  static constexpr const char* names[] = {"Memory", "File", "Redis", "RedisTls", "Master", "MasterTls"};
  return names[static_cast<int>(info.param)];
}

}  // namespace cadre::names

#define INSTANTIATE_FOR_EVERY_BACKEND(suite)                                                                      \
  INSTANTIATE_TEST_SUITE_P(All, suite,                                                                            \
                           testing::Values(BackendKind::memory, BackendKind::file, BackendKind::redis,            \
                                           BackendKind::redis_tls, BackendKind::master, BackendKind::master_tls), \
                           name_of_backend)
