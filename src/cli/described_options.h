/// Options of a command that stand for fields of a described struct: what is given is put into a tree, like that of a
/// file, and read from there, so that options and files pass the same checks. One thread at a time.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "describe/describe.h"
#include "describe/outline.h"

namespace cadre::cli {

struct DescribedOption {
  enum class Form : std::uint8_t { text, number, flag, list, pairs, mounts };

  std::string_view name;
  std::string_view path;  ///< of the field, without the numbers of lists
  Form form;
  std::string_view type;
  std::string_view help = "";  ///< where the description of the field says too little
};

/// What was given on the command line, by option.
struct GivenOptions {
  std::map<std::string, std::vector<std::string>> texts;
  std::map<std::string, bool> flags;
};

/// Adds the options, with help and defaults of the described struct. `given` must outlive the command.
void add_options(CLI::App& command, std::span<const DescribedOption> options, const describe::Shape& shape,
                 GivenOptions& given);

[[nodiscard]] bool is_given(const DescribedOption& option, const GivenOptions& given);
/// What was given, as it would stand in a file.
[[nodiscard]] Result<describe::Value> value_of(const DescribedOption& option, const GivenOptions& given);
/// Gives the field at a path its value.
void put(describe::Value& tree, std::string_view path, describe::Value value);
/// The place of a fault as the user knows it: `--cpus` for cpus; the path itself if no option stands for it.
[[nodiscard]] std::string place_of(std::span<const DescribedOption> options, const std::string& path);

/// Puts what was given into the tree of a file, in the place of what stands there. Faults of options are appended to
/// `faults`, one line for each.
void put_given(describe::Value& tree, std::span<const DescribedOption> options, const GivenOptions& given,
               std::string& faults);
/// One line for each fault of such a tree: by the option if one was given, else by the place in the file.
[[nodiscard]] std::string to_text(const describe::Faults& faults, std::string_view file,
                                  std::span<const DescribedOption> options, const GivenOptions& given);

/// A described struct from a file and options, which take precedence. Errc::invalid with one line for each fault.
template <class T>
[[nodiscard]] Result<T> read_with_options(describe::Value tree, std::string_view file,
                                          std::span<const DescribedOption> options, const GivenOptions& given) {
  std::string faults;
  if (tree.as<describe::Value::Map>() != nullptr) put_given(tree, options, given, faults);
  auto read = describe::read<T>(tree);
  if (!read) faults += to_text(read.error(), file, options, given);
  if (faults.empty()) return *std::move(read);
  faults.pop_back();
  return fail(Errc::invalid, std::move(faults));
}

}  // namespace cadre::cli
