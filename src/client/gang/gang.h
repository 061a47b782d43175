/// The processes that run one program together, as one of them sees them. All of them make the same calls in the same
/// order, one at a time; a call returns when all have made it. When a process is lost, or calls differ, waiting and
/// later calls fail with an error that names it. Safe on any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace cadre::client {

/// Where a process stands among the others. A node is a host, or more precisely a task of the gang.
struct GangPlace {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
  std::uint32_t node_rank = 0;
  std::uint32_t nodes = 1;
};

/// Numbers of one type, and how those of all ranks are combined.
enum class NumberKind : std::uint8_t { f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64 };
enum class Reduction : std::uint8_t { sum, mean, min, max };
[[nodiscard]] std::size_t bytes_of(NumberKind kind);

class Gang {
 public:
  virtual ~Gang() = default;
  virtual const GangPlace& place() const = 0;

  /// What each rank gave: on rank 0, or on all.
  [[nodiscard]] virtual Result<std::vector<Bytes>> gather(BytesView bytes) = 0;
  [[nodiscard]] virtual Result<std::vector<Bytes>> allgather(BytesView bytes) = 0;
  /// What rank 0 gave.
  [[nodiscard]] virtual Result<Bytes> broadcast(BytesView bytes) = 0;
  /// Combines the numbers of all ranks one by one, in the order of the ranks, and replaces them with the result.
  [[nodiscard]] virtual Result<void> allreduce(std::span<std::byte> numbers, NumberKind kind, Reduction how) = 0;

  /// From now on the others can go on without this process.
  virtual void leave() = 0;
};

}  // namespace cadre::client
