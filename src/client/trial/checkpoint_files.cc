#include "client/trial/checkpoint_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "describe/utf8.h"
#include "experiment/requests/trials.h"

namespace cadre::client {
namespace {

namespace fs = std::filesystem;
using experiment::requests::checkpoint_files_most;

constexpr std::size_t file_name_max = 1'024;

std::string folder_part(const std::string& path) { return path.substr(0, path.rfind('/')); }

Result<CheckpointFile> described_file(const std::string& folder, const std::string& name) {
  CheckpointFile file;
  file.name = name;
  TRY(check_file_name(name));
  const std::string path = folder + "/" + name;
  std::error_code error;
  file.size = static_cast<std::int64_t>(fs::file_size(path, error));
  if (error) return fail(Errc::invalid, path + ": " + error.message());
  TRY_ASSIGN(hash, objects::sha256_of_file(path));
  file.hash = hash;
  return file;
}

}  // namespace

Result<void> check_file_name(std::string_view name) {
  const auto refuse = [&](const std::string& why) {
    return fail(Errc::invalid, "the file name '" + describe::escaped(std::string(name)) +
                                   "' cannot be that of a file " + "in a checkpoint: " + why);
  };
  if (name.empty() || name.size() > file_name_max) return refuse("use 1 to 1024 bytes");
  if (!describe::is_utf8(name)) return refuse("it is not valid UTF-8");
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return refuse("use a relative path without empty parts, . and ..");
    begin = end + 1;
  }
  return {};
}

Result<std::vector<CheckpointFile>> list_files(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fail(Errc::invalid, folder + " is not a folder");
  std::vector<std::string> names;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().lexically_relative(folder).string();
    std::error_code ignored;
    if (at->is_directory(ignored) && !at->is_symlink(ignored)) continue;
    if (!at->is_regular_file(ignored)) {
      return fail(Errc::invalid, at->path().string() + " is not a file; a checkpoint consists of files in folders");
    }
    if (names.size() == checkpoint_files_most) {
      return fail(Errc::invalid, folder + " has more than " + std::to_string(checkpoint_files_most) +
                                     " files; pack them into fewer files");
    }
    names.push_back(name);
  }
  if (error) return fail(Errc::invalid, folder + ": " + error.message());
  std::sort(names.begin(), names.end());
  std::vector<CheckpointFile> files;
  for (const std::string& name : names) {
    TRY_ASSIGN(file, described_file(folder, name));
    files.push_back(std::move(file));
  }
  return files;
}

Result<std::vector<CheckpointFile>> merge_shares(const std::vector<Share>& shares) {
  std::map<std::string, std::pair<CheckpointFile, std::uint32_t>> merged;
  for (const Share& share : shares) {
    for (const CheckpointFile& file : share.files) {
      const auto [at, is_new] = merged.try_emplace(file.name, file, share.rank);
      if (is_new || at->second.first == file) continue;
      return fail(Errc::conflict, "rank " + std::to_string(at->second.second) + " and rank " +
                                      std::to_string(share.rank) + " save different files named " +
                                      describe::escaped(file.name) + "; give them different names");
    }
  }
  if (merged.size() > checkpoint_files_most) {
    return fail(Errc::invalid, "the ranks save more than " + std::to_string(checkpoint_files_most) +
                                   " files together; pack them into fewer files");
  }
  std::vector<CheckpointFile> files;
  for (auto& [name, file] : merged) files.push_back(std::move(file.first));
  return files;
}

std::vector<CheckpointFile> own_files(const std::vector<Share>& shares, std::uint32_t rank) {
  std::set<std::string> brought;
  std::vector<CheckpointFile> own;
  for (const Share& share : shares) {
    for (const CheckpointFile& file : share.files) {
      if (share.rank == rank && !brought.contains(file.name)) own.push_back(file);
      if (share.rank < rank) brought.insert(file.name);
    }
  }
  return own;
}

std::string IncomingFile::draft() const { return path_ + ".part-" + std::to_string(::getpid()); }

Result<IncomingFile> IncomingFile::open(const std::string& folder, const CheckpointFile& file) {
  TRY(check_file_name(file.name));
  IncomingFile incoming(file, folder + "/" + file.name);
  TRY(loop::make_folder(folder_part(incoming.path_)));
  TRY_ASSIGN(output, loop::File::open(incoming.draft(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC));
  incoming.output_ = std::move(output);
  return incoming;
}

IncomingFile::IncomingFile(IncomingFile&& other) noexcept
    : file_(std::move(other.file_)),
      path_(std::exchange(other.path_, "")),
      output_(std::move(other.output_)),
      sum_(std::move(other.sum_)),
      written_(other.written_) {}

IncomingFile::~IncomingFile() {
  if (!path_.empty()) loop::unlink_file(draft());
}

Result<void> IncomingFile::append(BytesView bytes) {
  if (bytes.empty() || written_ + static_cast<std::int64_t>(bytes.size()) > file_.size) {
    return fail(Errc::corrupt, file_.name + " does not have " + std::to_string(file_.size) + " bytes");
  }
  sum_.update(bytes);
  TRY(output_.write(bytes));
  written_ += static_cast<std::int64_t>(bytes.size());
  return {};
}

Result<void> IncomingFile::finish() {
  if (sum_.finish() != file_.hash) return fail(Errc::corrupt, file_.name + " does not have the expected hash");
  TRY(output_.finish());
  TRY(loop::rename_file(draft(), path_));
  path_.clear();
  return {};
}

Result<void> copy_files(const std::string& from, const std::string& to, const std::vector<CheckpointFile>& files) {
  for (const CheckpointFile& file : files) {
    const std::string target = to + "/" + file.name;
    TRY(loop::make_folder(folder_part(target)));
    std::error_code error;
    fs::copy_file(from + "/" + file.name, target, fs::copy_options::overwrite_existing, error);
    if (error) return fail(Errc::unavailable, "cannot copy " + from + "/" + file.name + ": " + error.message());
    TRY(loop::make_durable(target));
  }
  return {};
}

Result<void> move_files(const std::string& from, const std::string& to, const std::vector<CheckpointFile>& files) {
  for (const CheckpointFile& file : files) {
    const std::string target = to + "/" + file.name;
    TRY(loop::make_folder(folder_part(target)));
    TRY(loop::rename_file(from + "/" + file.name, target));
    TRY(loop::make_durable(target));
  }
  return {};
}

}  // namespace cadre::client
