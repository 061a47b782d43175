/// Runs the real program and keeps what it says. One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "tests/servers/process.h"

namespace cadre::e2e {

struct Said {
  int code = -1;  ///< exit code; -1 for an end by a signal
  std::string out;
  std::string err;
};

/// Runs `cadre` with these arguments, `input` on its standard input, without a terminal, and waits for its end; `fork`
/// says where.
Said run_cadre(const std::vector<std::string>& arguments, const std::string& input = "",
               const servers::Fork& fork = {});

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);

/// The path of a file under tests/golden.
std::string golden_path(const std::string& name);

/// Compares with a file under tests/golden; CADRE_UPDATE_GOLDEN=1 writes that anew instead.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace cadre::e2e
