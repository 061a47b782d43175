#include "client/host_identity.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

namespace cadre::client {
namespace {

std::string boot_id() {
  std::string boot;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::getline(file, boot);
  return boot;
}

std::uint64_t space_of(const std::string& kind) {
  struct stat facts {};
  return stat(("/proc/thread-self/ns/" + kind).c_str(), &facts) == 0 ? facts.st_ino : 0;
}

/// When it was started, in ticks since the machine was; empty: there is no such process, or only its exit code is left.
std::string start_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return "";
  std::istringstream fields(text.substr(name_end + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") return "";
  for (int i = 1; i < 20; ++i) fields >> field;
  return field;
}

/// As folders are called: the machine since its start, whose process ids are meant, the process and when it began.
std::string owner_of_now() {
  const std::string pid = std::to_string(own_pid());
  return boot_id().substr(0, 8) + "-" + std::to_string(space_of("pid")) + "-" + pid + "-" + start_of(pid);
}

/// Of processes that were killed.
void remove_left_behind(const std::string& base) {
  const std::string here = boot_id().substr(0, 8) + "-" + std::to_string(space_of("pid")) + "-";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(base, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(here)) continue;
    const std::size_t dash = name.find('-', here.size());
    const std::size_t end = name.rfind('-');
    if (dash == std::string::npos || end <= dash) continue;
    const std::string start = start_of(name.substr(here.size(), dash - here.size()));
    if (start != name.substr(dash + 1, end - dash - 1)) std::filesystem::remove_all(entry.path(), ignored);
  }
}

}  // namespace

std::string network_identity() { return boot_id() + "-" + std::to_string(space_of("net")); }

std::string host_identity() {
  std::string identity = boot_id() + "." + std::to_string(geteuid());
  for (const char* space : {"net", "mnt"}) identity += "." + std::to_string(space_of(space));
  return identity;
}

std::vector<std::string> addresses_of_host() {
  std::vector<std::string> found;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return found;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    const auto* address = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &address->sin_addr, text, sizeof text);
    if (std::string_view(text) != "127.0.0.1") found.emplace_back(text);
  }
  ::freeifaddrs(all);
  return found;
}

pid_t own_pid() {
  static std::atomic<pid_t> known;
  static const int asked_after_forks = pthread_atfork(nullptr, nullptr, [] { known = ::getpid(); });
  static_cast<void>(asked_after_forks);
  if (known.load(std::memory_order_relaxed) == 0) known = ::getpid();
  return known.load(std::memory_order_relaxed);
}

namespace {

Failure no_private_folder(const std::string& path) {
  return fail(Errc::unavailable, "cannot make a private folder " + path + ": " + std::strerror(errno) +
                                     "; free space there, or set XDG_RUNTIME_DIR to a folder of your own");
}

/// Where all of those stand.
Result<std::string> base_of_private_folders() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  const bool has_own = runtime != nullptr && access(runtime, W_OK | X_OK) == 0;
  const std::string base = (has_own ? std::string(runtime) : "/tmp") + "/cadre-" + std::to_string(geteuid());
  if (mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) return no_private_folder(base);
  struct stat facts {};
  const bool is_ours = lstat(base.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid();
  if (is_ours && (facts.st_mode & 0077) == 0) return base;
  return fail(Errc::denied, base + " is not a private folder of this user; remove it");
}

}  // namespace

Result<std::unique_ptr<PrivateFolder>> PrivateFolder::make() {
  TRY_ASSIGN(base, base_of_private_folders());
  remove_left_behind(base);
  std::string pattern = base + "/" + owner_of_now() + "-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return no_private_folder(pattern);
  return std::unique_ptr<PrivateFolder>(new PrivateFolder(std::move(pattern)));
}

Result<std::string> PrivateFolder::named(const std::string& name) {
  TRY_ASSIGN(base, base_of_private_folders());
  const std::string path = base + "/" + name;
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return no_private_folder(path);
  return path;
}

void PrivateFolder::sweep() const { remove_left_behind(std::filesystem::path(path_).parent_path()); }

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace cadre::client
