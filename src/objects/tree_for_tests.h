/// For tests: directories drawn by dice, and directories in a form that is easy to compare. One thread at a time.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/dice.h"

namespace cadre::objects {

inline void write_file(const std::string& path, std::string_view content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What is in a folder: `folder`, `link TARGET`, `file CONTENT` or `program CONTENT` by path.
inline std::map<std::string, std::string> shown_tree(const std::string& folder) {
  namespace fs = std::filesystem;
  std::map<std::string, std::string> tree;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    struct stat facts {};
    lstat(entry.path().c_str(), &facts);
    if (entry.is_symlink()) {
      tree[path] = "link " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_directory()) {
      tree[path] = "folder";
    } else {
      tree[path] = ((facts.st_mode & S_IXUSR) != 0 ? "program " : "file ") + read_whole(entry.path());
    }
  }
  return tree;
}

inline std::string random_name(Dice& dice) {
  static constexpr std::string_view letters = "abcAB.- _0";
  std::string name;
  for (std::size_t left = 1 + dice.below(3); left > 0; --left) name += letters[dice.below(letters.size())];
  return name == "." || name == ".." ? "x" : name;
}

inline std::string random_content(Dice& dice, std::int64_t most) {
  std::string content(static_cast<std::size_t>(dice.magnitude(1, most) - 1), ' ');
  for (char& c : content) c = static_cast<char>(dice.below(256));
  return content;
}

/// Files, folders, programs and links; entries that cannot be made are left out.
inline void draw_tree(Dice& dice, const std::string& folder, int depth = 0) {
  std::filesystem::create_directories(folder);
  for (std::size_t left = dice.below(6); left > 0; --left) {
    const std::string path = folder + "/" + random_name(dice);
    if (std::filesystem::symlink_status(path).type() != std::filesystem::file_type::not_found) continue;
    switch (dice.below(4)) {
      case 0:
        if (depth < 4) draw_tree(dice, path, depth + 1);
        break;
      case 1: static_cast<void>(!symlink(("../" + random_name(dice)).c_str(), path.c_str())); break;
      default:
        write_file(path, random_content(dice, dice.percent(5) ? 600'000 : 300));
        chmod(path.c_str(), dice.percent(30) ? 0755 : 0640);
    }
  }
}

}  // namespace cadre::objects
