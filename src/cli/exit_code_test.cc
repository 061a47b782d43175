#include "cli/exit_code.h"

#include <gtest/gtest.h>

namespace cadre::cli {
namespace {

TEST(ExitCodes, OfRequestsTellRefusalsFromMastersThatAreAway) {
  for (const Errc code : {Errc::invalid, Errc::conflict, Errc::denied}) EXPECT_EQ(exit_code_of({code, ""}), refused);
  for (const Errc code : {Errc::unavailable, Errc::timed_out}) EXPECT_EQ(exit_code_of({code, ""}), unreachable);
  for (const Errc code : {Errc::not_found, Errc::corrupt}) EXPECT_EQ(exit_code_of({code, ""}), failed);
}

TEST(ExitCodes, OfUsageDifferInWhatIsInvalid) {
  for (const auto& [code, name] : enum_names(Errc{})) {
    EXPECT_EQ(exit_code_of_usage({code, ""}), code == Errc::invalid ? bad_usage : exit_code_of({code, ""})) << name;
  }
}

}  // namespace
}  // namespace cadre::cli
