#include "runtime/rate_limit.h"

#include <vector>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(RateLimit, BurstThenOneByOne) {
  RateLimit limit(10, 2);
  const Instant start = Instant(seconds(1000));
  EXPECT_EQ(limit.Take(start, seconds(1)), Duration::zero());
  EXPECT_EQ(limit.Take(start, seconds(1)), Duration::zero());
  EXPECT_EQ(std::chrono::round<milliseconds>(*limit.Take(start, seconds(1))), milliseconds(100));
  EXPECT_EQ(std::chrono::round<milliseconds>(*limit.Take(start, seconds(1))), milliseconds(200));
  EXPECT_FALSE(limit.Take(start, milliseconds(250)));  // Takes no place:
  EXPECT_EQ(std::chrono::round<milliseconds>(*limit.Take(start, seconds(1))), milliseconds(300));
  EXPECT_EQ(limit.Take(start + seconds(10), Duration::zero()), Duration::zero());
}

RC_GTEST_PROP(RateLimit, KeepsTheRateInAnyWindow, ()) {
  const double rate = *rc::gen::inRange(1, 100);
  const double burst = *rc::gen::inRange(1, 20);
  RateLimit limit(rate, burst);
  Instant now(seconds(5));
  std::vector<Instant> due;
  for (const int step : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 200))) {
    now += milliseconds(step);
    if (const auto wait = limit.Take(now, seconds(3))) {
      RC_ASSERT(*wait <= seconds(3) + Duration(1));
      due.push_back(now + *wait);
    }
  }
  for (std::size_t i = 0; i < due.size(); ++i) {
    for (std::size_t j = i; j < due.size(); ++j) {
      const double window = std::chrono::duration<double>(due[j] - due[i]).count();
      RC_ASSERT(static_cast<double>(j - i + 1) <= burst + rate * window + 1e-3);
    }
  }
}

}  // namespace
}  // namespace adaptdl
