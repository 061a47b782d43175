/// The program `cadre`: its commands, put together. For the main thread.
#pragma once

namespace cadre::app {

/// Runs the command that the arguments name; returns the exit code.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace cadre::app
