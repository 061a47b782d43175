// The file of a custom search, also of an older version: what was decided reaches the master, or is forgotten.
#include "client/search/search_program.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "client/trial/fake_trial_master_for_tests.h"
#include "loop/file.h"
#include "tests/servers/scratch.h"
#include "tests/servers/variable.h"

namespace cadre::client {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class SearchProgramTest : public testing::Test {
 protected:
  SearchProgramTest() {
    std::filesystem::copy_file(std::string(CADRE_SOURCE_DIR) + "/tests/golden/experiment/search-program-0.2.json",
                               file_);
  }

  [[nodiscard]] Result<std::unique_ptr<SearchProgram>> open(const std::string& experiment = "") const {
    return SearchProgram::open({file_, master_.url(), experiment, "", std::nullopt, ""});
  }
  [[nodiscard]] std::string content() const { return loop::read_file(file_).value(); }

  servers::TempDir scratch_;
  const std::string file_ = scratch_.path() + "/search.json";
  FakeTrialMaster master_;
  servers::Variable token_{"CADRE_TOKEN", FakeTrialMaster::token};
};

TEST_F(SearchProgramTest, SendsWhatWasDecidedBeforeItContinues) {
  const auto program = open();  // the experiment has ended and is not known any more
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_THAT(master_.served(), ElementsAre("experiments/search"));
  EXPECT_EQ((*program)->experiment(), experiment::ExperimentId{12});
  EXPECT_EQ((*program)->created(), 5);
  EXPECT_EQ((*program)->state()->as<describe::Value::List>()->front(), describe::Value(4.0));
}

TEST_F(SearchProgramTest, ForgetsWhatTheMasterRefuses) {
  master_.trouble("/actions", {FakeTrialMaster::Fate::served, 400, "the actions are invalid"});
  const auto refused = open();
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, Errc::invalid);
  EXPECT_THAT(refused.error().message, HasSubstr("the actions are invalid"));
  EXPECT_THAT(content(), Not(HasSubstr("decided")));
  const auto program = open();
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_EQ((*program)->created(), 3);
  EXPECT_EQ((*program)->state()->as<describe::Value::List>()->front(), describe::Value(0.0));
}

TEST_F(SearchProgramTest, KeepsWhatTheMasterDeniesUntilTheTokenIsRight) {
  {
    const servers::Variable expired("CADRE_TOKEN", "cadre-expired");
    EXPECT_EQ(open().error().code, Errc::denied);
  }
  EXPECT_THAT(content(), HasSubstr("decided"));
  EXPECT_EQ(open().value()->created(), 5);
}

TEST_F(SearchProgramTest, HasItsFileAlone) {
  const auto program = open();
  ASSERT_TRUE(program.has_value()) << program.error().message;
  EXPECT_THAT(open().error().message, HasSubstr("another program uses"));
}

TEST_F(SearchProgramTest, BelongsToOneExperiment) {
  EXPECT_THAT(open("13").error().message, HasSubstr("belongs to experiment 12"));
  EXPECT_THAT(open("x").error().message, HasSubstr("pass its ID, a number"));
}

}  // namespace
}  // namespace cadre::client
