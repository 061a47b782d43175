#include "cli/commands/verb.h"
#include "cli/completion.h"

namespace cadre::cli {

void add_completion_command(CLI::App& app, Chosen& chosen) {
  CLI::App& command = add_verb(app, {"completion", "Print a script that completes commands and options in a shell",
                                     "  source <(cadre completion bash)\n"
                                     "  cadre completion bash > ~/.local/share/bash-completion/completions/cadre\n"
                                     "  cadre completion zsh > \"${fpath[1]}/_cadre\"\n"});
  const auto shell = std::make_shared<std::string>();
  command.add_option("shell", *shell, "Shell: bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->type_name("SHELL");
  command.callback([&app, &chosen, shell] {
    chosen = [&app, shell] {
      print(*shell == "zsh" ? zsh_completion(app) : bash_completion(app));
      return done;
    };
  });
}

}  // namespace cadre::cli
