/// Runs command lines within the test and keeps what they say. For the test's thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/exit_code.h"
#include "cli/usage.h"

namespace cadre::cli {

struct Said {
  int code = -1;
  std::string out;
  std::string err;
};

/// All commands of this room, as the program has them.
struct Program {
  Program() {
    app.name("cadre");
    app.require_subcommand(1);
    add_client_commands(app, chosen);
    CLI::App& agent = *app.add_subcommand("agent", "Run an agent, or manage agents");
    agent.require_subcommand(1);
    add_agent_verbs(agent, chosen);
  }
  CLI::App app{"cadre"};
  Chosen chosen;
};

inline Said cadre(std::vector<std::string> words) {
  Program program;
  Said said;
  std::reverse(words.begin(), words.end());
  try {
    program.app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    const int code = program.app.exit(error, out, err);
    return {code == 0 ? done : usage_code(program.app), out.str(), err.str()};
  }
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  said.code = program.chosen();
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  return said;
}

/// The same on another thread, while the test plays the master.
inline std::future<Said> cadre_beside(std::vector<std::string> words) {
  return std::async(std::launch::async, [words = std::move(words)] { return cadre(words); });
}

}  // namespace cadre::cli
