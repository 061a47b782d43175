#include "base/protocol.h"

#include <gtest/gtest.h>

namespace cadre::protocol {
namespace {

TEST(ProtocolRange, PeersWithACommonVersionWorkTogether) {
  EXPECT_EQ(mismatch("a", {3, 2, "0.3.0"}, "b", {2, 2, "0.2.0"}), std::nullopt);
  EXPECT_EQ(mismatch("a", {2, std::nullopt, "0.2.0"}, "b", {3, 2, "0.3.0"}), std::nullopt);
  EXPECT_EQ(mismatch("a", own(), "b"), std::nullopt);
}

TEST(ProtocolRange, APeerOutsideTheRangeIsRefusedWithBothVersions) {
  EXPECT_EQ(
      mismatch("agent 'a1'", {1, std::nullopt, "0.1.0"}, "the master", {3, 2, "0.3.0"}),
      "agent 'a1' speaks protocol 1 (cadre 0.1.0), the master speaks protocol 2 to 3 (cadre 0.3.0); upgrade agent "
      "'a1'");
  EXPECT_EQ(
      mismatch("agent 'a1'", {4, 4, "0.4.0"}, "the master", {3, 2, ""}),
      "agent 'a1' speaks protocol 4 (cadre 0.4.0), the master speaks protocol 2 to 3 (version not stated); upgrade "
      "the master");
  EXPECT_NE(mismatch("a", Range{}, "b"), std::nullopt) << "from before ranges";
}

TEST(ProtocolRange, TheHeaderReadsBackAndGarbageIsNone) {
  for (const Range& range : {Range{2, std::nullopt, "0.2.0"}, Range{7, 2, ""}}) {
    EXPECT_EQ(parse_header(to_header(range)), range);
  }
  EXPECT_EQ(parse_header("2-2"), (Range{2, std::nullopt, ""}));
  for (const char* garbage : {"", "2", "2-", "-2", "3-2 x", "a-b", "2-99999999999", "2-3x", "-1-2"}) {
    EXPECT_EQ(parse_header(garbage), std::nullopt) << garbage;
  }
}

}  // namespace
}  // namespace cadre::protocol
