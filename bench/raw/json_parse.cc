// Plain boost.json: parses a list of small objects of about SIZE bytes, into its own tree; prints MB a second.
#include <boost/json/src.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::size_t size = std::strtoul(argv[1], nullptr, 10);
  std::string text = "[";
  for (int i = 0; text.size() < size; ++i) {
    text +=
        std::string(i == 0 ? "" : ",") + R"({"id":"agent)" + std::to_string(i) +
        R"(","slots":8,"slot_kind":"artificial","cpus":0,"memory":"64GiB","labels":{},"enabled":true,"draining":false})";
  }
  text += "]";
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{};
  double done = 0;
  do {
    if (!boost::json::parse(text).is_array()) return 1;
    done += static_cast<double>(text.size()) / 1e6;
    passed = std::chrono::steady_clock::now() - begin;
  } while (passed.count() < 0.5);
  std::printf("%.1f\n", done / passed.count());
}
