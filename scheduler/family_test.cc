#include "scheduler/family.h"

#include <gtest/gtest.h>

#include "goodput/model.h"

namespace adaptdl {
namespace {

constexpr PerfParams kTrue = {0.1, 0.01, 0.2, 0.02, 0.05, 0.005, 1.5};

Observation At(std::int64_t nodes, std::int64_t replicas, std::int64_t bsz, double slower = 1) {
  const double accum = slower * AccumTime(kTrue, static_cast<double>(bsz));
  return {nodes, replicas, bsz, accum, OptimTime(kTrue.gamma, accum, NetworkTime(kTrue, {nodes, replicas}))};
}

TEST(FamilyTest, KnowsNothingAtFirst) {
  FamilyProfile family;
  EXPECT_FALSE(family.perf_params());
  EXPECT_FALSE(family.GradAt(0));
  EXPECT_FALSE(family.TotalProgress());
  EXPECT_EQ(family.max_profiled_replicas(), 0);
}

TEST(FamilyTest, LearnsFromTheStepTimesOfAll) {
  FamilyProfile family;
  for (const std::int64_t bsz : {8, 32, 128}) {
    for (const auto& [nodes, replicas] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{1, 1}, {1, 2}, {1, 4}, {2, 8}, {4, 16}})
      family.Add(At(nodes, replicas, bsz));
  }
  EXPECT_EQ(family.max_profiled_replicas(), 16);
  ASSERT_TRUE(family.perf_params());
  const PerfParams fitted = *family.perf_params();
  for (const Observation& seen : {At(1, 1, 64), At(1, 4, 32), At(2, 8, 100)}) {
    const double accum = AccumTime(fitted, static_cast<double>(seen.atomic_bsz));
    const double optim =
        OptimTime(fitted.gamma, accum, NetworkTime(fitted, {seen.num_nodes, seen.num_replicas}));
    EXPECT_NEAR(accum, seen.accum_step_time, 0.05 * seen.accum_step_time);
    EXPECT_NEAR(optim, seen.optim_step_time, 0.05 * seen.optim_step_time);
  }
}

TEST(FamilyTest, FitsAgainOnlyOnceEnoughIsNew) {
  FamilyProfile family;
  for (std::int64_t replicas = 1; replicas <= 20; ++replicas) family.Add(At(1, replicas, 32));
  const PerfParams first = family.perf_params().value();
  family.Add(At(1, 3, 33, 10));  // Alike one that is known.
  EXPECT_EQ(family.perf_params(), first);
  for (const std::int64_t bsz : {100, 200}) family.Add(At(1, 1, bsz, 10));
  EXPECT_EQ(family.perf_params(), first);  // Two of twenty.
  family.Add(At(1, 1, 400, 10));
  EXPECT_NE(family.perf_params(), first);
}

TEST(FamilyTest, GradientsAreThoseOfTheNearestProgress) {
  FamilyProfile family;
  family.Add(10, GradParams{1, 1});
  family.Add(20, GradParams{2, 2});
  for (const auto& [progress, sqr] :
       std::vector<std::pair<double, double>>{{0, 1}, {10, 1}, {14.9, 1}, {15.1, 2}, {20, 2}, {1e300, 2}}) {
    EXPECT_EQ(family.GradAt(progress)->sqr, sqr) << progress;
  }
}

TEST(FamilyTest, LengthIsTheMeanOfThoseThatEnded) {
  FamilyProfile family;
  family.AddCompletion(100);
  EXPECT_EQ(family.TotalProgress(), 100);
  family.AddCompletion(300);
  EXPECT_EQ(family.TotalProgress(), 200);
}

TEST(FamilyTest, AnObservationThatMakesNoSenseIsLeftOut) {
  FamilyProfile family;
  family.Add(Observation{1, 1, 0, 0.1, 0.1});
  family.Add(Observation{2, 1, 32, 0.1, 0.1});
  family.Add(Observation{1, 1, 32, 0.0, 0.1});
  EXPECT_EQ(family.max_profiled_replicas(), 0);
  EXPECT_FALSE(family.perf_params());
  family.Add(Observation{1, 1, 32, 0.1, 0.1});
  EXPECT_TRUE(family.perf_params());
}

}  // namespace
}  // namespace adaptdl
