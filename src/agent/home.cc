#include "agent/home.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>

#include "base/hash.h"
#include "loop/descriptor.h"
#include "loop/file.h"

namespace cadre::agent {
namespace {

std::string place_path(const std::string& data) { return data + "/place"; }
std::string cluster_path(const std::string& data) { return data + "/cluster"; }
std::string id_path(const std::string& data) { return data + "/id"; }

/// The first line; empty when there is none.
std::string line_of(const std::string& path) {
  const std::string text = loop::read_file(path).value_or("");
  return text.substr(0, text.find('\n'));
}

/// The host, and the folder on it: its number and when it was made. A copy has others. Not the device, which may have
/// another number after the host's next start.
Result<std::string> place_of(const std::string& data) {
  struct statx about {};
  if (::statx(AT_FDCWD, data.c_str(), 0, STATX_INO | STATX_BTIME, &about) != 0) {
    return loop::system_failure("cannot look at " + data);
  }
  std::string text = line_of("/etc/machine-id") + "/" + std::to_string(about.stx_ino);
  if ((about.stx_mask & STATX_BTIME) != 0) {
    text += "/" + std::to_string(about.stx_btime.tv_sec) + "." + std::to_string(about.stx_btime.tv_nsec);
  }
  return std::to_string(fnv1a(text));
}

Result<void> set_tasks_aside(const std::string& data) {
  TRY(loop::remove_all(data + "/tasks.old"));
  if (std::rename((data + "/tasks").c_str(), (data + "/tasks.old").c_str()) != 0 && errno != ENOENT) {
    return loop::system_failure("cannot rename " + data + "/tasks");
  }
  return {};
}

}  // namespace

Result<Home> settle_in(const std::string& data, Adopt adopt, Log& log) {
  TRY_ASSIGN(place, place_of(data));
  Home home{place, line_of("/proc/sys/kernel/random/boot_id"), line_of(cluster_path(data))};
  const std::string before = line_of(place_path(data));
  const bool was_copied = !before.empty() && before != place;
  if (was_copied) {
    log.warning(data + " was copied or moved here; its tasks are not taken over and were set aside in " + data +
                "/tasks.old");
  }
  if (adopt == Adopt::yes && !home.cluster.empty()) {
    log.warning(data + " belonged to cluster " + home.cluster + "; its tasks are set aside in " + data + "/tasks.old");
    TRY(loop::remove_all(cluster_path(data)));
    home.cluster.clear();
    TRY(set_tasks_aside(data));
  } else if (was_copied) {
    TRY(set_tasks_aside(data));
  }
  if (before != place) TRY(loop::write_whole(place_path(data), as_bytes(place + "\n")));
  return home;
}

std::string kept_id(const std::string& data) { return line_of(id_path(data)); }

Result<void> keep_id(const std::string& data, const std::string& id) {
  return loop::write_whole(id_path(data), as_bytes(id + "\n"));
}

Result<void> note_cluster(const std::string& data, const std::string& cluster) {
  return loop::write_whole(cluster_path(data), as_bytes(cluster + "\n"));
}

}  // namespace cadre::agent
