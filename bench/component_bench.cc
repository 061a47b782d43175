#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "bench/bench.h"
#include "bench/cluster_for_bench.h"
#include "bench/forked.h"
#include "client/components/group_member.h"
#include "loop/boot_clock.h"

namespace cadre::bench {
namespace {

using namespace std::chrono_literals;
using client::Engine;
using client::GroupMember;
using remote::Note;

constexpr auto measured = 1s;
constexpr auto patience = 60s;
constexpr std::size_t small = 64;
constexpr std::size_t crowd = 8;
constexpr int repeats = 3;
constexpr int joins = 5;
constexpr int rounds = 1'000;
constexpr std::size_t members_of_a_round = 4;

struct Place {
  std::string names;  // a URL
  bool uses_sockets_of_host = true;
};

double microseconds(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }
double milliseconds(TimePoint time) {
  return std::chrono::duration<double, std::milli>(time.time_since_epoch()).count();
}

/// One member, on an engine of its own.
struct Seat {
  Seat(const Place& place, const std::string& type, std::map<std::string, std::size_t> peers)
      : member(engine, log, options(place, type, std::move(peers))) {}
  static GroupMember::Options options(const Place& place, const std::string& type,
                                      std::map<std::string, std::size_t> peers) {
    GroupMember::Options made;
    made.group = "bench";
    made.type = type;
    made.names = place.names;
    made.uses_sockets_of_host = place.uses_sockets_of_host;
    made.peers = std::move(peers);
    return made;
  }
  TimePoint deadline() { return member.now() + patience; }
  /// Says so if something has failed.
  template <class T>
  bool is_good(const Result<T>& result) {
    if (!result) log.error(result.error().message);
    return static_cast<bool>(result);
  }
  bool joins() { return is_good(member.join(deadline())); }

