/// What lies under a real loop, for the modules that put sockets on it; others do not need it. For the loop's thread.
#pragma once

#include <boost/asio/io_context.hpp>

#include "loop/real_loop.h"

namespace cadre::loop {

boost::asio::io_context& asio_context(RealLoop& loop);

}  // namespace cadre::loop
