#include "goodput/fit.h"

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "goodput/fit_problem.h"
#include "goodput/model.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using testing::HasSubstr;

constexpr PerfParams kTrue = {0.121, 0.00568, 0.0236, 0.00634, 0.0118, 0.00317, 1.14};
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

Observation Observe(const PerfParams& params, Placement at, std::int64_t atomic_bsz) {
  const double accum = AccumTime(params, static_cast<double>(atomic_bsz));
  return {at.nodes, at.replicas, atomic_bsz, accum, OptimTime(params.gamma, accum, NetworkTime(params, at))};
}

// What a fit may never do, whatever it is given.
void ExpectUsable(const std::vector<Observation>& observations) {
  const Result<Fit> fit = FitPerfParams(observations);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_TRUE(std::isfinite(fit->objective));
  const auto model = GoodputModel::Create(fit->params, {1, 1}, 16);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_LE(fit->params.gamma, 10);
  for (std::int64_t replicas = 1; replicas <= 64; replicas *= 2) {
    const auto best = model->Best({replicas > 4 ? 2 : 1, replicas}, {.max_batch_size = 1024});
    ASSERT_TRUE(best) << best.error().message;
    EXPECT_TRUE(std::isfinite(best->goodput) && best->goodput > 0);
  }
}

TEST(Fit, FindsBackWhatMadeTheObservations) {
  std::vector<Observation> observations;
  for (const Placement at : {Placement{1, 1}, {1, 2}, {1, 4}, {2, 4}, {2, 8}, {4, 16}, {8, 24}}) {
    for (const std::int64_t bsz : {32, 64, 128, 256}) observations.push_back(Observe(kTrue, at, bsz));
  }
  const Result<Fit> fit = FitPerfParams(observations);
  ASSERT_TRUE(fit) << fit.error().message;
  EXPECT_LE(fit->objective, *FitObjective(kTrue, observations) + 1e-6);
  for (const Observation& o : observations) {
    const Observation predicted = Observe(fit->params, {o.num_nodes, o.num_replicas}, o.atomic_bsz);
    EXPECT_NEAR(predicted.accum_step_time / o.accum_step_time, 1, 1e-3);
    EXPECT_NEAR(predicted.optim_step_time / o.optim_step_time, 1, 1e-2);
  }
}

TEST(Fit, WhatWasNotSeenIsFixedAsPublished) {
  // A single batch size: half of the accumulation time is constant.
  const auto one = FitPerfParams(std::vector{Observe(kTrue, {1, 1}, 128)}).value();
  EXPECT_DOUBLE_EQ(one.params.alpha_c, AccumTime(kTrue, 128) / 2);
  // No second replica: no network, and between nodes a tenth more than that.
  EXPECT_DOUBLE_EQ(one.params.alpha_r, 1e-8);
  EXPECT_DOUBLE_EQ(one.params.beta_r, 1e-8);
  EXPECT_DOUBLE_EQ(one.params.alpha_n, 1.1e-8);
  EXPECT_DOUBLE_EQ(one.params.beta_n, 1.1e-8);
  // Two replicas on one node: alpha_r is learned and alpha_n follows; nothing is known of the slopes.
  const auto two =
      FitPerfParams(std::vector{Observe(kTrue, {1, 1}, 64), Observe(kTrue, {1, 2}, 128)}).value();
  EXPECT_GT(two.params.alpha_r, 1e-4);
  EXPECT_DOUBLE_EQ(two.params.alpha_n, 1.1 * two.params.alpha_r);
  EXPECT_DOUBLE_EQ(two.params.beta_r, 1e-8);
  EXPECT_DOUBLE_EQ(two.params.beta_n, 1.1e-8);
  // Only several nodes: nothing is known of the network inside one.
  const auto nodes =
      FitPerfParams(std::vector{Observe(kTrue, {2, 4}, 64), Observe(kTrue, {4, 8}, 128)}).value();
  EXPECT_DOUBLE_EQ(nodes.params.alpha_r, 1e-8);
  EXPECT_DOUBLE_EQ(nodes.params.beta_r, 1e-8);
  EXPECT_GT(nodes.params.alpha_n, 1e-4);
}

