/// For tests: runs a Python program of the system's python3. One thread at a time.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace cadre::describe {

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// What the program writes to its output when it is given `input`; fails the test when the program fails.
inline std::string run_python(std::string_view program, std::string_view input) {
  std::string folder = testing::TempDir() + "/cadre_python_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  write_file(folder + "/program.py", program);
  write_file(folder + "/input", input);
  const std::string command =
      "cd '" + folder + "' && LD_PRELOAD= /usr/bin/python3 program.py < input > output 2> errors";
  const int status = std::system(command.c_str());
  EXPECT_EQ(status, 0) << file_text(folder + "/errors");
  std::string output = file_text(folder + "/output");
  for (const char* name : {"/program.py", "/input", "/output", "/errors"}) std::remove((folder + name).c_str());
  rmdir(folder.c_str());
  return output;
}

}  // namespace cadre::describe
