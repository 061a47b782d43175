/// The manual page of the program, made from its commands. One thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace cadre::app {

/// cadre(1), in the language of man(7).
[[nodiscard]] std::string man_page(const CLI::App& app, std::string_view version);

}  // namespace cadre::app
