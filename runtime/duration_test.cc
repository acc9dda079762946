#include "runtime/duration.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using std::chrono::milliseconds;

TEST(Duration, ReadsTable) {
  const std::pair<std::string_view, std::int64_t> cases[] = {
      {"0s", 0},
      {"250ms", 250},
      {"30s", 30'000},
      {"5m", 300'000},
      {"1h30m", 5'400'000},
      {"2d", 172'800'000},
      {"1d2h3m4s5ms", 93'784'005},
      {"90m", 5'400'000},
      {"007s", 7'000},
      {"9223372036854775807ms", std::numeric_limits<std::int64_t>::max()},
  };
  for (const auto& [text, count] : cases) EXPECT_EQ(ParseDuration(text), milliseconds(count)) << text;
}

TEST(Duration, RefusesTable) {
  for (const std::string_view text : {"", "30", "0", "s", "-5s", "+5s", "1.5h", "30 s", " 30s", "30s ", "30S",
                                      "30m1h", "1s1s", "5min", "1ms2s", "9223372036854775808ms",
                                      "9223372036854775807s", "9223372036854775807ms1d", "106751991167d8h"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(Duration, SpellsShort) {
  EXPECT_EQ(FormatDuration(milliseconds(0)), "0s");
  EXPECT_EQ(FormatDuration(milliseconds(5'400'000)), "1h30m");
  EXPECT_EQ(FormatDuration(milliseconds(86'400'001)), "1d1ms");
}

RC_GTEST_PROP(DurationProperty, ReadsBackWhatItSpells, ()) {
  const auto count =
      *rc::gen::oneOf(rc::gen::positive<std::int64_t>(),
                      rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()));
  RC_ASSERT(ParseDuration(FormatDuration(milliseconds(count))) == milliseconds(count));
}

}  // namespace
}  // namespace adaptdl
