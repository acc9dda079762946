// Our fit against the published one: the objective at our parameters is not above theirs.
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include "goodput/fit.h"
#include "gtest/gtest.h"
#include "tests/golden/golden.h"

namespace adaptdl {
namespace {

using nlohmann::json;

TEST(GoldenFit, ObjectiveIsThePublishedOne) {
  for (const json& entry : LoadGolden("fit.json")) {
    if (entry.contains("error")) continue;
    const auto observations = GoldenObservations(entry);
    for (const auto& [params, published] :
         {std::pair{"fitted", "obj_at_fitted"}, {"true_params", "obj_at_true"}}) {
      if (!entry.contains(params) || !entry.contains(published)) continue;
      const Result<double> ours = FitObjective(GoldenPerf(entry[params]), observations);
      ASSERT_TRUE(ours) << ours.error().message;
      EXPECT_NEAR(*ours, entry[published], 1e-9 * std::max(1.0, entry[published].get<double>())) << entry;
    }
  }
}

TEST(GoldenFit, NotAboveThePublishedFit) {
  int better = 0;
  int checked = 0;
  for (const json& entry : LoadGolden("fit.json")) {
    const auto observations = GoldenObservations(entry);
    const Result<Fit> fit = FitPerfParams(observations);
    ++checked;
    if (entry.contains("error")) {
      EXPECT_FALSE(fit) << "the published code refuses this: " << entry;
      continue;
    }
    ASSERT_TRUE(fit) << fit.error().message << entry;
    const double published = entry["obj_at_fitted"];
    const Result<double> ours = FitObjective(fit->params, observations);
    ASSERT_TRUE(ours) << ours.error().message;
    EXPECT_DOUBLE_EQ(*ours, fit->objective);
    EXPECT_LE(*ours, published + 1e-6) << entry;
    if (*ours < published - 1e-6) ++better;
  }
  EXPECT_GT(checked, 0);
  RecordProperty("better", better);
  std::printf("%d fits, %d of them better than published by more than 1e-6\n", checked, better);
}

}  // namespace
}  // namespace adaptdl
