#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/process.h"
#include "tests/servers/scratch.h"

namespace cadre::e2e {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int bad_usage = 2;

/// Refused in words: nothing on standard output, all on standard error.
Said expect_refused(const std::vector<std::string>& arguments, const std::string& input = "") {
  const Said said = run_cadre(arguments, input);
  EXPECT_EQ(said.code, bad_usage);
  EXPECT_EQ(said.out, "");
  EXPECT_THAT(said.err, EndsWith("\n"));
  return said;
}

struct Bad {
  const char* name;
  std::string text;
  const char* says;  ///< with the place and the path
};

class BadPlan : public testing::TestWithParam<Bad> {};

TEST_P(BadPlan, IsRefusedWithPlacePathAndRemedy) {
  EXPECT_THAT(expect_refused({"plan", "-"}, GetParam().text).err, HasSubstr(GetParam().says));
  EXPECT_THAT(expect_refused({"plan", "--json", "-"}, GetParam().text).err, HasSubstr(GetParam().says));
}

const Bad bad_plans[] = {
    {"Empty", "", "write {} for an empty one"},
    {"OnlyAComment", "# nothing\n\n", "write {} for an empty one"},
    {"ANumber", "42", "expected a map, found the number 42"},
    {"AList", "- 1\n", "expected a map, found a list"},
    {"NotYaml", "agents: [\n  }", ":2:3: "},
    {"TwoDocuments", "agents: []\n---\nagents: []\n", "document"},
    {"Garbage", std::string("\0\xff\xfe\1\2", 5), "not UTF-8"},
    {"ZeroBytes", std::string(1000, '\0'), "standard input:1"},
    {"AKeyTwice", "agents: []\nagents: []\n", ":2:1: agents: "},
    {"HugeSlots", "agents: [{id: a, slots: 99999999999999999999}]", ":1:25: agents[0].slots: "},
    {"SlotsOutOfRange", "agents: [{id: a, slots: 9999999999}]", "agents[0].slots: must be from 0 to 1000000"},
    {"HugeCpus", "agents: [{id: a, slots: 1, cpus: 1e300}]", "agents[0].cpus: "},
    {"InfiniteCpus", "agents: [{id: a, slots: 1, cpus: .inf}]", "agents[0].cpus: "},
    {"HugeMemory", "agents: [{id: a, slots: 1, memory: 99999999TiB}]", "agents[0].memory: "},
    {"HugeDuration", "gangs: [{id: g, slots: 1, waited: 999999999999d}]", "gangs[0].waited: "},
    {"NegativeDuration", "gangs: [{id: g, slots: 1, ran: -5m}]", "gangs[0].ran: "},
    {"HugePosition", "gangs: [{id: g, slots: 1, position: 1e16}]", "gangs[0].position: "},
    {"SlotsThatOverflowTogether",
     "agents: [{id: a, slots: 1}]\ngangs: [{id: g, members: [{role: r, count: 10000, slots: 1000000, memory: 512TiB, "
     "running_on: {a: 10000}}]}]",
     "agents[0].slots: what runs on a uses more than its 1 slot"},
    {"MisspeltKey", "gang: []", "gang: is not a known key; did you mean 'gangs'?"},
    {"MisspeltPolicy", "policy: {type: fair-share}", "policy.type: "},
    {"SettingOfAnotherPolicy", "policy: {type: fair_share, preemption: true}", "policy.preemption: is not a known key"},
    {"TextForAList", "agents: a1", "agents: "},
    {"NullAgent", "agents: [~]", "agents[0]: "},
};

INSTANTIATE_TEST_SUITE_P(Plan, BadPlan, testing::ValuesIn(bad_plans), [](const auto& bad) { return bad.param.name; });

TEST(BadPlan, TellsAllFaultsOfItsPartsAtOnce) {
  const std::string text = read_text(golden_path("plan_faults/of-its-parts.yaml"));
  expect_golden("plan_faults/of-its-parts.txt", expect_refused({"plan", "-"}, text).err);
}

TEST(BadPlan, TellsAllFaultsBetweenItsPartsAtOnce) {
  const std::string text = read_text(golden_path("plan_faults/between-its-parts.yaml"));
  expect_golden("plan_faults/between-its-parts.txt", expect_refused({"plan", "-"}, text).err);
}

TEST(BadPlan, ShowsAHundredFaultsAndCountsTheRest) {
  std::string text = "gangs:\n";
  for (int i = 0; i < 130; ++i) text += "  - {id: g" + std::to_string(i) + ", slots: -1}\n";
  const Said said = expect_refused({"plan", "-"}, text);
  EXPECT_THAT(said.err, HasSubstr("gangs[99].slots: "));
  EXPECT_THAT(said.err, testing::Not(HasSubstr("gangs[100].slots: ")));
  EXPECT_THAT(said.err, HasSubstr("and 30 more\n"));
  EXPECT_THAT(said.err, HasSubstr("130 errors"));
}

TEST(BadPlan, NamesTheFileInEveryLine) {
  const servers::TempDir folder;
  const std::string path = folder.path() + "/cluster.yaml";
  write_text(path, "agents: [{id: a1}]\ngangs: 3\n");
  const Said said = expect_refused({"plan", path});
  EXPECT_THAT(said.err, StartsWith(path + ":1:10: agents[0].slots: is required"));
  EXPECT_THAT(said.err, HasSubstr("\n" + path + ":2:8: gangs: "));
}

TEST(BadPlan, ThatIsNotThereIsRefusedInWords) {
  const servers::TempDir folder;
  EXPECT_THAT(expect_refused({"plan", folder.path() + "/none.yaml"}).err,
              HasSubstr("cannot read " + folder.path() + "/none.yaml: No such file"));
  EXPECT_THAT(expect_refused({"plan", folder.path()}).err, HasSubstr("is a directory; name a file"));
  EXPECT_EQ(expect_refused({"plan", ""}).code, bad_usage);
}

TEST(BadPlan, OfAnySizeHasABound) {
  std::string text = "gangs: [";
  text.append(std::size_t{65} << 20, ' ');
  EXPECT_THAT(expect_refused({"plan", "-"}, text).err, HasSubstr("64 MiB"));
  EXPECT_THAT(expect_refused({"plan", "-"}, std::string(100'000, '[')).err, HasSubstr("standard input:1:"));
}

TEST(Usage, WithoutACommandIsTheHelp) {
  const Said said = run_cadre({});
  EXPECT_EQ(said.code, 0);
  EXPECT_THAT(said.out, HasSubstr("Subcommands:"));
  EXPECT_EQ(run_cadre({"help"}).out, said.out);
}

TEST(Usage, ThatIsWrongIsRefused) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"frobnicate"},
           {"--frobnicate"},
           {"plan"},
           {"plan", "--frobnicate", "-"},
           {"plan", "a.yaml", "b.yaml"},
           {"plan", "--json=perhaps", "-"},
           {"simulate", "extra"},
           {"simulate", "--frobnicate"},
       }) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    expect_refused(arguments);
  }
}

/// The commands that `cadre --help` lists.
std::vector<std::string> commands() {
  std::vector<std::string> names;
  const std::string help = run_cadre({"--help"}).out;
  std::size_t at = help.find("Subcommands:");
  EXPECT_NE(at, std::string::npos) << help;
  while ((at = help.find("\n  ", at)) != std::string::npos) {
    at += 3;
    if (help[at] != ' ' && help[at] != '-') names.push_back(help.substr(at, help.find(' ', at) - at));
  }
  return names;
}

TEST(Usage, EveryCommandHasHelp) {
  const std::vector<std::string> names = commands();
  EXPECT_THAT(names, testing::IsSupersetOf({"plan", "simulate"}));
  for (const std::string& name : names) {
    const Said said = run_cadre({name, "--help"});
    EXPECT_EQ(said.code, 0) << name;
    EXPECT_EQ(said.err, "") << name;
    EXPECT_THAT(said.out, HasSubstr("Usage: cadre " + name));
  }
}

TEST(Usage, TheVersionIsThatOfTheProject) {
  EXPECT_THAT(run_cadre({"--version"}).out, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

}  // namespace
}  // namespace cadre::e2e
