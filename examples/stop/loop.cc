// A loop that can be stopped and goes on where it was: on a cluster, and just so on a laptop.
//   c++ -std=c++20 loop.cc -lcadre -o loop && ./loop 100
#include <cadre/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

namespace {

constexpr const char* checkpoint = "checkpoint.txt";

int load() {
  int step = 0;
  std::ifstream(checkpoint) >> step;
  return step;
}

void save(int step) {
  std::ofstream("checkpoint.new") << step;
  std::rename("checkpoint.new", checkpoint);  // there is always a whole one
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 100;
  cadre::core::Context context;
  context.promise_liveness();
  int step = load();
  for (; step < steps && !context.should_stop(); ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // here one would learn something
    if (step % 10 != 9) continue;
    const auto reported = context.report("{\"step\": " + std::to_string(step + 1) + "}");
    if (!reported) std::fprintf(stderr, "the report of step %d: %s\n", step + 1, reported.why.c_str());
  }
  if (const auto stop = context.stop()) std::printf("stopping at step %d: %s\n", step, stop->why.c_str());
  save(step);
}
