#include "supervisor/capture.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "supervisor/clock.h"

namespace cadre::supervisor {

namespace {

constexpr Duration patience = std::chrono::milliseconds(500);  // with a line that has no end: a prompt, a bar
constexpr Duration retry_after = std::chrono::milliseconds(200);

logs::SpoolOptions options_of(const cluster::TaskLimits& limits) {
  logs::SpoolOptions options;
  options.bytes_max = limits.spool;
  if (limits.spool_full == cluster::SpoolFull::drop_oldest) options.full = logs::SpoolOptions::Full::drop_oldest;
  return options;
}

}  // namespace

Result<Capture> Capture::open(const std::string& folder, const cluster::TaskLimits& limits) {
  TRY_ASSIGN(spool, logs::SpoolWriter::open(folder, options_of(limits)));
  return Capture(std::move(spool));
}

void Capture::limit(const cluster::TaskLimits& limits) { spool_.limit(options_of(limits)); }

void Capture::follow(Descriptor out, Descriptor err, Lines lines) {
  patience_ = lines == Lines::whole ? patience : Duration{0};
  sources_[0] = {logs::Stream::out, std::move(out)};
  sources_[1] = {logs::Stream::err, std::move(err)};
}

void Capture::watch(Watch& watch) {
  if (spool_.full()) return;
  for (Source& source : sources_) {
    if (source.pipe) watch.add(source.pipe.get(), POLLIN, [this, &source] { read_some(source); });
  }
}

bool Capture::read_some(Source& source) {
  static std::array<char, 65'536> buffer;
  if (!source.pipe) return false;
  const ssize_t got = ::read(source.pipe.get(), buffer.data(), buffer.size());
  if (got > 0) {
    spool_.append(source.stream, {buffer.data(), static_cast<std::size_t>(got)}, wall_now());
    rest_since_ = spool_.has_rest() ? std::optional(now()) : std::nullopt;
    if (spool_.waiting_bytes() > 0 && !retry_at_) retry_at_ = now() + retry_after;
    return true;
  }
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) source.pipe.close();
  return got < 0 && errno == EINTR;
}

void Capture::tick(TimePoint at) {
  if (rest_since_ && at >= *rest_since_ + patience_) {
    spool_.flush(wall_now());
    rest_since_.reset();
  }
  if (spool_.waiting_bytes() == 0) {
    retry_at_.reset();
  } else if (!retry_at_ || at >= *retry_at_) {
    spool_.retry(wall_now());
    retry_at_ = at + retry_after;
  }
}

TimePoint Capture::next() const {
  TimePoint next = TimePoint::max();
  if (rest_since_) next = std::min(next, *rest_since_ + patience_);
  if (retry_at_) next = std::min(next, *retry_at_);
  return next;
}

std::int64_t Capture::give_up() {
  rest_since_.reset();
  retry_at_.reset();
  return spool_.give_up();
}

void Capture::drain() {
  for (Source& source : sources_) {
    // Bounded: a descriptor of the pipe that was handed to a stranger could write for ever.
    for (int pieces = 0; pieces < 64 && read_some(source);) ++pieces;
    source.pipe.close();
  }
  spool_.flush(wall_now());
  rest_since_.reset();
  if (spool_.waiting_bytes() > 0) retry_at_ = now();
}

}  // namespace cadre::supervisor
