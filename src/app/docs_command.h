/// `cadre docs`: writes the generated pages and schemas, so that what is said of the program comes from the program.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace cadre::app {

/// Adds the command; its choice is put into `chosen`. The pages describe `app` as it is when the command runs.
void add_docs_command(CLI::App& app, std::function<int()>& chosen);

}  // namespace cadre::app
