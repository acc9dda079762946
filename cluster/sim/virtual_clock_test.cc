#include "cluster/sim/virtual_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace adaptdl {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(VirtualClockTest, RunsWhatIsDueInTheOrderOfTimeAndThenOfScheduling) {
  VirtualClock clock;
  std::vector<std::string> ran;
  const auto note = [&](const char* name) { return [&ran, name] { ran.emplace_back(name); }; };
  const Timer late = clock.After(seconds(2), note("late"));
  const Timer first = clock.After(seconds(1), note("first"));
  const Timer second = clock.After(seconds(1), note("second"));
  clock.Schedule(seconds(1), note("third"));
  clock.Post(note("posted"));
  const Timer past = clock.After(-seconds(1), note("past"));
  EXPECT_TRUE(ran.empty());
  clock.RunFor(seconds(1));
  EXPECT_THAT(ran, ElementsAre("posted", "past", "first", "second", "third"));
  clock.RunFor(seconds(1));
  EXPECT_EQ(ran.back(), "late");
}

TEST(VirtualClockTest, StandsStillUntilToldToGoOn) {
  VirtualClock clock;
  const Instant start = clock.Now();
  const Time date = clock.Wall();
  clock.RunFor(hours(1));
  EXPECT_EQ(clock.Now() - start, hours(1));
  EXPECT_EQ(clock.Wall() - date, hours(1));
}

TEST(VirtualClockTest, DropsATaskWithItsTimer) {
  VirtualClock clock;
  bool ran = false;
  Timer timer = clock.After(seconds(1), [&] { ran = true; });
  timer.reset();
  EXPECT_FALSE(clock.RunNext());
  EXPECT_EQ(clock.Now(), Instant{}) << "the time moved for nothing";
  EXPECT_FALSE(ran);
}

TEST(VirtualClockTest, ATimerMayReplaceItselfWhileItRuns) {
  VirtualClock clock;
  int count = 0;
  Timer timer;
  std::function<void()> tick = [&] {
    ++count;
    timer = clock.After(milliseconds(10), tick);
  };
  timer = clock.After(milliseconds(10), tick);
  clock.RunFor(milliseconds(100));
  EXPECT_EQ(count, 10);
}

TEST(VirtualClockTest, RunsUntilSomethingHoldsOrTheTimeIsOver) {
  VirtualClock clock;
  bool done = false;
  clock.Schedule(seconds(5), [&] { done = true; });
  EXPECT_FALSE(clock.RunUntil([&] { return done; }, seconds(4)));
  EXPECT_EQ(clock.Now(), Instant(seconds(4)));
  EXPECT_TRUE(clock.RunUntil([&] { return done; }, seconds(4)));
  EXPECT_EQ(clock.Now(), Instant(seconds(5)));
}

}  // namespace
}  // namespace adaptdl
