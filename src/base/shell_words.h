/// Words of a command line as a shell reads them, to be shown to people who copy them. Safe on any thread.
#pragma once

#include <string>
#include <vector>

namespace cadre {

/// In quotes where a shell would understand something else.
[[nodiscard]] std::string shell_words(const std::vector<std::string>& words);

}  // namespace cadre
