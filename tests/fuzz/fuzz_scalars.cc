/// Any bytes as a duration, a size, base64 and a number: what is read is spelled so that it reads back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/check.h"
#include "base/time.h"
#include "describe/number.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto duration = parse_duration(text)) CHECK(parse_duration(to_string(*duration)) == *duration);
  if (const auto bytes = parse_byte_size(text)) CHECK(parse_byte_size(to_string(*bytes)) == *bytes);
  if (const auto bytes = from_base64(text)) CHECK(to_base64(*bytes) == text);
  if (const auto number = describe::parse_number(text); number && *number) {
    if (const auto* real = (*number)->as<double>()) {
      const auto again = describe::parse_number(describe::to_text(*real));
      CHECK(!again || **again == **number);  // NaN and the infinities have another spelling in JSON
    }
  }
  return 0;
}
