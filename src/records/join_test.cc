#include "records/backend_test.h"

namespace cadre::records {
namespace {

using cluster::AgentId;

TimePoint at(std::int64_t seconds) { return TimePoint(std::chrono::seconds(seconds)); }

class JoinContract : public BothEngines {
 protected:
  void SetUp() override { ASSERT_DONE(records_->add_join_token({"h1", at(100), "gpu"})); }

  Result<std::string> join(const std::string& hash, const std::string& agent, const std::string& key,
                           TimePoint now = at(50)) {
    return records_->use_join_token({hash, AgentId(agent), key, now});
  }
  std::vector<std::string> names() {
    std::vector<std::string> list;
    const std::vector<AgentKey> keys = records_->agent_keys().value();
    for (const AgentKey& key : keys) list.push_back(key.agent.value);
    return list;
  }
  void expect_denied(const Result<std::string>& joined, const std::string& words) {
    EXPECT_ERROR(Errc::denied, joined);
    EXPECT_THAT(joined.error().message, testing::HasSubstr(words));
  }

  std::unique_ptr<Records> records_ = open(backend_.url());
};

TEST_P(JoinContract, ATokenLetsOneAgentIn) {
  EXPECT_EQ(join("h1", "a", "key a").value(), "gpu");
  const std::vector<AgentKey> wanted{{AgentId("a"), "key a", "gpu", at(50)}};
  EXPECT_EQ(records_->agent_keys().value(), wanted);
  expect_denied(join("h1", "b", "key b"), "was used by agent a");
  expect_denied(join("h1", "a", "key b"), "was used by agent a");
  EXPECT_EQ(records_->agent_keys().value(), wanted);
}

TEST_P(JoinContract, UnknownAndExpiredTokensAreDenied) {
  expect_denied(join("h2", "a", "key"), "this join token is not known");
  expect_denied(join("h1", "a", "key", at(100)), "has expired");
  EXPECT_TRUE(names().empty());
  ASSERT_DONE(join("h1", "a", "key", at(99)));
}

TEST_P(JoinContract, AnExpiryOfZeroIsNever) {
  ASSERT_DONE(records_->add_join_token({"h2", {}, "default"}));
  ASSERT_DONE(join("h2", "a", "key", at(1'000'000'000)));
}

TEST_P(JoinContract, TheSameOnceMoreIsTheSameAgainUntilTheKeyIsRemoved) {
  ASSERT_DONE(join("h1", "a", "key"));
  EXPECT_EQ(join("h1", "a", "key", at(500)).value(), "gpu");
  ASSERT_DONE(records_->remove_agent_key(AgentId("a")));
  expect_denied(join("h1", "a", "key"), "was used");
  EXPECT_TRUE(names().empty());
}

TEST_P(JoinContract, ANewTokenDoesNotGiveAnAgentAnotherKey) {
  ASSERT_DONE(join("h1", "a", "key"));
  ASSERT_DONE(records_->add_join_token({"h2", {}, "cpu"}));
  expect_denied(join("h2", "a", "other key"), "has another key");
  EXPECT_EQ(join("h2", "a", "key").value(), "cpu");
  EXPECT_EQ(records_->agent_keys().value().at(0).pool, "cpu");
}

TEST_P(JoinContract, ATokenAddedAgainIsNotFresh) {
  ASSERT_DONE(join("h1", "a", "key"));
  ASSERT_DONE(records_->add_join_token({"h1", at(900), "gpu"}));
  expect_denied(join("h1", "b", "key"), "was used");
}

TEST_P(JoinContract, KeysComeInOrderAndGo) {
  for (const std::string name : {"b", "a", "B"}) {
    ASSERT_DONE(records_->add_join_token({name, {}, "p"}));
    ASSERT_DONE(join(name, name, "key of " + name));
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"B", "a", "b"}));
  ASSERT_DONE(records_->remove_agent_key(AgentId("a")));
  EXPECT_ERROR(Errc::not_found, records_->remove_agent_key(AgentId("a")));
  EXPECT_EQ(names(), (std::vector<std::string>{"B", "b"}));
  records_.reset();
  records_ = open(backend_.url());
  EXPECT_EQ(names(), (std::vector<std::string>{"B", "b"}));
}

TEST_P(JoinContract, ExpiredTokensArePruned) {
  ASSERT_DONE(records_->add_join_token({"h2", {}, "p"}));
  EXPECT_EQ(records_->prune_join_tokens(at(99)).value(), 0);
  EXPECT_EQ(records_->prune_join_tokens(at(100)).value(), 1);
  expect_denied(join("h1", "a", "key"), "this join token is not known");
  ASSERT_DONE(join("h2", "a", "key"));
  ASSERT_DONE(records_->add_join_token({"h3", at(100), "p"}));
  ASSERT_DONE(join("h3", "c", "other key"));
  EXPECT_EQ(records_->prune_join_tokens(at(1'000)).value(), 0);
  ASSERT_DONE(join("h3", "c", "other key"));  // a host that was started again still shows it
}

TEST_P(JoinContract, ANamelessAgentIsInvalid) {
  EXPECT_ERROR(Errc::invalid, join("h1", "", "key"));
  EXPECT_ERROR(Errc::invalid, join("h1", "a", ""));
}

INSTANTIATE_FOR_BOTH_ENGINES(JoinContract);

}  // namespace
}  // namespace cadre::records
