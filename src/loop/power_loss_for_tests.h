/// What a power loss could leave of a folder: records what this thread does to files through loop/file.h, and makes the
/// folder as it may be found after a loss at any moment. One thread at a time.
///
/// The disk of this model promises no more than POSIX: what was written to a file is certain only once the file was
/// synced, that a name was made, renamed or removed only once its folder was. Anything else may be there or not, in any
/// combination; unsynced content may also be torn or zeros. A write stays at its position in the file, also if what was
/// written before it is lost: then zeros are there.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "loop/file.h"
#include "tests/servers/scratch.h"

namespace cadre::loop {

class PowerLoss {
 public:
  /// What is in the folder now is certain.
  explicit PowerLoss(std::string folder) : folder_(std::move(folder)) {
    namespace fs = std::filesystem;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder_)) {
      const std::string name = fs::relative(entry.path(), folder_).string();
      if (entry.is_directory()) {
        first_.folders.push_back(name);
        continue;
      }
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string text((std::istreambuf_iterator<char>(file)), {});
      first_.names[name] = contents_.size();
      contents_.push_back(text);
    }
    observe_files([this](const FileOperation& operation) { operations_.push_back(operation); });
  }
  PowerLoss(const PowerLoss&) = delete;
  PowerLoss& operator=(const PowerLoss&) = delete;
  ~PowerLoss() { observe_files(nullptr); }

  std::size_t operations() const { return operations_.size(); }

  /// Calls `look` for each state that a loss could leave after so many operations, with the folder in that state.
  /// Gives the number of states.
  int each(const std::function<void(const std::string& folder, std::size_t done)>& look) {
    observe_files(nullptr);
    int states = 0;
    for (std::size_t done = 0; done <= operations_.size(); ++done) {
      const std::vector<Step> steps = steps_of(done);
      std::size_t uncertain = 0;
      for (const Step& step : steps) uncertain += step.is_certain ? 0 : 1;
      CHECK(uncertain <= 10);
      // Two bits for each: gone, torn, zeros or there; a name has only gone and there.
      for (std::uint64_t choice = 0; choice < std::uint64_t{1} << (2 * uncertain); ++choice) {
        if (const auto disk = made(steps, choice)) {
          const servers::TempDir made_folder;
          write(*disk, made_folder.path());
          look(made_folder.path(), done);
          ++states;
        }
      }
    }
    return states;
  }

 private:
  using Kind = FileOperation::Kind;
  struct Disk {
    std::map<std::string, std::size_t> names;  ///< each of a content
    std::vector<std::string> folders;
  };
  struct Step {
    FileOperation operation;
    std::size_t content = 0;   ///< of which file
    std::size_t position = 0;  ///< of a write in its file
    bool is_certain = false;
    bool is_data = false;
  };

  std::string inside(const std::string& path) const {
    if (!path.starts_with('/')) return path == "." ? "" : path;  // the current folder is this one
    CHECK(path.starts_with(folder_));
    return path.size() <= folder_.size() ? "" : path.substr(folder_.size() + 1);
  }
  static std::string parent_of(const std::string& name) {
    const std::size_t slash = name.rfind('/');
    return slash == std::string::npos ? "" : name.substr(0, slash);
  }

  /// The first operations, and which of them are certain.
  std::vector<Step> steps_of(std::size_t done) const {
    std::vector<Step> steps;
    std::map<std::string, std::size_t> names = first_.names;
    std::size_t contents = contents_.size();
    std::map<std::size_t, std::size_t> sizes;  // of each content
    for (std::size_t i = 0; i < contents; ++i) sizes[i] = contents_[i].size();
    for (std::size_t i = 0; i < done; ++i) {
      const FileOperation& one = operations_[i];
      const std::string name = inside(one.path);
      Step step{one, 0, 0, false, one.kind == Kind::write || one.kind == Kind::truncate};
      step.operation.path = name;
      if (one.kind == Kind::sync) {
        for (Step& before : steps) before.is_certain |= before.is_data && before.content == names.at(name);
        continue;
      }
      if (one.kind == Kind::sync_folder) {
        for (Step& before : steps) {
          before.is_certain |= !before.is_data && parent_of(before.operation.path) == name;
        }
        continue;
      }
      if (one.kind == Kind::create && names.contains(name)) continue;  // it was there
      if (one.kind == Kind::create) names[name] = contents++;
      if (one.kind != Kind::make_folder) step.content = names.at(name);
      if (one.kind == Kind::rename) {
        step.operation.to = inside(one.to);
        names[step.operation.to] = step.content;
        names.erase(name);
      }
      if (one.kind == Kind::unlink) names.erase(name);
      if (one.kind == Kind::write) {
        step.position = sizes[step.content];
        sizes[step.content] += one.bytes.size();
      }
      if (one.kind == Kind::truncate) sizes[step.content] = static_cast<std::size_t>(one.size);
      steps.push_back(std::move(step));
    }
    return steps;
  }

  /// Nothing when the choice says the same as another one.
  std::optional<std::pair<Disk, std::map<std::size_t, std::string>>> made(const std::vector<Step>& steps,
                                                                          std::uint64_t choice) const {
    Disk disk = first_;
    std::map<std::size_t, std::string> contents;
    for (std::size_t i = 0; i < contents_.size(); ++i) contents[i] = contents_[i];
    for (const Step& step : steps) {
      std::uint64_t fate = 3;
      if (!step.is_certain) {
        fate = choice & 3;
        choice >>= 2;
      }
      const FileOperation& one = step.operation;
      if (!step.is_data && (fate == 1 || fate == 2)) return std::nullopt;
      if (fate == 0) continue;
      std::string& content = contents[step.content];
      switch (one.kind) {
        case Kind::write: {
          const std::string text(as_text(one.bytes));
          if (content.size() < step.position) content.resize(step.position, '\0');
          content.replace(step.position, text.size(),
                          fate == 1   ? text.substr(0, text.size() / 2)
                          : fate == 2 ? std::string(text.size(), '\0')
                                      : text);
          break;
        }
        case Kind::truncate:
          if (fate != 3) return std::nullopt;
          content.resize(static_cast<std::size_t>(one.size));
          break;
        case Kind::create: disk.names[one.path] = step.content; break;
        case Kind::rename:
          disk.names.erase(one.path);
          disk.names[one.to] = step.content;
          break;
        case Kind::unlink: disk.names.erase(one.path); break;
        case Kind::make_folder: disk.folders.push_back(one.path); break;
        case Kind::sync:
        case Kind::sync_folder: break;
      }
    }
    return std::pair(std::move(disk), std::move(contents));
  }

  static void write(const std::pair<Disk, std::map<std::size_t, std::string>>& state, const std::string& folder) {
    namespace fs = std::filesystem;
    for (const std::string& name : state.first.folders) fs::create_directories(folder + "/" + name);
    for (const auto& [name, content] : state.first.names) {
      fs::create_directories(fs::path(folder + "/" + name).parent_path());
      const auto text = state.second.find(content);
      std::ofstream(folder + "/" + name, std::ios::binary) << (text == state.second.end() ? "" : text->second);
      fs::permissions(folder + "/" + name, fs::perms::owner_read | fs::perms::owner_write);
    }
  }

  std::string folder_;
  Disk first_;
  std::vector<std::string> contents_;  ///< of what was there first
  std::vector<FileOperation> operations_;
};

/// Whether a file has its old or its new content after a loss at any moment of `write`, and the new one after it.
inline testing::AssertionResult survives_power_loss(const std::string& folder, const std::string& name,
                                                    const std::function<void()>& write) {
  const auto content_in = [&](const std::string& place) { return read_file(place + "/" + name).value_or("(nothing)"); };
  const std::string before = content_in(folder);
  PowerLoss loss(folder);
  write();
  const std::string after = content_in(folder);
  std::string wrong = after == before ? "nothing was written" : "";
  loss.each([&](const std::string& left, std::size_t done) {
    const std::string found = content_in(left);
    if (found != after && (found != before || done == loss.operations())) {
      wrong = "after " + std::to_string(done) + " of " + std::to_string(loss.operations()) + " operations: " + found;
    }
  });
  return wrong.empty() ? testing::AssertionSuccess() : testing::AssertionFailure() << name << ": " << wrong;
}

}  // namespace cadre::loop
