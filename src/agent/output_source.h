/// The output of one task as its runtime captured it, by offset. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "logs/record.h"

namespace cadre::agent {

class OutputSource {
 public:
  OutputSource() = default;
  OutputSource(const OutputSource&) = delete;
  OutputSource& operator=(const OutputSource&) = delete;
  virtual ~OutputSource() = default;

  /// As logs::SpoolReader does it.
  [[nodiscard]] virtual Result<logs::Chunk> read(std::int64_t offset, std::size_t bytes_max) = 0;
  [[nodiscard]] virtual Result<std::int64_t> begin() const = 0;
};

/// What is in the spool in this folder, and what will be.
[[nodiscard]] std::unique_ptr<OutputSource> open_spool(std::string folder);

}  // namespace cadre::agent
