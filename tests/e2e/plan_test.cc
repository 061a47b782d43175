/// Every rule of the queue, of the policies and of placement has a small file in tests/golden/plan. Its comments say
/// what must come out and why; lines that begin with `# =>` are held against the answer, and are not written by any
/// program:
///   start GANG on AGENT:SLOTS, ... [as ROLE AGENT:TASKS, ...; ...]
///   grow (the same)    preempt GANG    reserve GANG on AGENT, ...    leave GANG
/// Beside it lie the whole answers, as a table (.txt) and as JSON (.json).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "plan/plan_file.h"
#include "tests/e2e/process.h"

namespace cadre::e2e {
namespace {

using plan::PlanAnswer;
using plan::StartEntry;

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("plan"))) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string by_agent(const std::map<plan::AgentId, std::int32_t>& amounts) {
  std::string text;
  for (const auto& [agent, amount] : amounts) {
    text += (text.empty() ? "" : ", ") + agent.value + ":" + std::to_string(amount);
  }
  return text;
}

std::string to_line(const std::string& verb, const StartEntry& entry) {
  std::string line = verb + " " + entry.id.value + " on " + by_agent(entry.on);
  if (!entry.roles) return line;
  std::string roles;
  for (const auto& [role, tasks] : *entry.roles) roles += (roles.empty() ? "" : "; ") + role + " " + by_agent(tasks);
  return line + " as " + roles;
}

std::vector<std::string> decisions(const PlanAnswer& answer) {
  std::vector<std::string> lines;
  std::set<plan::GangId> decided;
  for (const StartEntry& entry : answer.start) {
    lines.push_back(to_line("start", entry));
    decided.insert(entry.id);
  }
  for (const StartEntry& entry : answer.grow.value_or(std::vector<StartEntry>{})) {
    lines.push_back(to_line("grow", entry));
    decided.insert(entry.id);
  }
  for (const plan::GangId& id : answer.preempt) {
    lines.push_back("preempt " + id.value);
    decided.insert(id);
  }
  for (const auto& [id, agents] : answer.reserve) {
    std::string names;
    for (const plan::AgentId& agent : agents) names += (names.empty() ? "" : ", ") + agent.value;
    lines.push_back("reserve " + id.value + " on " + names);
    decided.insert(id);
  }
  for (const auto& [id, why] : answer.why) {
    if (!decided.contains(id)) lines.push_back("leave " + id.value);
  }
  return lines;
}

std::vector<std::string> expected_decisions(const std::string& text) {
  static constexpr std::string_view mark = "# => ";
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(mark)) lines.push_back(line.substr(mark.size()));
  }
  return lines;
}

class Rule : public testing::TestWithParam<std::string> {
 protected:
  std::string name() const { return "plan/" + GetParam(); }
};

TEST_P(Rule, GivesTheDecisionsThatTheFileArguesFor) {
  const Said said = run_cadre({"plan", "--json", golden_path(name() + ".yaml")});
  ASSERT_EQ(said.code, 0) << said.err;
  const auto answer = describe::read_json<PlanAnswer>(said.out);
  ASSERT_TRUE(answer) << describe::to_text(answer.error(), "the answer");
  EXPECT_EQ(decisions(*answer), expected_decisions(read_text(golden_path(name() + ".yaml"))));
}

TEST_P(Rule, IsAnsweredInJsonAsItWas) {
  const Said said = run_cadre({"plan", "--json", golden_path(name() + ".yaml")});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.err, "");
  expect_golden(name() + ".json", said.out);
}

TEST_P(Rule, IsAnsweredInATableAsItWas) {
  const Said said = run_cadre({"plan", golden_path(name() + ".yaml")});
  EXPECT_EQ(said.code, 0);
  EXPECT_EQ(said.err, "");
  expect_golden(name() + ".txt", said.out);
}

INSTANTIATE_TEST_SUITE_P(Plan, Rule, testing::ValuesIn(case_names()), [](const auto& rule) {
  std::string name = rule.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(PlanGoldens, HaveNoAnswerWithoutAFile) {
  for (const auto& entry : std::filesystem::directory_iterator(golden_path("plan"))) {
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(entry.path()).replace_extension(".yaml")))
        << entry.path() << " answers no file; remove it";
  }
}

TEST(Plan, SaysTheSameOfStandardInput) {
  const std::string path = golden_path("plan/place-uneven.yaml");
  const Said from_file = run_cadre({"plan", path});
  const Said from_input = run_cadre({"plan", "-"}, read_text(path));
  EXPECT_EQ(from_input.code, 0) << from_input.err;
  EXPECT_EQ(from_input.out, from_file.out);
}

TEST(Plan, ReadsJsonAsWellAsYaml) {
  const auto file = plan::read_plan_file(read_text(golden_path("plan/roles-pack.yaml")));
  ASSERT_TRUE(file);
  const Said from_json = run_cadre({"plan", "-"}, describe::write_json(*file));
  EXPECT_EQ(from_json.code, 0) << from_json.err;
  EXPECT_EQ(from_json.out, run_cadre({"plan", golden_path("plan/roles-pack.yaml")}).out);
}

}  // namespace
}  // namespace cadre::e2e
