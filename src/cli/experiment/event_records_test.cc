#include "cli/experiment/event_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "describe/describe.h"

namespace cadre::cli {
namespace {

using experiment::requests::StoredReport;
using testing::HasSubstr;
using testing::Not;

constexpr TimePoint event_time{std::chrono::milliseconds(1'700'000'000'500)};

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

StoredReport event_report(const std::string& json) {
  StoredReport report;
  report.group = "validation";
  report.steps = 300;
  report.time = event_time;
  report.metrics = describe::parse_json(json).value();
  return report;
}

/// A tag and a value, as they are in the bytes of a record.
std::string scalar_bytes(const std::string& tag, const std::string& value_hex) {
  return hex(std::string("\x0a") + static_cast<char>(tag.size()) + tag + "\x15") + value_hex;
}

TEST(EventRecords, HaveTheChecksumsOfRfc3720) {
  EXPECT_EQ(crc32c(as_bytes("")), 0U);
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\0'))), 0x8a9136aaU);
  EXPECT_EQ(crc32c(as_bytes(std::string(32, '\xff'))), 0x62a8ab43U);
  std::string ascending(32, '\0');
  std::iota(ascending.begin(), ascending.end(), '\0');
  EXPECT_EQ(crc32c(as_bytes(ascending)), 0x46dd794eU);
}

TEST(EventRecords, BeginWithTheVersion) {
  EXPECT_EQ(hex(version_record(event_time)),
            "1800000000000000a37f4b22"  // length and its checksum
            "090000"
            "2040fc54d941"                    // wall time
            "1a0d627261696e2e4576656e743a32"  // brain.Event:2
            "2b353110");
}

TEST(EventRecords, HaveScalarsWithGroupAndName) {
  EXPECT_EQ(hex(scalars_record(event_report(R"({"loss": 0.5, "n": 3})"))),
            "3b000000000000001a23ac5c"
            "09000020"
            "40fc54d941"
            "10ac02"  // 300 steps
            "2a2d0a160a0f76616c69646174696f6e2f6c6f7373150000003f"
            "0a130a0c76616c69646174696f6e2f6e1500004040"
            "48d9abda");
}

TEST(EventRecords, HaveHyperparametersAsATableOfTheTextPlugin) {
  EXPECT_EQ(hex(hyperparameters_record(event_time, {{"lr", "0.1"}})),
            "73000000000000000d737cc80900002040fc54d9412a680a660a1c6879706572706172616d65746572732f746578745f73756d6d61"
            "7279423c080712041202080142327c206879706572706172616d65746572207c2076616c7565207c0a7c2d2d2d7c2d2d2d7c0a7c20"
            "6c72207c20302e31207c0a4a080a060a0474657874c11909ee");
  EXPECT_EQ(hyperparameters_record(event_time, {}), "");
  EXPECT_THAT(hyperparameters_record(event_time, {{"a", "x|y\nz"}}), HasSubstr("| a | x\\|y z |\n"));
}

TEST(EventRecords, KeepNumbersThatAreNotFiniteAndTruthsAndLeaveOutTexts) {
  const std::string record = hex(scalars_record(event_report(
      R"({"a": "NaN", "b": "Infinity", "c": "-Infinity", "d": true, "e": false, "f": "good", "g": {"x": {"y": 1}}})")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/a", "0000c07f")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/b", "0000807f")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/c", "000080ff")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/d", "0000803f")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/e", "00000000")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/g.x.y", "0000803f")));
  EXPECT_THAT(record, Not(HasSubstr(hex("validation/f"))));
  EXPECT_EQ(scalars_record(event_report(R"({"f": "good"})")), "") << "it has no number";
}

TEST(EventRecords, HaveInfinityForNumbersThatAFloatCannotHold) {
  const std::string record = hex(scalars_record(event_report(R"({"a": 1e300, "b": -1e300, "c": 9007199254740993})")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/a", "0000807f")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/b", "000080ff")));
  EXPECT_THAT(record, HasSubstr(scalar_bytes("validation/c", "0000005a"))) << "rounded to 2^53";
}

}  // namespace
}  // namespace cadre::cli
