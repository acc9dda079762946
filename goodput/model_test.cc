#include "goodput/model.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using testing::HasSubstr;

constexpr PerfParams kPerf = {0.121, 0.00568, 0.0236, 0.00634, 0.0118, 0.00317, 1.14};
constexpr GradParams kGrad = {0.00136, 0.000502};

GoodputModel Model(std::int64_t init_batch_size = 128) {
  return GoodputModel::Create(kPerf, kGrad, init_batch_size).value();
}

// A magnitude anywhere between 10^from and 10^to.
rc::Gen<double> Magnitude(int from, int to) {
  return rc::gen::map(rc::gen::inRange(from * 1000, to * 1000),
                      [](int e) { return std::pow(10.0, e / 1000.0); });
}

GoodputModel AnyModel() {
  const PerfParams perf{*Magnitude(-8, 2), *Magnitude(-8, 0), *Magnitude(-8, 2),          *Magnitude(-8, 0),
                        *Magnitude(-8, 2), *Magnitude(-8, 0), 1 + *Magnitude(-3, 1) * 0.9};
  const GradParams grad{*Magnitude(-6, 6), *Magnitude(-6, 6)};
  return GoodputModel::Create(perf, grad, *rc::gen::inRange<std::int64_t>(1, 1000)).value();
}

BatchLimits AnyLimits(std::int64_t init_batch_size) {
  BatchLimits limits;
  limits.gradient_accumulation = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) limits.max_batch_size = init_batch_size * *rc::gen::inRange(1, 200);
  if (*rc::gen::arbitrary<bool>()) limits.min_local_bsz = *rc::gen::inRange<std::int64_t>(1, 20);
  if (*rc::gen::arbitrary<bool>()) {
    limits.max_local_bsz = limits.min_local_bsz.value_or(1) + *rc::gen::inRange<std::int64_t>(0, 500);
  }
  return limits;
}

TEST(GoodputModel, RefusesWhatHasNoMeaning) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  struct Case {
    PerfParams perf;
    GradParams grad;
    std::int64_t init_batch_size;
    std::string expect;
  };
  const std::vector<Case> cases = {
      {{kNan, 1, 1, 1, 1, 1, 1}, kGrad, 1, "alpha_c"},
      {{1, -1, 1, 1, 1, 1, 1}, kGrad, 1, "beta_c"},
      {{1, 1, kInf, 1, 1, 1, 1}, kGrad, 1, "alpha_n"},
      {{1, 1, 1, -1e-9, 1, 1, 1}, kGrad, 1, "beta_n"},
      {{1, 1, 1, 1, -1, 1, 1}, kGrad, 1, "alpha_r"},
      {{1, 1, 1, 1, 1, kNan, 1}, kGrad, 1, "beta_r"},
      {{1, 1, 1, 1, 1, 1, 0.99}, kGrad, 1, "gamma"},
      {{1, 1, 1, 1, 1, 1, kInf}, kGrad, 1, "gamma"},
      {{0, 0, 1, 1, 1, 1, 1}, kGrad, 1, "alpha_c"},
      {kPerf, {-1, 1}, 1, "sqr"},
      {kPerf, {1, kInf}, 1, "var"},
      {kPerf, kGrad, 0, "initial batch size"},
      {kPerf, kGrad, std::int64_t{1} << 60, "initial batch size"},
  };
  for (const Case& c : cases) {
    const auto model = GoodputModel::Create(c.perf, c.grad, c.init_batch_size);
    ASSERT_FALSE(model) << c.expect;
    EXPECT_EQ(model.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(model.error().message, HasSubstr(c.expect));
  }
}

TEST(GoodputModel, NetworkTimeKnowsTheKindOfNetwork) {
  EXPECT_NEAR(NetworkTime(kPerf, {1, 1}), 1e-8, 1e-15);
  EXPECT_NEAR(NetworkTime(kPerf, {1, 2}), kPerf.alpha_r, 1e-10);
  EXPECT_DOUBLE_EQ(NetworkTime(kPerf, {1, 5}), kPerf.alpha_r + 3 * kPerf.beta_r);
  EXPECT_DOUBLE_EQ(NetworkTime(kPerf, {2, 5}), kPerf.alpha_n + 3 * kPerf.beta_n);
  EXPECT_DOUBLE_EQ(NetworkTime(kPerf, {5, 5}), NetworkTime(kPerf, {2, 5}));
}

TEST(GoodputModel, OptimTimeDoesNotOverflow) {
  EXPECT_DOUBLE_EQ(OptimTime(10, 1e200, 1e-200), 1e200);
  EXPECT_DOUBLE_EQ(OptimTime(10, 0, 3), 3);
  EXPECT_DOUBLE_EQ(OptimTime(1, 2, 3), 5);
}

TEST(GoodputModel, EfficiencyIsOneAtTheInitialBatchSizeAndWithoutNoiseFallsWithScale) {
  EXPECT_DOUBLE_EQ(Model().Efficiency(128), 1);
  const auto noiseless = GoodputModel::Create(kPerf, {1, 0}, 128).value();
  EXPECT_DOUBLE_EQ(noiseless.Efficiency(256), 0.5);
  const auto unknown = GoodputModel::Create(kPerf, {0, 0}, 128).value();
  EXPECT_DOUBLE_EQ(unknown.Efficiency(256), 0.5);
}

