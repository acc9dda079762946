#include "api/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace adaptdl {
namespace {

using std::chrono::microseconds;

TEST(TimeTest, ReadsZoneOffsetAndFraction) {
  struct Case {
    const char* text;
    std::int64_t micros;
  };
  const Case cases[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"2026-01-01T00:00:00Z", 1767225600'000000},
      {"2026-01-01T00:00:00+00:00", 1767225600'000000},
      {"2026-01-01T01:30:00+01:30", 1767225600'000000},
      {"2025-12-31T16:00:00-08:00", 1767225600'000000},
      {"2026-01-01T00:00:00.5Z", 1767225600'500000},
      {"2026-01-01T00:00:00.000001Z", 1767225600'000001},
      {"2026-01-01T00:00:00.0000019999Z", 1767225600'000001},
      {"1969-12-31T23:59:59.25Z", -750000},
      {"2024-02-29T00:00:00Z", 1709164800'000000},
      {"0000-01-01T00:00:00Z", -62167219200'000000},
      {"9999-12-31T23:59:59.999999Z", 253402300799'999999},
  };
  for (const auto& [text, micros] : cases) {
    const Result<Time> time = ParseTime(text);
    ASSERT_TRUE(time) << time.error().message;
    EXPECT_EQ(time->time_since_epoch().count(), micros) << text;
  }
}

TEST(TimeTest, RefusesEverythingElse) {
  const char* const cases[] = {
      "",
      "2026-01-01",
      "2026-01-01T00:00:00",
      "2026-01-01T00:00Z",
      "2026-01-01 00:00:00Z",
      "2026-01-01t00:00:00z",
      "2026-1-01T00:00:00Z",
      "2026-00-01T00:00:00Z",
      "2026-13-01T00:00:00Z",
      "2026-01-00T00:00:00Z",
      "2026-02-29T00:00:00Z",
      "2026-04-31T00:00:00Z",
      "2026-01-01T24:00:00Z",
      "2026-01-01T00:60:00Z",
      "2026-01-01T00:00:60Z",
      "2026-01-01T00:00:00.Z",
      "2026-01-01T00:00:00,5Z",
      "2026-01-01T00:00:00+0100",
      "2026-01-01T00:00:00+24:00",
      "2026-01-01T00:00:00+01:60",
      "2026-01-01T00:00:00+01",
      "2026-01-01T00:00:00 +01:00",
      "2026-01-01T00:00:00Z ",
      " 2026-01-01T00:00:00Z",
      "2026-01-01T00:00:00ZZ",
      "-026-01-01T00:00:00Z",
      "12026-01-01T00:00:00Z",
      "2026-01-01T0:00:00Z",
      "2026-01-01T00:00:-1Z",
  };
  for (const char* text : cases) {
    const Result<Time> time = ParseTime(text);
    ASSERT_FALSE(time) << text;
    EXPECT_EQ(time.error().message, "'" + std::string(text) + "' is not a time as in 2026-01-31T12:00:00Z");
  }
  EXPECT_EQ(ParseTime("9999-12-31T23:59:59-00:01").error().message,
            "'9999-12-31T23:59:59-00:01' lies outside of the years 0000 to 9999");
  EXPECT_FALSE(ParseTime("0000-01-01T00:00:00+00:01"));
}

TEST(TimeTest, WritesTheShortForm) {
  EXPECT_EQ(FormatTime(Time()), "1970-01-01T00:00:00Z");
  EXPECT_EQ(FormatTime(Time(microseconds(-750000))), "1969-12-31T23:59:59.250000Z");
  EXPECT_EQ(FormatTime(ParseTime("0099-03-04T05:06:07.000001Z").value()), "0099-03-04T05:06:07.000001Z");
}

RC_GTEST_PROP(TimeTest, ReadsWhatItWrites, ()) {
  const auto micros = *rc::gen::inRange<std::int64_t>(-62167219200'000000, 253402300800'000000);
  const Time time{microseconds(micros)};
  RC_ASSERT(ParseTime(FormatTime(time)).value() == time);
}

}  // namespace
}  // namespace adaptdl
