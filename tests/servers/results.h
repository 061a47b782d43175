/// Expectations about results. Any thread.
#pragma once

#include <gtest/gtest.h>

#include "base/result.h"

#define EXPECT_ERROR(code_, expression)                                                      \
  do {                                                                                       \
    const auto& result_ = (expression);                                                      \
    ASSERT_FALSE(result_.has_value()) << "it succeeded";                                     \
    EXPECT_EQ(to_string(result_.error().code), to_string(code_)) << result_.error().message; \
  } while (false)

#define ASSERT_DONE(expression)                                  \
  do {                                                           \
    const auto& result_ = (expression);                          \
    ASSERT_TRUE(result_.has_value()) << result_.error().message; \
  } while (false)