  StderrLog log{Level::error};
  Engine engine;
  GroupMember member;
};

/// Answers, or only counts, until it is told to end: how much came in a second, and how many bytes were copied.
std::vector<double> serve(Seat& seat) {
  double count = 0;
  TimePoint begin;
  for (;;) {
    const Result<remote::Letter> letter = seat.member.receive(seat.deadline());
    if (!seat.is_good(letter) || letter->note.tag == "end") break;
    if (count++ == 0) begin = seat.member.now();
    if (letter->note.kind != Note::Kind::request) continue;
    if (!seat.is_good(seat.member.reply(*letter, {Note::Kind::reply, letter->note.body}, seat.deadline()))) break;
  }
  const double rate = (count - 1) / std::chrono::duration<double>(seat.member.now() - begin).count();
  return {rate, static_cast<double>(seat.member.copied_bytes())};
}

/// What the member that asks does once all are there.
using Act = std::function<std::vector<double>(Seat&, const std::vector<std::string>& servers)>;

/// Runs it with so many servers, each in a process; its numbers, and then those of the first server.
Result<std::vector<double>> with_servers(const Place& place, std::size_t count, const Act& act) {
  std::deque<Forked> processes;
  const auto start = [&](const std::string& type, const std::string& other, std::size_t others,
                         const std::function<std::vector<double>(Seat&)>& work) {
    processes.emplace_back([=]() -> Forked::Work {
      const auto seat = std::make_shared<Seat>(place, type, std::map<std::string, std::size_t>{{other, others}});
      return [seat, work] {
        if (!seat->joins()) return std::vector<double>();
        std::vector<double> numbers = work(*seat);
        seat->member.close(patience);
        return numbers;
      };
    });
  };
  start("asker", "server", count, [act](Seat& seat) {
    const std::vector<std::string> servers = seat.member.live("server");
    std::vector<double> numbers = act(seat, servers);
    for (const std::string& server : servers) {
      static_cast<void>(seat.member.send(server, {"end", 0, false, {}}, seat.deadline()));
    }
    return numbers;
  });
  for (std::size_t i = 0; i < count; ++i) {
    start("server", "asker", 1, serve);
  }
  for (Forked& process : processes) process.await_ready();
  for (Forked& process : processes) process.go();
  TRY_ASSIGN(numbers, processes[0].numbers());
  TRY_ASSIGN(counted, processes[1].numbers());
  numbers.insert(numbers.end(), counted.begin(), counted.end());
  return numbers;
}

/// Each to all servers at once, one round after another: microseconds until the last answer, the median and the 99th of
/// a hundred.
std::vector<double> ask(Seat& seat, const std::vector<std::string>& servers) {
  const Slice body(Bytes(small, std::byte{7}));
  std::vector<double> times;
  for (const TimePoint begin = seat.member.now(); seat.member.now() - begin < measured;) {
    const TimePoint sent = seat.member.now();
    if (servers.size() == 1) {
      if (!seat.is_good(seat.member.request(servers[0], {"ask", 0, false, body}, seat.deadline()))) return {};
    } else {
      std::vector<std::pair<std::string, GroupMember::Wish>> wishes;
      for (const std::string& server : servers) wishes.push_back({server, {"ask", 0, false, body}});
      for (const GroupMember::Outcome& outcome : seat.member.scatter(std::move(wishes), seat.deadline())) {
        if (!seat.is_good(outcome)) return {};
      }
    }
    times.push_back(microseconds(seat.member.now() - sent));
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100]};
}

/// How many, and how many bytes were copied for them.
std::vector<double> send(Seat& seat, const std::string& server, std::size_t size) {
  const Slice body(Bytes(size, std::byte{7}));
  double count = 0;
  for (const TimePoint begin = seat.member.now(); seat.member.now() - begin < measured;) {
    if (!seat.is_good(seat.member.send(server, {"tell", 0, false, body}, seat.deadline()))) return {};
    ++count;
  }
  if (!seat.is_good(seat.member.request(server, {"ask", 0, false, {}}, seat.deadline()))) return {};  // all have left
  return {count, static_cast<double>(seat.member.copied_bytes())};
}

/// From the moment on that all processes may begin until the last has joined, in milliseconds; the median.
Result<double> join(const std::function<std::string()>& names, std::size_t count) {
  std::vector<double> times;
  for (int i = 0; i < joins; ++i) {
    const Place place{names()};
    std::deque<Forked> processes;
    for (std::size_t one = 0; one < count; ++one) {
      processes.emplace_back([&]() -> Forked::Work {
        const auto seat =
            std::make_shared<Seat>(place, "member", std::map<std::string, std::size_t>{{"member", count - 1}});
        return [seat] {
          if (!seat->joins()) return std::vector<double>();
          return std::vector<double>{milliseconds(seat->member.now())};
        };
      });
    }
    for (Forked& process : processes) process.await_ready();
    const double begin = milliseconds(loop::boot_now());
    for (Forked& process : processes) process.go();
    double last = 0;
    for (Forked& process : processes) {
      TRY_ASSIGN(joined, process.numbers());
      last = std::max(last, joined.front());
    }
    times.push_back(last - begin);
  }
  std::sort(times.begin(), times.end());
  return times[joins / 2];
}

/// A server of names on a free port, if this host has the program.
class Redis {
 public:
  explicit Redis(const std::string& folder) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* address = reinterpret_cast<sockaddr*>(&at);
    {
      const loop::Descriptor probe(::socket(AF_INET, SOCK_STREAM, 0));
      if (::bind(probe.get(), address, size) != 0 || ::getsockname(probe.get(), address, &size) != 0) return;
    }
    const std::string port = std::to_string(ntohs(at.sin_port));
    url_ = "redis://127.0.0.1:" + port + "/0";
    process_.emplace(program, std::vector<std::string>{"--port", port, "--save", "", "--dir", folder},
                     folder + "/redis.log");
    for (int i = 0; i < 1'000; ++i) {
      const loop::Descriptor probe(::socket(AF_INET, SOCK_STREAM, 0));
      if (::connect(probe.get(), address, size) == 0) return;
      ::usleep(10'000);
    }
  }
  static bool is_there() { return ::access(program, X_OK) == 0; }
  const std::string& url() const { return url_; }

 private:
  static constexpr const char* program = "/usr/bin/redis-server";
  std::string url_;
  std::optional<Process> process_;
};

/// Members on threads join, and the first asks all others at once; in how many rounds all of them answered.
std::vector<double> reached() {
  double count = 0;
  for (int round = 0; round < rounds; ++round) {
    const Place place{"memory://round-" + std::to_string(round)};
    std::deque<Seat> seats;
    for (std::size_t i = 0; i < members_of_a_round; ++i) {
      seats.emplace_back(place, "member", std::map<std::string, std::size_t>{{"member", members_of_a_round - 1}});
    }
    std::deque<std::thread> threads;
    for (std::size_t i = 1; i < seats.size(); ++i) {
      threads.emplace_back([&seat = seats[i]] {
        if (seat.joins()) serve(seat);
      });
    }
    std::size_t answers = 0;
    if (seats[0].joins()) {
      std::vector<std::pair<std::string, GroupMember::Wish>> wishes;
      for (const std::string& peer : seats[0].member.live()) wishes.push_back({peer, {"ask", 0, false, {}}});
      for (const GroupMember::Outcome& outcome : seats[0].member.scatter(wishes, seats[0].deadline()))
        answers += outcome ? 1 : 0;
    }
    for (const std::string& peer : seats[0].member.live()) {
      static_cast<void>(seats[0].member.send(peer, {"end", 0, false, {}}, seats[0].deadline()));
    }
    for (std::thread& thread : threads) thread.join();
    count += answers == members_of_a_round - 1 ? 1 : 0;
  }
  return {count};
}

}  // namespace

