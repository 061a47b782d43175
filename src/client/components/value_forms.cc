#include "client/components/value_forms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <span>

namespace cadre::client {
namespace {

constexpr std::size_t padding_max = 63;
constexpr std::size_t dtype_max = 32;
constexpr std::size_t empty_rows_max = 1'000'000;  // a few bytes must not stand for more work than that

template <class T>
void put(describe::Packer& packer, T number) {
  packer.raw(std::as_bytes(std::span(&number, 1)));
}

Failure corrupt() {
  return fail(Errc::corrupt, "is not an array: it ends too early, or its shape and dtype are wrong");
}

}  // namespace

std::size_t item_bytes(std::string_view dtype) {
  if (dtype.size() < 3 || dtype.size() > dtype_max || (dtype[0] != '<' && dtype[0] != '|')) return 0;
  std::size_t number = 0;
  const char* const end = dtype.data() + dtype.size();
  const auto [rest, error] = std::from_chars(dtype.data() + 2, end, number);
  if (error != std::errc() || number > (std::size_t{1} << 30)) return 0;
  const bool is_plain = rest == end;
  const bool is_power = number == 1 || number == 2 || number == 4 || number == 8;
  switch (dtype[1]) {
    case 'b': return is_plain && number == 1 ? 1 : 0;
    case 'i':
    case 'u': return is_plain && is_power ? number : 0;
    case 'f': return is_plain && is_power && number > 1 ? number : 0;
    case 'c': return is_plain && (number == 8 || number == 16) ? number : 0;
    case 'S': return is_plain ? number : 0;
    case 'U': return is_plain ? 4 * number : 0;
    case 'M':
    case 'm': return number == 8 && (is_plain || *rest == '[') ? 8 : 0;
    default: return 0;
  }
}

void write_array(describe::Packer& packer, ValueForm form, const ArrayForm& array, std::size_t lead) {
  const std::size_t place = packer.open_extension(static_cast<std::int8_t>(form));
  put(packer, static_cast<std::uint8_t>(array.dtype.size()));
  packer.raw(as_bytes(array.dtype));
  put(packer, static_cast<std::uint8_t>(array.shape.size()));
  for (const std::size_t size : array.shape) put(packer, static_cast<std::uint64_t>(size));
  constexpr std::array<std::byte, array_alignment> zeros{};
  const std::size_t past = (lead + packer.written().size()) % array_alignment;
  packer.raw(BytesView(zeros).first(past == 0 ? 0 : array_alignment - past));
  packer.raw(array.data);
  packer.close_extension(place);
}

Result<ArrayForm> read_array(BytesView extension) {
  BytesView rest = extension;
  const auto take = [&rest](std::size_t size) {
    const BytesView taken = rest.first(std::min(size, rest.size()));
    rest = rest.subspan(taken.size());
    return taken;
  };
  const auto byte = [&] {
    const BytesView taken = take(1);
    return taken.empty() ? std::size_t{0} : std::to_integer<std::size_t>(taken[0]);
  };
  ArrayForm array;
  array.dtype = as_text(take(byte()));
  const std::size_t one = item_bytes(array.dtype);
  const std::size_t dimensions = byte();
  if (one == 0 || dimensions > dimensions_max || rest.size() < 8 * dimensions) return corrupt();
  std::size_t count = 1;
  bool is_empty = false;
  bool is_too_many = false;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::uint64_t size = 0;
    std::memcpy(&size, take(8).data(), 8);
    array.shape.push_back(static_cast<std::size_t>(size));
    is_empty = is_empty || size == 0;
    is_too_many = is_too_many || (size != 0 && count > extension.size() / size);
    if (size != 0 && !is_too_many) count *= static_cast<std::size_t>(size);
  }
  if (is_empty) is_too_many = *std::max_element(array.shape.begin(), array.shape.end()) > empty_rows_max;
  const std::size_t bytes = is_empty ? 0 : count * one;
  if (is_too_many || bytes > rest.size() || rest.size() - bytes > padding_max) return corrupt();
  array.data = rest.subspan(rest.size() - bytes);
  return array;
}

}  // namespace cadre::client
