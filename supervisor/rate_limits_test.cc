#include "supervisor/rate_limits.h"

#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::seconds;

TEST(RateLimits, EachHasItsOwn) {
  RateLimits limits(1, 3);
  const Instant now(seconds(1000));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limits.Take("a", now));
  EXPECT_FALSE(limits.Take("a", now));
  EXPECT_TRUE(limits.Take("b", now));
  EXPECT_TRUE(limits.Take("a", now + seconds(1)));
  EXPECT_FALSE(limits.Take("a", now + seconds(1)));
}

TEST(RateLimits, NobodyGetsMoreByWaitingForHisName) {
  RateLimits limits(1, 4);
  Instant now(seconds(1000));
  int taken = 0;
  for (int i = 0; i < 1000; ++i) {
    taken += limits.Take("a", now) ? 1 : 0;
    now += std::chrono::milliseconds(100);
  }
  EXPECT_LE(taken, 4 + 100);
  EXPECT_GE(taken, 100);
}

TEST(RateLimits, WhoStaysAwayIsForgotten) {
  RateLimits limits(1, 4);
  Instant now(seconds(1000));
  for (int i = 0; i < 100'000; ++i) {
    limits.Take(std::to_string(i), now);
    now += std::chrono::milliseconds(10);
    EXPECT_LE(limits.size(), 1000U);
  }
}

}  // namespace
}  // namespace adaptdl