Result<Figures> bench_component() {
  const Scratch scratch;
  Figures figures{"component", {}};
  int groups = 0;
  const auto fresh = [&] { return "file://" + scratch.path() + "/" + std::to_string(++groups); };
  // Each with its raw program right after it, some times over: other processes come and go.
  const auto add = [&](const Row& row, const std::string& raw, const auto& measure) -> Result<void> {
    std::vector<Row> rows;
    for (int i = 0; i < repeats; ++i) {
      TRY_ASSIGN(value, measure());
      TRY_ASSIGN(measured_row, row_beside_raw(row.name, value, row.unit, "zmq_processes " + raw));
      rows.push_back(std::move(measured_row));
    }
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.ratio < b.ratio; });
    figures.rows.push_back(rows[repeats / 2]);
    return {};
  };
  for (const std::string transport : {"unix", "tcp"}) {
    const bool is_unix = transport == "unix";
    const std::string suffix = is_unix ? ", unix sockets" : ", tcp and CURVE";
    const auto asks = [&](std::size_t servers, std::size_t which) {
      return [&, servers, which]() -> Result<double> {
        TRY_ASSIGN(asked, with_servers({fresh(), is_unix}, servers, ask));
        return asked.at(which);
      };
    };
    const std::string of_small = " " + transport + " " + std::to_string(small);
    TRY(add({"request of 64 B, p50" + suffix, 0, "us", {}, {}}, "p50" + of_small, asks(1, 0)));
    TRY(add({"request of 64 B, p99" + suffix, 0, "us", {}, {}}, "p99" + of_small, asks(1, 1)));
    TRY(add({"requests to 8 at once, p50" + suffix, 0, "us", {}, {}}, "scatter" + of_small, asks(crowd, 0)));
    for (const auto& [size, text] :
         {std::pair(small, "64 B"), {std::size_t{4} << 10, "4 KiB"}, {std::size_t{1} << 20, "1 MiB"}}) {
      double copied = 0;
      const auto sends = [&, size = size]() -> Result<double> {
        const Act act = [size](Seat& seat, const std::vector<std::string>& servers) {
          return send(seat, servers[0], size);
        };
        TRY_ASSIGN(sent, with_servers({fresh(), is_unix}, 1, act));
        copied = (sent.at(1) + sent.at(3)) / sent.at(0);
        return sent.at(2);
      };
      TRY(add({"messages of " + std::string(text) + ", one way" + suffix, 0, "1/s", {}, {}},
              "oneway " + transport + " " + std::to_string(size), sends));
      if (is_unix) figures.rows.push_back({"bytes copied for each of these", copied, "B", {}, {}});
    }
  }
  std::optional<Redis> redis;
  if (Redis::is_there()) redis.emplace(scratch.path());
  const auto fresh_prefix = [&] { return redis->url() + "?prefix=bench" + std::to_string(++groups); };
  for (const std::size_t count : {2, 8, 16}) {
    const std::string name = "join of " + std::to_string(count) + " processes, names in ";
    TRY_ASSIGN(by_file, join(fresh, count));
    figures.rows.push_back({name + "a folder", by_file, "ms", {}, {}});
    if (!redis) continue;
    TRY_ASSIGN(by_redis, join(fresh_prefix, count));
    figures.rows.push_back({name + "Redis", by_redis, "ms", {}, {}});
  }
  Forked rejoining([]() -> Forked::Work { return reached; });
  rejoining.await_ready();
  rejoining.go();
  TRY_ASSIGN(all, rejoining.numbers());
  figures.rows.push_back({"broadcasts right after a join that reached all", all.front(), "of 1,000", {}, {}});
  return figures;
}

}  // namespace cadre::bench
