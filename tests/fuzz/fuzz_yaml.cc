/// Any bytes as YAML: what is read, written as JSON and read as YAML again, is the same.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "describe/formats.h"

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
  // A key of a flow map ends within 1024 bytes in YAML, so JSON with longer ones is no YAML.
  CHECK(as_yaml ? *as_yaml == *as_json : size > 900);
  return 0;
}
