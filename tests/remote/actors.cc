// Remote classes through the public headers, each promise checked; prints "fine" when all hold. Run against the cluster
// of CADRE_MASTER.
#include <cadre/core.h>
#include <cadre/remote.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace {

struct Point {
  double x = 0;
  std::optional<std::string> name{};
  std::vector<std::int32_t> path{};
  std::map<std::string, std::vector<float>> more{};
  bool operator==(const Point&) const = default;
};
template <class V>
void describe(V& v, Point& p) {
  v.required("x", p.x, "Where.");
  v.field("name", p.name, "What people call it.");
  v.field("path", p.path, "From where.");
  v.field("more", p.more, "All else.");
}

class Thing {
 public:
  Thing() = default;
  Thing(int start, const std::string& name) : count(start), name_(name) {
    if (start < 0) throw std::invalid_argument("it must not be negative");
  }
  int add(int n) { return count += n; }
  std::string name() const { return name_; }
  Point echo(const Point& point) { return point; }
  std::vector<double> numbers(const std::vector<double>& given, double factor) {
    std::vector<double> made;
    for (const double one : given) made.push_back(one * factor);
    return made;
  }
  double sum(const cadre::Array<double>& given) {
    double total = 0;
    for (const double one : given) total += one;
    return total;
  }
  cadre::Array<double> same(const cadre::Array<double>& given) { return given; }
  void fail(const std::string& text) { throw std::out_of_range(text); }
  void throw_number() { throw 3; }
  int late(int milliseconds) {
    sleep(milliseconds);
    return milliseconds;
  }
  void speak() {
    std::printf("by stdio\n");
    std::cout << "by a stream" << std::endl;
    std::fprintf(stderr, "an error by stdio\n");
    std::cerr << "an error by a stream\n";
  }
  bool report(const std::string& text) { return static_cast<bool>(cadre::core::Context().report(text)); }
  void sleep(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }
  void die() { ::kill(::getpid(), SIGKILL); }
  int count = 0;

 private:
  std::string name_ = "nobody";
};

int faults = 0;
#define EXPECT(condition)                                                      \
  do {                                                                         \
    if (!(condition)) ++faults, std::cerr << __LINE__ << ": " #condition "\n"; \
  } while (false)

const cadre::Needs small{.cpus = 0.1};

