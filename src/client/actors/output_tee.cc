#include "client/actors/output_tee.h"

#include <unistd.h>
#include <ext/stdio_sync_filebuf.h>

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cadre::client {
namespace {

constexpr std::size_t line_bytes_max = 16 << 10;  ///< a longer one is shown in parts

}  // namespace

/// One stream. glibc lets a program replace `stdout` and `stderr`; the streams of C++ keep the old ones, and are told.
struct OutputTee::Side {
  Side(ActorHost& h, Printer::Stream s, std::FILE*& file, std::vector<std::ostream*> streams)
      : host(h), stream(s), place(file), before(file), descriptor(::fileno(file)), pid(::getpid()) {
    std::fflush(file);
    cookie_io_functions_t functions{};
    functions.write = [](void* side, const char* bytes, std::size_t size) {
      return static_cast<Side*>(side)->take({bytes, size});
    };
    std::FILE* const made = ::fopencookie(this, "w", functions);
    if (made == nullptr) return;
    std::setvbuf(made, nullptr, stream == Printer::Stream::out ? _IOLBF : _IONBF, BUFSIZ);
    buffer.emplace(made);
    for (std::ostream* one : streams) {
      one->flush();
      replaced.emplace_back(one, one->rdbuf(&*buffer));
    }
    place = made;
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() {
    if (place == before) return;
    for (const auto& [one, old] : replaced) {
      one->flush();
      one->rdbuf(old);
    }
    std::fclose(std::exchange(place, before));
  }

  ssize_t take(std::string_view bytes) {
    for (std::string_view left = bytes; !left.empty();) {
      const ssize_t written = ::write(descriptor, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return 0;
      left.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::getpid() != pid) return static_cast<ssize_t>(bytes.size());  // a child process has no callers
    const std::lock_guard lock(mutex);
    line += bytes;
    const std::size_t end = line.rfind('\n');
    if (end != std::string::npos) {
      host.show(stream, std::string_view(line).substr(0, end + 1));
      line.erase(0, end + 1);
    }
    if (line.size() > line_bytes_max) host.show(stream, std::exchange(line, {}) + "\n");
    return static_cast<ssize_t>(bytes.size());
  }

  ActorHost& host;
  const Printer::Stream stream;
  std::FILE*& place;
  std::FILE* const before;
  const int descriptor;
  const pid_t pid;
  std::mutex mutex;
  std::string line;  ///< that has not ended
  std::optional<__gnu_cxx::stdio_sync_filebuf<char>> buffer;
  std::vector<std::pair<std::ostream*, std::streambuf*>> replaced;
};

OutputTee::OutputTee(ActorHost& host) {
  if (!host.shows_output()) return;
  out_ = std::make_unique<Side>(host, Printer::Stream::out, stdout, std::vector<std::ostream*>{&std::cout});
  err_ = std::make_unique<Side>(host, Printer::Stream::err, stderr, std::vector<std::ostream*>{&std::cerr, &std::clog});
}

OutputTee::~OutputTee() = default;

}  // namespace cadre::client
