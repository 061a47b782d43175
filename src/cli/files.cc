#include "cli/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "loop/file.h"

namespace cadre::cli {
namespace {

constexpr std::size_t size_max_bytes = std::size_t{64} << 20;

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const bool is_input = path == "-";
  struct stat status {};
  if (!is_input && stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    return fail(Errc::invalid, path + " is a directory; name a file");
  }
  std::FILE* file = is_input ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) {
    return fail(errno == ENOENT ? Errc::not_found : Errc::denied, "cannot read " + path + ": " + std::strerror(errno));
  }
  std::string text;
  char block[65536];
  std::size_t count = 0;
  while ((count = std::fread(block, 1, sizeof block, file)) > 0 && text.size() <= size_max_bytes) {
    text.append(block, count);
  }
  const bool broken = std::ferror(file) != 0;
  if (!is_input) std::fclose(file);
  if (broken) return fail(Errc::unavailable, "cannot read " + path + ": the read failed before the end of the file");
  if (text.size() > size_max_bytes) return fail(Errc::invalid, path + " is larger than 64 MiB");
  return text;
}

Result<void> make_empty_folder(const std::string& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
    return fail(Errc::conflict, folder + " is not a folder; name a new folder");
  }
  if (std::filesystem::is_empty(folder, error) || error == std::errc::no_such_file_or_directory) {
    return loop::make_folder(folder);
  }
  if (error) return fail(Errc::invalid, folder + ": " + error.message());
  return fail(Errc::conflict, folder + " is not empty; name a new folder");
}

}  // namespace cadre::cli
