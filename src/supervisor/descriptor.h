/// The few system calls around descriptors that a supervisor needs, errors as values. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "loop/descriptor.h"
#include "loop/file.h"

namespace cadre::supervisor {

using loop::Descriptor;
using loop::read_file;
using loop::system_error;
using loop::system_failure;
using loop::write_whole;

struct Pipe {
  Descriptor read;
  Descriptor write;
};

/// Closed in programs that are started.
[[nodiscard]] Result<Pipe> make_pipe();
void set_nonblocking(int fd);

/// Writes into a file that is there already: those of the kernel.
[[nodiscard]] Result<void> write_existing(const std::string& path, std::string_view text);
/// Holds a file for this process as long as the descriptor is open; a conflict when another one does.
[[nodiscard]] Result<Descriptor> lock_file(const std::string& path);
/// Closes every descriptor but 0, 1, 2 and one other.
void close_all_but(int kept);

}  // namespace cadre::supervisor
