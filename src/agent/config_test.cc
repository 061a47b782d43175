#include "agent/config.h"

#include <gmock/gmock.h>

#include "describe/describe.h"

namespace cadre::agent {
namespace {

using testing::HasSubstr;

std::string faults_of(const std::string& yaml) {
  const auto read = describe::read_yaml<Config>(yaml);
  return read ? "" : describe::to_text(read.error(), "agent.yaml");
}

TEST(AgentConfig, ReadsEveryKey) {
  const auto read = describe::read_yaml<Config>(R"(
data: /srv/agent
master: head:7311
id: a1
pool: big
slots: 4
cpus: 1.5
memory: 8GiB
labels: {gpu: a100}
warm: 2
warm_memory: 1GiB
setup_timeout: 10m
owner: ann
uids: 200000-265535
allow_mounts: [/data, "/scratch:rw"]
pythons: [/opt/venv]
allow_isolation_off: true
)");
  ASSERT_TRUE(read) << describe::to_text(read.error(), "");
  EXPECT_EQ(read->slots.artificial, 4);
  EXPECT_EQ(read->cpus->milli, 1500);
  EXPECT_EQ(read->memory->value, std::int64_t{8} << 30);
  EXPECT_EQ(read->labels.at("gpu"), "a100");
  EXPECT_EQ(read->setup_timeout, std::chrono::minutes(10));
  EXPECT_EQ(read->uids.first, 200'000);
  ASSERT_EQ(read->allow_mounts.size(), 2U);
  EXPECT_EQ(read->allow_mounts[1].prefix, "/scratch");
  EXPECT_TRUE(read->allow_mounts[1].writable);
  EXPECT_EQ(describe::write_json(*describe::read<Config>(describe::write(*read))), describe::write_json(*read));
}

TEST(AgentConfig, TakesSlotsAsTextOrNumber) {
  for (const char* text : {"auto", "none", "'0,2'"}) {
    const auto read = describe::read_yaml<Config>("slots: " + std::string(text));
    ASSERT_TRUE(read) << text;
    EXPECT_FALSE(read->slots.artificial);
  }
  for (const char* text : {"7", "'7'"}) {
    EXPECT_EQ(describe::read_yaml<Config>("slots: " + std::string(text))->slots.artificial, 7);
  }
  for (const char* text : {"-1", "1.5", "foo", "''", "99999999", "'99999999'", "'99999999999999999999'", "[1]"}) {
    EXPECT_THAT(faults_of("slots: " + std::string(text)), HasSubstr("slots: ")) << text;
  }
}

TEST(AgentConfig, ReportsAllFaultsAtOnceWithTheirPlaces) {
  const std::string text =
      faults_of("memroy: 8GiB\ncpus: -1\nwarm: 5000\nsetup_timeout: 0s\nuids: 1-2\nallow_mounts: [data]\nowner: " +
                std::string(65, 'x') + "\n");
  for (const char* place : {"agent.yaml:1:", "memroy", "did you mean 'memory'?", "2:7: cpus: must be from 0",
                            "3:7: warm: must be from 0 to 4096", "setup_timeout: must be from 1ms", "uids: '1-2'",
                            "allow_mounts[0]: 'data' is not an absolute path", "owner: "}) {
    EXPECT_THAT(text, HasSubstr(place));
  }
  EXPECT_THAT(faults_of("id: ..\n"), HasSubstr("id: "));
  EXPECT_THAT(faults_of("labels: {a: \"b\\u0007\"}\n"), HasSubstr("labels: contain control characters"));
}

}  // namespace
}  // namespace cadre::agent
