#include "agent/task_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "describe/describe.h"

namespace cadre::agent {
namespace {

namespace fs = std::filesystem;
namespace supervision = cluster::supervision;

std::string name_of(const cluster::LeaseId& lease) {
  std::string name = cluster::to_string(lease);
  std::replace(name.begin(), name.end(), '/', '-');
  return name;
}

Failure failed(const std::string& what, const std::string& path) {
  return fail(Errc::unavailable, "cannot " + what + " " + path + ": " + std::strerror(errno));
}

std::optional<Bytes> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const BytesView bytes = as_bytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

template <class T>
std::optional<T> read_value(const std::string& path) {
  const std::optional<Bytes> bytes = read_file(path);
  if (!bytes) return std::nullopt;
  auto value = describe::read_msgpack<T>(*bytes);
  if (!value) return std::nullopt;
  return *std::move(value);
}

}  // namespace

TaskFolder::TaskFolder(const std::string& tasks, const cluster::LeaseId& lease) : path_(tasks + "/" + name_of(lease)) {}

Result<void> TaskFolder::make() const {
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) return failed("make", path_);
  if (::mkdir(work().c_str(), 0700) != 0 && errno != EEXIST) return failed("make", work());
  return {};
}

Result<void> TaskFolder::write_launch(const supervision::Launch& launch) const {
  const std::string path = path_ + "/launch";
  const Bytes bytes = describe::write_msgpack(launch);
  const int file = ::open((path + ".new").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return failed("write", path);
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  ::close(file);
  if (written != static_cast<ssize_t>(bytes.size())) return failed("write", path);
  if (::rename((path + ".new").c_str(), path.c_str()) != 0) return failed("write", path);
  return {};
}

std::optional<cluster::TaskEnding> TaskFolder::ending() const {
  return read_value<cluster::TaskEnding>(path_ + "/ending");
}

void TaskFolder::remove() const {
  std::error_code ignored;  // what cannot go now goes at the next start
  fs::remove_all(path_, ignored);
}

std::vector<FoundTask> find_tasks(const std::string& tasks) {
  std::vector<FoundTask> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(tasks, error)) {
    auto launch = read_value<supervision::Launch>(entry.path().string() + "/launch");
    if (!launch) {
      fs::remove_all(entry.path(), error);
      continue;
    }
    const TaskFolder folder(tasks, launch->lease);
    found.push_back({launch->lease, *std::move(launch), folder.ending()});
  }
  return found;
}

}  // namespace cadre::agent
