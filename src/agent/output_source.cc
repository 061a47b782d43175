#include "agent/output_source.h"

#include <utility>

#include "logs/spool.h"

namespace cadre::agent {
namespace {

class SpoolSource final : public OutputSource {
 public:
  explicit SpoolSource(std::string folder) : reader_(std::move(folder)) {}

  Result<logs::Chunk> read(std::int64_t offset, std::size_t bytes_max) override {
    return reader_.read(offset, bytes_max);
  }
  Result<std::int64_t> begin() const override { return reader_.begin(); }

 private:
  logs::SpoolReader reader_;
};

}  // namespace

std::unique_ptr<OutputSource> open_spool(std::string folder) {
  return std::make_unique<SpoolSource>(std::move(folder));
}

}  // namespace cadre::agent