TEST(Fit, HostileObservationsAreErrorsThatNameThePlace) {
  const Observation good = Observe(kTrue, {1, 1}, 128);
  struct Case {
    Observation bad;
    std::string expect;
  };
  std::vector<Case> cases = {{{0, 1, 1, 1, 1}, "[1].num_nodes"},
                             {{2, 1, 1, 1, 1}, "[1].num_replicas"},
                             {{1, 0, 1, 1, 1}, "[1].num_replicas"},
                             {{1, 1, 0, 1, 1}, "[1].atomic_bsz"},
                             {{1, 1, -5, 1, 1}, "[1].atomic_bsz"},
                             {{1, 1, std::numeric_limits<std::int64_t>::max(), 1, 1}, "[1].atomic_bsz"}};
  for (const double time : {0.0, -1.0, kNan, kInf, -kInf, 5e-324}) {
    cases.push_back({{1, 1, 1, time, 1}, "[1].accum_step_time"});
    cases.push_back({{1, 1, 1, 1, time}, "[1].optim_step_time"});
  }
  for (const Case& c : cases) {
    const Result<Fit> fit = FitPerfParams(std::vector{good, c.bad});
    ASSERT_FALSE(fit) << c.expect;
    EXPECT_THAT(fit.error().message, HasSubstr(c.expect));
  }
  EXPECT_FALSE(FitPerfParams({}));
}

TEST(Fit, DegenerateObservationsGiveAUsableModel) {
  const Observation one = Observe(kTrue, {1, 1}, 128);
  ExpectUsable({one});
  ExpectUsable(std::vector<Observation>(50, one));
  ExpectUsable(std::vector<Observation>(50, Observe(kTrue, {4, 16}, 128)));
  ExpectUsable({{1, 1, 8, 1e308, 1e-3}, {1, 2, 8, 1e308, 1e308}});
  ExpectUsable({{1, 1, 1, 1e-300, 1e300}, {16, 64, 4096, 1e300, 1e-300}});
  ExpectUsable({{1, 1, std::int64_t{1} << 53, 1e-12, 1e-12}, {3, std::int64_t{1} << 53, 1, 1e12, 1e12}});
  // The optimiser step shorter than the accumulation that is part of it.
  ExpectUsable({{1, 1, 8, 2.0, 0.1}, {1, 2, 8, 2.0, 0.1}, {2, 4, 16, 4.0, 0.1}});
}

TEST(Fit, TenThousandObservations) {
  std::mt19937_64 random(1);
  std::vector<Observation> observations;
  for (int i = 0; i < 10000; ++i) {
    const auto nodes = static_cast<std::int64_t>(1 + random() % 16);
    const auto replicas = nodes + static_cast<std::int64_t>(random() % static_cast<unsigned>(3 * nodes + 1));
    Observation o = Observe(kTrue, {nodes, replicas}, static_cast<std::int64_t>(8 + random() % 1000));
    o.accum_step_time *= 0.95 + static_cast<double>(random() % 1000) * 1e-4;
    o.optim_step_time *= 0.95 + static_cast<double>(random() % 1000) * 1e-4;
    observations.push_back(o);
  }
  ExpectUsable(observations);
  EXPECT_LE(FitPerfParams(observations)->objective, *FitObjective(kTrue, observations));
}

TEST(Fit, SameObservationsGiveTheSameBits) {
  const std::vector<Observation> observations = {Observe(kTrue, {1, 1}, 64), Observe(kTrue, {1, 3}, 128),
                                                 Observe(kTrue, {2, 6}, 96)};
  EXPECT_EQ(FitPerfParams(observations)->params, FitPerfParams(observations)->params);
}

