// Best fit with the same tie rule (FNV-1a of "gang/agent") and nothing else: no queue, no reasons, no priorities.
// Places 2·AGENTS gangs of 1, 2, 4 and 8 slots on AGENTS agents of 8; prints placements a second.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

std::uint64_t fnv1a(const std::string& text, std::uint64_t state) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return state;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int agents = std::atoi(argv[1]);
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{};
  double done = 0;
  do {
    std::vector<std::vector<int>> by_free(9);
    std::vector<std::string> names;
    for (int i = 0; i < agents; ++i) {
      names.push_back("a" + std::to_string(i));
      by_free[8].push_back(i);
    }
    for (int g = 0; g < agents * 2; ++g) {
      const int slots = 1 << g % 4;
      const std::uint64_t seed = fnv1a("g" + std::to_string(g) + "/", 0xcbf29ce484222325);
      int free = slots;
      while (free <= 8 && by_free[free].empty()) ++free;
      if (free > 8) return 1;
      std::size_t best = 0;
      std::uint64_t least = ~std::uint64_t{0};
      for (std::size_t i = 0; i < by_free[free].size(); ++i) {
        if (const std::uint64_t hash = fnv1a(names[by_free[free][i]], seed); hash < least) least = hash, best = i;
      }
      const int agent = by_free[free][best];
      by_free[free][best] = by_free[free].back();
      by_free[free].pop_back();
      by_free[free - slots].push_back(agent);
      ++done;
    }
    passed = std::chrono::steady_clock::now() - begin;
  } while (passed.count() < 0.5);
  std::printf("%.1f\n", done / passed.count());
}
