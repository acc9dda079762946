#include "tests/scenarios/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace adaptdl {
namespace {

using testing::IsEmpty;

// Under sanitizers a few: they are there to look at the code, not at the seeds.
#ifdef ADAPTDL_SANITIZED
constexpr int kBatch = 4;
#else
constexpr int kBatch = 250;
#endif

class Scenarios : public testing::TestWithParam<int> {};

TEST_P(Scenarios, WhateverBreaksAllIsWellInTheEnd) {
  for (int i = 1; i <= kBatch; ++i) {
    const auto seed = static_cast<std::uint64_t>(GetParam()) * kBatch + static_cast<std::uint64_t>(i);
    const ScenarioResult result = RunScenario(seed);
    EXPECT_THAT(result.violations, IsEmpty()) << "see it with: operator_scenario --replay " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Scenarios, testing::Range(0, 8));

TEST(Scenario, SameSeedSameTrace) {
  std::vector<std::string> first;
  std::vector<std::string> second;
  RunScenario(7, [&](std::string_view line) { first.emplace_back(line); });
  RunScenario(7, [&](std::string_view line) { second.emplace_back(line); });
  EXPECT_EQ(first, second);
  EXPECT_NE(RunScenario(7).digest, RunScenario(8).digest);
}

// Otherwise nothing is shown by all being well.
TEST(Scenario, ThereAreFaultsOfEveryFamily) {
  const std::pair<FaultFamily, const char*> families[] = {{FaultFamily::kCrashes, "CRASH (fault)"},
                                                          {FaultFamily::kUnobserved, "is late (fault)"},
                                                          {FaultFamily::kStale, "(stale)"},
                                                          {FaultFamily::kAll, "(timeout"}};
  for (const auto& [family, trace] : families) {
    int found = 0;
    const auto count = [&found, mark = trace](std::string_view line) {
      found += line.find(mark) != std::string_view::npos ? 1 : 0;
    };
    for (std::uint64_t seed = 1; seed <= 5; ++seed) RunScenario(seed, count, family);
    EXPECT_GT(found, 3) << trace;
  }
}

}  // namespace
}  // namespace adaptdl
