/// How values that MessagePack has no format for are written: as its extension types. Values; safe on any thread.
///
///   1  array: dtype (its length as a byte, then numpy's text for it, `<f8`), the number of dimensions as a byte, each
///      dimension in 8 bytes (little-endian), zeros up to 63 bytes, then the numbers in the order of C
///   2  scalar: the same without dimensions; for what has no number of its own: complex, datetime64, timedelta64
///   3  set: a list of its items
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "describe/packer.h"

namespace cadre::client {

enum class ValueForm : std::int8_t { array = 1, scalar = 2, set = 3 };

constexpr std::size_t dimensions_max = 32;  ///< as many as numpy has
/// Where numbers stand in memory: at a multiple of this, counted from the beginning of the frame.
constexpr std::size_t array_alignment = 8;

struct ArrayForm {
  std::string dtype;  ///< as numpy writes it: `<f8`, `|b1`, `<M8[ns]`
  std::vector<std::size_t> shape;
  BytesView data;
};

/// Bytes of one item; 0: that dtype cannot be sent. Big-endian numbers, objects and structures cannot.
[[nodiscard]] std::size_t item_bytes(std::string_view dtype);

/// `lead`: bytes that stand before what the packer writes when it has arrived.
void write_array(describe::Packer& packer, ValueForm form, const ArrayForm& array, std::size_t lead);

/// Corrupt when it is none.
[[nodiscard]] Result<ArrayForm> read_array(BytesView extension);

}  // namespace cadre::client
