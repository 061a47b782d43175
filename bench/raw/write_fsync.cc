// Plain files: lines of LENGTH bytes appended to FILE by write, made durable by fsync every BATCH bytes; prints lines a
// second.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::size_t length = std::strtoul(argv[1], nullptr, 10);
  const std::size_t batch = std::strtoul(argv[2], nullptr, 10);
  const int file = ::open(argv[3], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return 1;
  const std::string line = std::string(length - 1, 'x') + "\n";
  std::size_t unsynced = 0;
  long lines = 0;
  const auto begin = std::chrono::steady_clock::now();
  std::chrono::duration<double> passed{};
  do {
    for (int i = 0; i < 1000; ++i, ++lines) {
      if (::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return 1;
      unsynced += line.size();
      if (unsynced < batch) continue;
      if (::fsync(file) != 0) return 1;
      unsynced = 0;
    }
    passed = std::chrono::steady_clock::now() - begin;
  } while (passed.count() < 2);
  ::unlink(argv[3]);
  std::printf("%.1f\n", static_cast<double>(lines) / passed.count());
}
