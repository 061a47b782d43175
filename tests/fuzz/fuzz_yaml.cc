/// Any bytes as YAML: what is read, written as JSON and read as YAML again, is the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "describe/formats.h"

namespace {

/// Whether a key, as JSON spells it, is longer than YAML lets a key in braces be.
bool has_long_key(std::string_view json) {
  constexpr std::size_t longest = 1000;
  std::size_t start = std::string_view::npos;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (start != std::string_view::npos && json[i] == '\\') {
      ++i;
    } else if (json[i] == '"') {
      if (start != std::string_view::npos && i - start > longest && json.substr(i + 1, 1) == ":") return true;
      start = start == std::string_view::npos ? i : std::string_view::npos;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cadre::describe;
  const Parsed parsed = parse_yaml({reinterpret_cast<const char*>(data), size});
  if (!parsed) {
    CHECK(!parsed.error().empty());
    return 0;
  }
  const std::string text = to_json(*parsed);
  const Parsed as_json = parse_json(text);
  CHECK(as_json);
  CHECK(to_json(*as_json) == text);
  const Parsed as_yaml = parse_yaml(text);
  CHECK(as_yaml ? *as_yaml == *as_json : has_long_key(text));
  return 0;
}
