/// Random words and UUIDs from the operating system, for names and keys that nobody can guess. Safe on any thread.
#pragma once

#include <cstddef>
#include <string>

namespace cadre::loop {

/// Lower-case letters and digits, 5 bits each: nobody guesses one of 32.
[[nodiscard]] std::string random_word(std::size_t length);

/// A UUID of version 4 in lower case.
[[nodiscard]] std::string random_uuid();

}  // namespace cadre::loop