TEST(GoodputModel, BestRefusesContradictions) {
  struct Case {
    Placement at;
    BatchLimits limits;
    std::string expect;
  };
  const std::vector<Case> cases = {
      {{0, 1}, {}, "nodes"},
      {{2, 1}, {}, "nodes"},
      {{1, 0}, {}, "nodes"},
      {{1, 1}, {.max_batch_size = 100}, "maximum batch size 100"},
      {{1, 1}, {.min_local_bsz = 0}, "bounds"},
      {{1, 1}, {.min_local_bsz = 65, .max_local_bsz = 64}, "[65, 64]"},
      {{1, 1}, {.max_local_bsz = 127}, "do not reach the initial batch size 128"},
      {{1, 1}, {.max_batch_size = std::int64_t{1} << 60}, "maximum batch size"},
  };
  for (const Case& c : cases) {
    const auto best = Model().Best(c.at, c.limits);
    ASSERT_FALSE(best) << c.expect;
    EXPECT_THAT(best.error().message, HasSubstr(c.expect));
  }
}

TEST(GoodputModel, AccumulationMakesSmallMemoryEnough) {
  const auto best =
      Model().Best({1, 1}, {.max_batch_size = 1280, .max_local_bsz = 32, .gradient_accumulation = true});
  ASSERT_TRUE(best) << best.error().message;
  EXPECT_LE(best->atomic_bsz, 32);
  EXPECT_GE(best->atomic_bsz * (best->accum_steps + 1), 128);
}

// The definition, candidate by candidate, without any of the short cuts.
BatchConfig BestByDefinition(const GoodputModel& model, Placement at, const BatchLimits& limits) {
  const auto init = static_cast<double>(model.init_batch_size());
  const auto k = static_cast<double>(at.replicas);
  const auto most = static_cast<double>(limits.max_batch_size.value_or(model.init_batch_size()));
  const auto low = static_cast<double>(limits.min_local_bsz.value_or(1));
  const double high = limits.max_local_bsz ? static_cast<double>(*limits.max_local_bsz) : most;
  const double first = std::max(init, low * k);
  BatchConfig best;
  for (int i = 0; i < 50; ++i) {
    const double local = first * std::pow(most / first, i / 49.0) / k;
    double s = 0;
    double m = k == 1 ? init : std::ceil(local - 1e-8);
    if (limits.gradient_accumulation) {
      s = std::ceil(local / high - 1e-8) - 1;
      if (k == 1 && local > init + 1e-8) s = std::max(s, 1.0);
      m = std::ceil(local / (s + 1) - 1e-8);
    }
    m = std::min(high, std::max(low, m));
    const auto atomic = static_cast<std::int64_t>(m);
    const auto steps = static_cast<std::int64_t>(s);
    const double goodput = model.Throughput(at, atomic, steps) * model.Efficiency(k * m * (s + 1));
    if (goodput > best.goodput) best = {atomic, steps, goodput};
  }
  return best;
}

RC_GTEST_PROP(GoodputModel, BestIsWhatTheDefinitionSays, ()) {
  const GoodputModel model = AnyModel();
  const BatchLimits limits = AnyLimits(model.init_batch_size());
  const auto replicas = *rc::gen::inRange<std::int64_t>(1, 64);
  const Placement at{*rc::gen::inRange<std::int64_t>(1, replicas + 1), replicas};
  const auto best = model.Best(at, limits);
  if (!best) {
    RC_ASSERT(best.error().code == ErrorCode::kInvalid);
    return;
  }
  const BatchConfig expected = BestByDefinition(model, at, limits);
  RC_ASSERT(std::abs(best->goodput - expected.goodput) <= 1e-12 * expected.goodput);
  // Where two configurations tie to the last digit either may win; its goodput is the same.
  const auto again = model.Evaluate(at, best->atomic_bsz, best->accum_steps);
  RC_ASSERT(again.has_value());
  RC_ASSERT(std::abs(*again - best->goodput) <= 1e-12 * best->goodput);
}

RC_GTEST_PROP(GoodputModel, OptimTimeLiesBetweenOverlapAndSum, ()) {
  const double a = *Magnitude(-8, 8);
  const double b = *Magnitude(-8, 8);
  const double gamma = 1 + *Magnitude(-3, 1) * 0.9;
  const double t = OptimTime(gamma, a, b);
  RC_ASSERT(t >= std::max(a, b) * (1 - 1e-15));
  RC_ASSERT(t <= (a + b) * (1 + 1e-15));
}

RC_GTEST_PROP(GoodputModel, EfficiencyNeverRisesWithTheBatch, ()) {
  const GoodputModel model = AnyModel();
  const double batch = static_cast<double>(model.init_batch_size()) * *Magnitude(0, 4);
  RC_ASSERT(model.Efficiency(batch * 1.5) <= model.Efficiency(batch) * (1 + 1e-12));
  RC_ASSERT(model.Efficiency(batch) <= 1 + 1e-12);
}

}  // namespace
}  // namespace adaptdl
