#include "client/cluster/packed_code.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "cluster/bulk.h"
#include "cluster/data_folder.h"
#include "cluster/output.h"

namespace cadre::client {

namespace requests = cluster::requests;

namespace {

/// Whether a master or an agent keeps its secrets there.
bool is_data_folder(const std::string& path) {
  const cluster::DataFolder folder{path};
  std::error_code unknown;
  const std::array files{folder.keys_file(), folder.pass_file(), folder.local_secret_file(), path + "/agent.keys"};
  return std::any_of(files.begin(), files.end(),
                     [&](const std::string& file) { return std::filesystem::exists(file, unknown); });
}

}  // namespace

Result<std::unique_ptr<PackedCode>> PackedCode::pack(const std::string& folder) {
  if (is_data_folder(folder)) {
    return fail(Errc::invalid,
                folder + " is the data folder of a master or an agent and holds its keys; choose another folder");
  }
  std::error_code ignored;
  std::string scratch = (std::filesystem::temp_directory_path(ignored) / "cadre-code-XXXXXX").string();
  if (::mkdtemp(scratch.data()) == nullptr) {
    return fail(Errc::not_found, "not enough space to pack " + folder + "; set TMPDIR to a folder with free space");
  }
  std::unique_ptr<PackedCode> code(new PackedCode(scratch));
  objects::PackOptions options;
  options.is_private = is_data_folder;
  Result<objects::Packed> packed = objects::pack(folder, scratch + "/pack", options);
  if (!packed) return fail(Errc::invalid, packed.error().message);
  Result<loop::File> file = loop::File::open(scratch + "/pack", O_RDONLY | O_CLOEXEC);
  if (!file) return fail(Errc::corrupt, file.error().message);
  code->packed_ = *std::move(packed);
  code->file_ = *std::move(file);
  return code;
}

PackedCode::~PackedCode() {
  std::error_code ignored;
  std::filesystem::remove_all(scratch_, ignored);
}

loop::Task<Result<void>> PackedCode::send(rest::Client& connection) const {
  requests::GetCode question{packed_.hash};  // named: g++ 12 destroys such a temporary twice
  Result<requests::CodeState> state = co_await connection.ask(question);
  int without_progress = 0;
  for (std::int64_t sent = 0; state && !state->complete;) {
    const std::int64_t have = state->have;
    // A master that was started again may have lost the last part; one that never goes on must not keep us.
    without_progress = have > sent ? 0 : without_progress + 1;
    if (without_progress > 100) {
      co_return fail(Errc::corrupt, "the master accepts no more of the code after " + std::to_string(have) + " bytes");
    }
    sent = have;
    const std::int64_t left = std::max<std::int64_t>(0, packed_.size.value - have);
    std::string part(std::min<std::size_t>(cluster::bulk::part_bytes_max, static_cast<std::size_t>(left)), '\0');
    const Result<std::size_t> count = file_.read_at(have, std::as_writable_bytes(std::span(part)));
    if (!count) co_return fail(Errc::corrupt, count.error().message);
    part.resize(*count);
    requests::PutCode next{packed_.hash, packed_.size.value, have};
    state = co_await connection.put(next, part, std::chrono::minutes(1));
  }
  if (!state) co_return Failure(state.error());
  co_return Result<void>();
}

}  // namespace cadre::client
