#include "agent/disk_watch.h"

#include <sys/statvfs.h>

#include <algorithm>

namespace cadre::agent {

namespace {

constexpr std::int64_t small_disk_share = 20;
constexpr std::uint64_t files_reserve = 64;

std::string in_megabytes(std::int64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

const std::string& DiskWatch::obstacle(TimePoint now) {
  if (now >= look_at_) look(now);
  return obstacle_;
}

void DiskWatch::failed(TimePoint now) {
  full_until_ = now + rules_.after_failure;
  look(now);
}

void DiskWatch::look(TimePoint now) {
  look_at_ = now + rules_.look_every;
  struct statvfs facts {};
  if (::statvfs(folder_.c_str(), &facts) != 0) return;
  const auto block = static_cast<std::int64_t>(facts.f_frsize);
  const std::int64_t free = static_cast<std::int64_t>(facts.f_bavail) * block;
  const std::int64_t all = static_cast<std::int64_t>(facts.f_blocks) * block;
  const std::int64_t reserve = std::min(rules_.reserve.value, all / small_disk_share);
  const int wanted = obstacle_.empty() ? 1 : 2;
  const bool no_files = facts.f_files > 0 && facts.f_favail < files_reserve;
  if (free >= wanted * reserve && !no_files && now >= full_until_) {
    obstacle_.clear();
  } else if (obstacle_.empty()) {
    obstacle_ = "the disk is full: " + in_megabytes(free) + " free in " + folder_ +
                (no_files ? ", no file can be created" : "") + "; free space there";
  }
}

}  // namespace cadre::agent
