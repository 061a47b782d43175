/// What the body of a request may have. Constants; safe on any thread.
#pragma once

#include <cstddef>

namespace cadre::api {

/// Most fields, items and entries of maps, at all depths.
constexpr std::size_t body_values_most = 200'000;

}  // namespace cadre::api