rc::Gen<double> Magnitude(int from, int to) {
  return rc::gen::map(rc::gen::inRange(from * 1000, to * 1000),
                      [](int e) { return std::pow(10.0, e / 1000.0); });
}

std::vector<Observation> AnyObservations(int magnitude) {
  return *rc::gen::container<std::vector<Observation>>(rc::gen::exec([magnitude] {
    const auto nodes = *rc::gen::inRange<std::int64_t>(1, 20);
    return Observation{nodes, nodes + *rc::gen::inRange<std::int64_t>(0, 60),
                       *rc::gen::inRange<std::int64_t>(1, 5000), *Magnitude(-magnitude, magnitude),
                       *Magnitude(-magnitude, magnitude)};
  }));
}

// Times spread over twelve orders of magnitude, related to nothing.
RC_GTEST_PROP(Fit, AnyPositiveTimesGiveAUsableModel, ()) {
  const std::vector<Observation> observations = AnyObservations(6);
  RC_PRE(!observations.empty());
  ExpectUsable(observations);
}

// Any bits at all in the times: a usable model or an error.
RC_GTEST_PROP(Fit, AnyBitsGiveAModelOrAnError, ()) {
  std::vector<Observation> observations = AnyObservations(3);
  RC_PRE(!observations.empty());
  for (Observation& o : observations) {
    o.accum_step_time = *rc::gen::element(o.accum_step_time, 0.0, -1.0, kNan, kInf, 1e308, 1e-308, 1.0);
    o.optim_step_time = *rc::gen::element(o.optim_step_time, 0.0, -0.0, kNan, -kInf, 1e308, 1e-308, 1.0);
  }
  const Result<Fit> fit = FitPerfParams(observations);
  if (fit) {
    RC_ASSERT(std::isfinite(fit->objective));
    RC_ASSERT(GoodputModel::Create(fit->params, {1, 1}, 1).has_value());
  } else {
    RC_ASSERT(fit.error().code == ErrorCode::kInvalid);
  }
}

RC_GTEST_PROP(Fit, NeverWorseThanThePublishedStart, ()) {
  const std::vector<Observation> observations = AnyObservations(2);
  RC_PRE(!observations.empty());
  const FitProblem problem(observations);
  const auto start = FitObjective(FromVector(problem.Complete(problem.start())), observations);
  RC_ASSERT(FitPerfParams(observations)->objective <= *start + 1e-9);
}

RC_GTEST_PROP(FitProblem, GradientsAreExact, ()) {
  const std::vector<Observation> observations = AnyObservations(2);
  RC_PRE(!observations.empty());
  FitProblem problem(observations);
  constexpr double kSmoothing = 0.1;  // Far from the kink, where finite differences would be the wrong ones.
  ParameterVector x;
  for (std::size_t i = 0; i < kGamma; ++i) x[i] = *Magnitude(-3, 1);
  x[kGamma] = 1 + *Magnitude(-2, 0) * 5;
  ParameterVector gradient{};
  problem.Evaluate(x, kSmoothing, &gradient);
  for (std::size_t i = 0; i < kParameters; ++i) {
    if (problem.fixed(i)) continue;
    const double step = 1e-5 * x[i];
    ParameterVector up = x;
    ParameterVector down = x;
    up[i] += step;
    down[i] -= step;
    const double numeric =
        (problem.Evaluate(up, kSmoothing, nullptr) - problem.Evaluate(down, kSmoothing, nullptr)) /
        (up[i] - down[i]);
    // In units of the objective for a relative change of the parameter.
    const double scale = std::max(1.0, problem.Evaluate(x, kSmoothing, nullptr));
    RC_ASSERT(std::abs(numeric - gradient[i]) * x[i] <= 1e-6 * scale);
  }
}

}  // namespace
}  // namespace adaptdl
