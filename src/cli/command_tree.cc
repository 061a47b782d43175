#include "cli/command_tree.h"

namespace cadre::cli {

std::vector<const CLI::App*> verbs_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* one) { return !one->get_name().empty(); });
}

std::vector<const CLI::Option*> options_of(const CLI::App& command) {
  const std::vector<CLI::Option*> own = const_cast<CLI::App&>(command).get_options();
  std::vector<const CLI::Option*> all(own.begin(), own.end());
  for (const CLI::App* group : command.get_subcommands([](const CLI::App* one) { return one->get_name().empty(); })) {
    const std::vector<const CLI::Option*> more = options_of(*group);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace cadre::cli
