#include "logs/numbered.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>

#include "loop/descriptor.h"

namespace cadre::logs {

namespace {

std::optional<std::int64_t> number_of(std::string_view name, std::string_view suffix) {
  if (name.size() <= suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<std::int64_t>> numbered_files(const std::string& folder, std::string_view suffix) {
  std::vector<std::int64_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) {
    if (errno == ENOENT) return numbers;
    return loop::system_failure(folder);
  }
  while (const dirent* entry = readdir(entries.get())) {
    if (const auto number = number_of(entry->d_name, suffix)) numbers.push_back(*number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::string numbered_path(const std::string& folder, std::int64_t number, std::string_view suffix) {
  char digits[24];
  std::snprintf(digits, sizeof(digits), "%012lld", static_cast<long long>(number));
  return folder + "/" + digits + std::string(suffix);
}

}  // namespace cadre::logs
