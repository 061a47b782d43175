#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cli/completion.h"
#include "cli/program_test.h"
#include "tests/servers/scratch.h"

namespace cadre::cli {
namespace {

/// As the program prints it: `above` are the commands that stand before.
void add_help(const CLI::App& command, const std::string& above, std::string& text) {
  const std::string path = above.empty() ? command.get_name() : above + " " + command.get_name();
  text += "$ " + path + " --help\n" + command.help(above) + "\n";
  for (const CLI::App* one : command.get_subcommands([](const CLI::App* each) { return !each->get_name().empty(); })) {
    add_help(*one, path, text);
  }
}

TEST(Help, MatchesTheGoldenFile) {
  const Program program;
  std::string text;
  add_help(program.app, "", text);
  const std::string path = std::string(CADRE_SOURCE_DIR) + "/tests/golden/cli/help.txt";
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), text)
      << "if the help should change, run with CADRE_UPDATE_GOLDEN=1";
}

TEST(Help, HasAnExampleForEveryCommand) {
  const Program program;
  const std::function<void(const CLI::App&)> look = [&](const CLI::App& command) {
    for (const CLI::App* one : command.get_subcommands([](const CLI::App* e) { return !e->get_name().empty(); })) {
      if (one->get_name() != "agent") {
        EXPECT_THAT(one->get_footer(), testing::HasSubstr("cadre ")) << one->get_name();
      }
      EXPECT_FALSE(one->get_description().empty()) << one->get_name();
      look(*one);
    }
  };
  look(program.app);
}

/// What bash offers for the last of these words.
std::string completed(const std::vector<std::string>& words) {
  const servers::TempDir folder;
  const Program program;
  const std::string path = folder.path() + "/completion";
  std::ofstream(path) << bash_completion(program.app);
  std::string list;
  for (const std::string& word : words) list += " '" + word + "'";
  const std::string command = "bash -c \"source " + path + "; COMP_WORDS=(cadre" + list +
                              "); COMP_CWORD=" + std::to_string(words.size()) + "; _cadre; echo \\${COMPREPLY[*]}\"";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> block{};
  while (std::fgets(block.data(), block.size(), pipe) != nullptr) text += block.data();
  EXPECT_EQ(pclose(pipe), 0) << command;
  return text;
}

TEST(Completion, OffersCommandsVerbsAndOptions) {
  EXPECT_EQ(completed({"st"}), "stop status\n");
  EXPECT_EQ(completed({"task", "ex"}), "exec\n");
  EXPECT_EQ(completed({"task", "logs", "--fo"}), "--follow\n");
  EXPECT_EQ(completed({"run", "--preem"}), "--preemptible --preemption-grace\n");
  EXPECT_EQ(completed({"job", "move", "17", "--be"}), "--behind\n");
  EXPECT_EQ(completed({"agent", "dr"}), "drain\n");
  EXPECT_EQ(completed({"job", "list", "des"}), "\n") << "after a verb there is no other";
  EXPECT_EQ(completed({"run", "--", "--sl"}), "\n") << "what is run has options of its own";
}

TEST(Completion, IsPrintedByItsCommand) {
  const Said said = cadre({"completion", "bash"});
  EXPECT_EQ(said.code, done);
  EXPECT_THAT(said.out, testing::HasSubstr("complete -o default -F _cadre cadre\n"));
}

}  // namespace
}  // namespace cadre::cli
