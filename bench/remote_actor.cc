// Measures remote classes in C++ against the cluster of CADRE_MASTER; prints a name and a number a line.
#include <cadre/remote.h>

#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <deque>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using cadre::Array;
using cadre::Future;
using cadre::Remote;

class Echo {
 public:
  int add(int n) { return sum_ += n; }
  std::size_t take(const Array<double>& numbers) { return numbers.size(); }
  Array<double> give(std::size_t size) {
    if (numbers_.size() != size) numbers_ = Array<double>(std::vector<double>(size, 1.5));
    return numbers_;
  }
  void die() { ::kill(::getpid(), SIGKILL); }

 private:
  int sum_ = 0;
  Array<double> numbers_;
};

constexpr int crowd = 50;
constexpr std::size_t window = 256;
const cadre::Needs needs{.cpus = 0, .wait = false};

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }
void tell(const char* name, double value) { std::printf("%s %.6g\n", name, value), std::fflush(stdout); }

void one_at_a_time(const Remote<Echo>& echo) {
  std::vector<double> times;
  for (const auto begin = Clock::now(); since(begin) < 1.5;) {
    const auto called = Clock::now();
    echo.call(&Echo::add, 1).get();
    times.push_back(since(called) * 1e6);
  }
  std::sort(times.begin(), times.end());
  tell("call_p50", times[times.size() / 2]);
  tell("call_p99", times[times.size() * 99 / 100]);
}

double pipelined(const Remote<Echo>& echo, double seconds) {
  std::deque<Future<int>> flying;
  double count = 0;
  const auto begin = Clock::now();
  for (; since(begin) < seconds; ++count) {
    if (flying.size() == window) flying.front().get(), flying.pop_front();
    flying.push_back(echo.call(&Echo::add, 1));
  }
  for (const Future<int>& one : flying) one.get();
  return count / since(begin);
}

double threads_and_actors() {
  std::vector<Remote<Echo>> actors;
  for (int i = 0; i < 4; ++i) actors.push_back(cadre::remote<Echo>(needs));
  for (const Remote<Echo>& one : actors) one.call(&Echo::add, 1).get();
  std::vector<std::thread> threads;
  std::vector<double> counts(4);
  const auto begin = Clock::now();
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      while (since(begin) < 1.5) {
        for (const Remote<Echo>& one : actors) one.call(&Echo::add, 1).get(), ++counts[t];
      }
    });
  }
  for (std::thread& one : threads) one.join();
  return (counts[0] + counts[1] + counts[2] + counts[3]) / since(begin);
}

/// Gigabytes a second.
double arrays(const Remote<Echo>& echo, std::size_t bytes, bool are_results) {
  const Array<double> numbers(std::vector<double>(bytes / sizeof(double), 0.5));
  std::vector<double> rates;
  for (const auto begin = Clock::now(); since(begin) < 1.5;) {
    const auto called = Clock::now();
    are_results ? echo.call(&Echo::give, numbers.size()).get().size() : echo.call(&Echo::take, numbers).get();
    rates.push_back(static_cast<double>(bytes) / since(called) / 1e9);
  }
  std::nth_element(rates.begin(), rates.begin() + static_cast<long>(rates.size() / 2), rates.end());
  return rates[rates.size() / 2];
}

std::vector<Remote<Echo>> make(int count) {
  std::vector<Remote<Echo>> actors;
  for (int i = 0; i < count; ++i) actors.push_back(cadre::remote<Echo>(needs));
  std::vector<Future<int>> first;
  for (const Remote<Echo>& one : actors) first.push_back(one.call(&Echo::add, 1));
  cadre::gather(first);
  return actors;
}

void creation() {
  std::vector<double> times;
  for (int i = 0; i < 11; ++i) {
    const auto begin = Clock::now();
    make(1);
    times.push_back(since(begin) * 1000);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  std::sort(times.begin(), times.end());
  tell("create_one", times[times.size() / 2]);
  std::this_thread::sleep_for(std::chrono::seconds(12));  // the buffer is filled
  auto begin = Clock::now();
  std::vector<Remote<Echo>> actors = make(crowd);
  tell("create_fifty", since(begin) * 1000);
  begin = Clock::now();
  actors.push_back(make(1).front());
  tell("next_first_call", since(begin) * 1000);
  std::this_thread::sleep_for(std::chrono::seconds(12));
  begin = Clock::now();
  actors.clear();
  actors = make(crowd);
  tell("again_fifty", since(begin) * 1000);
}

void death() {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const Remote<Echo> echo = make(1).front();
    const auto begin = Clock::now();
    try {
      echo.call(&Echo::die).get();
    } catch (const cadre::OutcomeError&) {
      times.push_back(since(begin) * 1000);
    }
  }
  std::sort(times.begin(), times.end());
  if (!times.empty()) tell("death_known", times[times.size() / 2]);
}

}  // namespace

CADRE_REMOTE(Echo, .ctor<>(), .method(&Echo::add), .method(&Echo::take), .method(&Echo::give), .method(&Echo::die));

int main(int argc, char** argv) {
  cadre::init(argc, argv);
  cadre::connect().value();
  {
    const Remote<Echo> echo = make(1).front();
    one_at_a_time(echo);
    tell("pipelined", pipelined(echo, 1.5));
    tell("threads", threads_and_actors());
    tell("argument_1mb", arrays(echo, 1 << 20, false));
    tell("result_1mb", arrays(echo, 1 << 20, true));
    tell("argument_64mb", arrays(echo, 64 << 20, false));
    tell("result_64mb", arrays(echo, 64 << 20, true));
  }
  death();
  creation();
  cadre::disconnect();
}
