/// A folder, packed, on its way to the master. One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "loop/file.h"
#include "objects/pack.h"
#include "rest/client.h"

namespace cadre::client {

class PackedCode {
 public:
  /// Takes its time. `invalid`: that folder cannot be packed.
  [[nodiscard]] static Result<std::unique_ptr<PackedCode>> pack(const std::string& folder);
  PackedCode(const PackedCode&) = delete;
  PackedCode& operator=(const PackedCode&) = delete;
  ~PackedCode();

  /// By which tasks name it.
  const std::string& hash() const { return packed_.hash; }
  /// Neither files nor folders nor links; the first few.
  const std::vector<std::string>& skipped() const { return packed_.skipped; }
  /// Data folders of masters and agents, which hold keys and tokens; left out.
  const std::vector<std::string>& data_folders() const { return packed_.private_folders; }
  /// Sends only what the master does not have yet. For the thread of the connection's loop; this must stay until then.
  [[nodiscard]] loop::Task<Result<void>> send(rest::Client& connection) const;

 private:
  explicit PackedCode(std::string scratch) : scratch_(std::move(scratch)) {}

  const std::string scratch_;  ///< a folder of our own that goes with this
  objects::Packed packed_;
  loop::File file_;
};

}  // namespace cadre::client