template <class Error, class Work>
std::string thrown(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

void values() {
  const auto thing = cadre::remote<Thing>(small, 5, std::string("me"));
  EXPECT(thing.call(&Thing::add, 2).get() == 7);
  EXPECT(thing.call(&Thing::name).get() == "me");
  const Point point{1.5, "here", {1, -2, 3}, {{"a", {0.5F}}, {"b", {}}}};
  EXPECT(thing.call(&Thing::echo, point).get() == point);
  EXPECT(thing.call(&Thing::echo, Point{}).get() == Point{});
  for (const std::size_t size : {std::size_t{0}, std::size_t{3}, std::size_t{500}, std::size_t{3'000'000}}) {
    const std::vector<double> given(size, 1.5);
    EXPECT(thing.call(&Thing::numbers, given, 2).get() == std::vector<double>(size, 3.0));
    const cadre::Array<double> array(given);
    EXPECT(thing.call(&Thing::sum, array).get() == 1.5 * static_cast<double>(size));
    const cadre::Array<double> back = thing.call(&Thing::same, array).get();
    EXPECT(back.size() == size && (size == 0 || (back[0] == 1.5 && back[size - 1] == 1.5)));
  }
  EXPECT(thing.get(&Thing::count).get() == 7);
  thing.set(&Thing::count, 40).get();
  EXPECT(thing.call(&Thing::add, 2).get() == 42);
}

void errors() {
  const auto thing = cadre::remote<Thing>(small);
  try {
    thing.call(&Thing::fail, "beyond").get();
    EXPECT(false);
  } catch (const cadre::RemoteError& error) {
    EXPECT(error.type_name() == "std::out_of_range");
    EXPECT(std::string(error.what()) == "beyond");
  }
  EXPECT(thrown<cadre::RemoteError>([&] { thing.call(&Thing::throw_number).get(); }).find("not a std::exception") !=
         std::string::npos);
  EXPECT(thing.call(&Thing::add, 1).get() == 1);
  EXPECT(thrown<cadre::RemoteError>([] { cadre::remote<Thing>(small, -1, std::string()); }) ==
         "it must not be negative");
  EXPECT(thrown<cadre::RemoteError>([] { cadre::remote<Thing>(small, 1); }).find("constructor for 1 arguments") !=
         std::string::npos);
  EXPECT(thrown<cadre::OutcomeError>([] { cadre::remote<Thing>({.cpus = 1e6}); }) != "nothing was thrown");
  EXPECT(!cadre::connect("cadre://127.0.0.1:1"));
}

void futures() {
  const auto thing = cadre::remote<Thing>(small);
  const auto slow = thing.call(&Thing::sleep, 300);
  const auto next = thing.call(&Thing::add, 1);
  EXPECT(!slow.ready());
  EXPECT(thrown<cadre::OutcomeError>([&] { slow.get(std::chrono::milliseconds(5)); }) == "no response in time");
  std::atomic<int> called = 0;
  next.then([&](const cadre::Future<int>& one) { called = one.get(); });
  const auto doomed = thing.call(&Thing::add, 100);
  doomed.cancel();
  EXPECT(thrown<cadre::OutcomeError>([&] { doomed.get(); }).find("cancelled") != std::string::npos);
  slow.get(cadre::Wait::max());
  EXPECT(next.get() == 1);
  while (called == 0) std::this_thread::yield();
  EXPECT(called == 1);
  std::vector<cadre::Future<int>> many;
  for (int i = 0; i < 5'000; ++i) many.push_back(thing.call(&Thing::add, 1));
  const std::vector<int> all = cadre::gather(many, cadre::Wait::max());
  for (int i = 0; i < 5'000; ++i) EXPECT(all[static_cast<std::size_t>(i)] == i + 2);
  const auto other = cadre::remote<Thing>(small);
  const std::vector<cadre::Future<int>> two{thing.call(&Thing::late, 100'000), other.call(&Thing::late, 0)};
  EXPECT(cadre::wait(two, 1, cadre::Wait::max()).ready.size() == 1);
  EXPECT(cadre::wait(two, 1).ready.front().get() == 0);
  EXPECT(cadre::wait(two, 2, std::chrono::milliseconds(5)).open.size() == 1);
  EXPECT(cadre::wait(many, 5'000).open.empty());
}

/// What an actor writes is shown here.
int speak() {
  const auto thing = cadre::remote<Thing>(small);
  thing.call(&Thing::speak).get();
  std::cout << thing.job() << std::endl;
  return 0;
}

void threads() {
  const auto thing = cadre::remote<Thing>(small);
  std::vector<std::thread> all;
  std::atomic<int> wrong = 0;
  for (int number = 0; number < 6; ++number) {
    all.emplace_back([&, number] {
      for (int i = 0; i < 300; ++i) {
        const Point point{number * 1000.0 + i};
        if (!(thing.call(&Thing::echo, point).get() == point)) ++wrong;
      }
    });
  }
  for (std::thread& one : all) one.join();
  EXPECT(wrong == 0);
}

/// A report is not taken for the address of the actor, whatever it says.
void reports() {
  const auto thing = cadre::remote<Thing>({.cpus = 0.1, .max_restarts = 1});
  thing.set(&Thing::count, 7).get();
  const std::string key(40, '0');
  for (const std::string& text : {std::string("loss 1"), R"({"key": ")" + key + R"(", "port": 1})"}) {
    EXPECT(thing.call(&Thing::report, text).get());
    std::this_thread::sleep_for(std::chrono::milliseconds(500));  // the session hears of it
    EXPECT(thing.call(&Thing::add, 0).get() == 7);
  }
  EXPECT(thing.restarts() == 0);
}

void deaths() {
  const auto thing = cadre::remote<Thing>({.cpus = 0.1, .max_restarts = 1}, 5, std::string("again"));
  EXPECT(thrown<cadre::OutcomeError>([&] { thing.call(&Thing::die).get(); }).find("signal 9") != std::string::npos);
  EXPECT(thing.call(&Thing::add, 1).get() == 6);
  EXPECT(thing.restarts() == 1);
  thing.end();
  EXPECT(thrown<cadre::OutcomeError>([&] { thing.call(&Thing::add, 1).get(); }) == "the actor was ended");
}

[[maybe_unused]] void children() {
  const auto mine = cadre::remote<Thing>(small);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_refused = thrown<cadre::OutcomeError>([&] { mine.call(&Thing::add, 1); }) != "nothing was thrown";
    cadre::connect().value();
    const int sum = cadre::remote<Thing>(small).call(&Thing::add, 3).get();
    cadre::disconnect();
    const int code = is_refused && sum == 3 ? 0 : 1;
#ifdef __SANITIZE_ADDRESS__
    ::_exit(code);  // what only threads of the parent knew would be taken for leaked
#endif
    std::exit(code);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT(status == 0);
  EXPECT(mine.call(&Thing::add, 1).get() == 1);
}

/// Waits for an actor whose host is going to be lost; says what it is told.
int hold() {
  const auto thing = cadre::remote<Thing>(small);
  const auto long_call = thing.call(&Thing::sleep, 1'000'000);
  std::cout << "ready" << std::endl;
  try {
    long_call.get();
  } catch (const cadre::OutcomeError& error) {
    std::cout << "told: " << error.what() << std::endl;
    return 0;
  }
  return 1;
}

}  // namespace

CADRE_REMOTE(Thing, .ctor<>(), .ctor(cadre::types<int, std::string>), .method(&Thing::add), .method(&Thing::name),
             .method(&Thing::echo), .method(&Thing::numbers), .method(&Thing::sum), .method(&Thing::same),
             .method(&Thing::fail), .method(&Thing::throw_number), .method(&Thing::sleep), .method(&Thing::late),
             .method(&Thing::speak), .method(&Thing::report), .method(&Thing::die), .field(&Thing::count));

int main(int argc, char** argv) {
  cadre::init(argc, argv);
  cadre::connect().value();
  if (argc > 1 && std::string(argv[1]) == "hold") return hold();
  if (argc > 1 && std::string(argv[1]) == "speak") return speak();
  values();
  errors();
  futures();
  threads();
  reports();
  deaths();
#ifndef __SANITIZE_THREAD__  // which does not know threads that begin in a forked child
  children();
#endif
  cadre::disconnect();
  if (faults == 0) std::cout << "fine\n";
  return faults == 0 ? 0 : 1;
}
