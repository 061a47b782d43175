/// For the tests of this room: records in an empty database of either engine. One thread at a time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>

#include "base/dice.h"
#include "base/log.h"
#include "records/records_for_tests.h"
#include "tests/servers/engines.h"
#include "tests/servers/results.h"

namespace cadre::records {

using servers::Backend;
using Kind = servers::Engine;

constexpr std::int64_t any_bytes = std::numeric_limits<std::int64_t>::max();

inline SilentLog& silent_log() {
  static SilentLog log;
  return log;
}

class BothEngines : public testing::TestWithParam<Kind> {
 protected:
  static std::unique_ptr<Records> open(const std::string& url) { return open_for_tests(url, silent_log()).value(); }

  Backend backend_{GetParam()};
};

}  // namespace cadre::records
