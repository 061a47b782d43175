#include "client/upload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "cluster/bulk.h"
#include "cluster/output.h"
#include "loop/file.h"
#include "objects/pack.h"

namespace cadre::client {
namespace {

namespace requests = cluster::requests;

/// A folder of our own that is gone in the end.
class Scratch {
 public:
  Scratch() {
    std::error_code ignored;
    std::string name = (std::filesystem::temp_directory_path(ignored) / "cadre-code-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

loop::Task<Got<void>> send(Connection& connection, const objects::Packed& packed, const loop::File& file) {
  requests::GetCode question{packed.hash};  // named: g++ 12 destroys such a temporary twice
  Got<requests::CodeState> state = co_await connection.ask(question);
  int without_progress = 0;
  for (std::int64_t sent = 0; state && !state->complete;) {
    const std::int64_t have = state->have;
    // A master that was started again may have lost the last part; one that never goes on must not keep us.
    without_progress = have > sent ? 0 : without_progress + 1;
    if (without_progress > 100) {
      co_return NotGot(
          Refusal{failed, "the master takes no more of the code after " + std::to_string(have) + " bytes"});
    }
    sent = have;
    const std::int64_t left = std::max<std::int64_t>(0, packed.size.value - have);
    std::string part(std::min<std::size_t>(cluster::bulk::part_bytes_max, static_cast<std::size_t>(left)), '\0');
    const Result<std::size_t> count = file.read_at(have, std::as_writable_bytes(std::span(part)));
    if (!count) co_return NotGot(Refusal{failed, count.error().message});
    part.resize(*count);
    requests::PutCode next{packed.hash, packed.size.value, have};
    state = co_await connection.put(std::move(next), part, std::chrono::minutes(1));
  }
  if (!state) co_return NotGot(state.error());
  co_return Got<void>();
}

}  // namespace

loop::Task<Got<Uploaded>> upload(Connection& connection, std::string folder) {
  const Scratch scratch;
  if (scratch.path().empty()) {
    co_return NotGot(Refusal{failed, "there is no room to pack " + folder + "; set TMPDIR to a folder with some"});
  }
  const Result<objects::Packed> packed = objects::pack(folder, scratch.path() + "/pack", {});
  if (!packed) co_return NotGot(Refusal{bad_usage, packed.error().message});
  Result<loop::File> file = loop::File::open(scratch.path() + "/pack", O_RDONLY | O_CLOEXEC);
  if (!file) co_return NotGot(Refusal{failed, file.error().message});
  const Got<void> sent = co_await send(connection, *packed, *file);
  if (!sent) co_return NotGot(sent.error());
  co_return Uploaded{packed->hash, packed->skipped};
}

}  // namespace cadre::client
