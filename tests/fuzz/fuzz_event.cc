// Any bytes as a conditional event: a fault with its column or an event, never a crash, and what is read is spelled so
// that it reads back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "remote/event.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre;
  const auto event = remote::parse_event({reinterpret_cast<const char*>(data), size});
  if (!event) {
    CHECK(event.error().message.starts_with("column "));
    return 0;
  }
  CHECK(remote::check(*event).has_value());
  CHECK(remote::parse_event(to_string(*event)) == *event);
  return 0;
}
