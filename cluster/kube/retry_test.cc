#include "cluster/kube/retry.h"

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using End = TransferAnswer::End;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double kAlmostOne = 0.999999;

TEST(Retry, WhatIsTriedAgain) {
  const struct {
    End end;
    int status;
    int retry_after;
    bool read;
    bool write;
  } cases[] = {
      {End::kNotSent, 0, 0, true, true},      {End::kLost, 0, 0, true, false},
      {End::kLost, 200, 0, false, false},     {End::kTimeout, 0, 0, false, false},
      {End::kUntrusted, 0, 0, false, false},  {End::kTooLarge, 200, 0, false, false},
      {End::kStopped, 200, 0, false, false},  {End::kAnswered, 200, 0, false, false},
      {End::kAnswered, 404, 0, false, false}, {End::kAnswered, 409, 5, false, false},
      {End::kAnswered, 410, 0, false, false}, {End::kAnswered, 429, 0, true, true},
      {End::kAnswered, 429, 3, true, true},   {End::kAnswered, 500, 0, true, false},
      {End::kAnswered, 500, 3, true, false},  {End::kAnswered, 502, 0, true, false},
      {End::kAnswered, 503, 0, true, false},  {End::kAnswered, 503, 3, true, true},
      {End::kAnswered, 504, 0, true, false},
  };
  for (const auto& one : cases) {
    for (const bool read : {true, false}) {
      const Attempt attempt{
          .read = read, .end = one.end, .status = one.status, .retry_after = seconds(one.retry_after)};
      const auto delay = RetryDelay(attempt, 0.5, seconds(30));
      EXPECT_EQ(delay.has_value(), read ? one.read : one.write)
          << static_cast<int>(one.end) << " " << one.status << " " << read;
      if (delay) {
        EXPECT_EQ(*delay, seconds(one.retry_after) + milliseconds(50));
      }
    }
  }
}

TEST(Retry, BackOffGrowsToALimit) {
  const auto longest = [](int number) {
    return std::chrono::round<milliseconds>(
        *RetryDelay({.number = number, .end = End::kNotSent}, kAlmostOne, seconds(60)));
  };
  EXPECT_EQ(longest(1), milliseconds(100));
  EXPECT_EQ(longest(2), milliseconds(200));
  EXPECT_EQ(longest(5), milliseconds(1600));
  EXPECT_EQ(longest(8), milliseconds(10000));
  EXPECT_EQ(longest(1'000'000), milliseconds(10000));
}

RC_GTEST_PROP(Retry, NeverPastTheDeadline, (int number, unsigned ask)) {
  const Attempt attempt{
      .number = 1 + std::abs(number % 50),
      .end = End::kAnswered,
      .status = 429,
      .retry_after = seconds(*rc::gen::elementOf(std::vector<std::int64_t>{0, 1, ask, INT64_MAX}))};
  const Duration left = milliseconds(*rc::gen::inRange(-1000, 40000));
  const double random = *rc::gen::inRange(0, 1000) / 1000.0;
  if (const auto delay = RetryDelay(attempt, random, left)) {
    RC_ASSERT(*delay >= Duration::zero());
    RC_ASSERT(*delay < left);
    RC_ASSERT(*delay >= attempt.retry_after);
  }
}

}  // namespace
}  // namespace adaptdl
