#include "loop/calendar.h"

#include <gtest/gtest.h>

#include "loop/simulated_loop.h"

namespace cadre::loop {
namespace {

using namespace std::chrono_literals;

TEST(Calendar, RunsOnEvenlyWhenTheSystemsClockIsSet) {
  SimulatedLoop loop;
  TimePoint system(1000h);
  const Calendar calendar(loop, [&] { return system; });
  EXPECT_EQ(calendar.now(), TimePoint(1000h));
  system = TimePoint(9000h);
  EXPECT_EQ(calendar.now(), TimePoint(1000h));
  EXPECT_EQ(calendar.wall(), TimePoint(9000h));
  system = TimePoint(1h);
  EXPECT_EQ(calendar.now(), TimePoint(1000h));
  EXPECT_EQ(calendar.wall(), TimePoint(1h));
}

}  // namespace
}  // namespace cadre::loop
