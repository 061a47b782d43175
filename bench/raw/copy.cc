// memcpy of BYTES from one place that is in use to another; gigabytes a second.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

int main(int, char** argv) {
  const std::size_t size = std::stoul(argv[1]);
  std::vector<char> from(size, 'x'), to(size, 'y');
  std::vector<double> rates;
  for (double begin = now(), copied = begin; copied - begin < 1; copied = now()) {
    std::memcpy(to.data(), from.data(), size);
    from[0] = to[size / 2];
    rates.push_back(static_cast<double>(size) / (now() - copied) / 1e9);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("%.3f\n", rates[rates.size() / 2]);
}
