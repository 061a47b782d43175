#include "tests/e2e/process.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace cadre::e2e {
namespace {

/// A file in memory: whoever writes to it never waits for who reads it.
class MemoryFile {
 public:
  explicit MemoryFile(const std::string& content = "") : file_(memfd_create("cadre_e2e", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::runtime_error("cannot make a file in memory");
    if (pwrite(file_, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size())) {
      throw std::runtime_error("cannot fill a file in memory");
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(file_); }

  int descriptor() const { return file_; }
  std::string content() const {
    std::string text;
    char block[65536];
    for (ssize_t count = 0; (count = pread(file_, block, sizeof block, static_cast<off_t>(text.size()))) > 0;) {
      text.append(block, static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int file_;
};

}  // namespace

Said run_cadre(const std::vector<std::string>& arguments, const std::string& input, const servers::Fork& fork) {
  const MemoryFile in(input);
  const MemoryFile out;
  const MemoryFile err;
  std::vector<std::string> words = {CADRE_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  Said said;
  const auto become_cadre = [&] {
    dup2(in.descriptor(), 0);
    dup2(out.descriptor(), 1);
    dup2(err.descriptor(), 2);
    execv(pointers[0], pointers.data());
    return 127;
  };
  said.code = servers::wait_for(servers::fork_child(become_cadre, fork));
  said.out = out.content();
  said.err = err.content();
  return said;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return "(there is no " + path + ")";
  std::ostringstream text;
  text << in.rdbuf();  // no iterators: they throw when it is of a process that ends meanwhile
  return text.str();
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string golden_path(const std::string& name) { return std::string(CADRE_SOURCE_DIR) + "/tests/golden/" + name; }

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("CADRE_UPDATE_GOLDEN") != nullptr) write_text(golden_path(name), text);
  EXPECT_EQ(read_text(golden_path(name)), text) << "if " << name << " should change, run with CADRE_UPDATE_GOLDEN=1";
}

}  // namespace cadre::e2e
