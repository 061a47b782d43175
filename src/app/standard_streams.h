/// What a process expects of its standard input, output and error. For the main thread, before there are others.
#pragma once

namespace cadre::app {

/// Opens /dev/null where one of the three is closed: else the next file that is opened would get its number, and what
/// is printed would go into it.
void open_standard_streams();

/// Writing to a pipe without a reader is an error instead of the end of the process. Servers outlive readers of their
/// log.
void ignore_broken_pipes();

}  // namespace cadre::app
