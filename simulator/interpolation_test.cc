#include "simulator/interpolation.h"

#include <array>
#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rapidcheck/gtest.h"

namespace adaptdl {
namespace {

using At = std::array<double, 3>;

StepTime Linear(const At& at) {
  return {.step = 2 + 0.5 * at[0] + 0.25 * at[1] + 0.01 * at[2], .sync = 1 + 0.125 * at[0]};
}

// As measured points lie: many on one sphere, so that there is more than one triangulation.
std::vector<MeasuredStep> Grid() {
  std::vector<MeasuredStep> points;
  for (const double nodes : {1, 2, 4, 8}) {
    for (const double each : {1, 2, 3, 4}) {
      for (const double size : {32, 45, 64, 128, 1024}) {
        const At at = {nodes, nodes * each, size};
        points.push_back({at, Linear(at)});
      }
    }
  }
  return points;
}

// One corner at the origin, edges of length 1 along the axes.
StepInterpolation Corner() {
  return StepInterpolation::Create(
             {{{0, 0, 0}, {1, 0}}, {{1, 0, 0}, {2, 0}}, {{0, 1, 0}, {3, 0}}, {{0, 0, 1}, {5, 1}}})
      .value();
}

TEST(Interpolation, GivesMeasuredValuesBack) {
  const std::vector<MeasuredStep> points = Grid();
  const StepInterpolation steps = StepInterpolation::Create(points).value();
  for (const MeasuredStep& point : points) {
    EXPECT_NEAR(steps.At(point.at).step, point.time.step, 1e-9);
    EXPECT_NEAR(steps.At(point.at).sync, point.time.sync, 1e-9);
  }
}

RC_GTEST_PROP(Interpolation, IsExactForALinearFunctionEverywhereInside, ()) {
  static const StepInterpolation kSteps = StepInterpolation::Create(Grid()).value();
  const auto share = [] { return *rc::gen::inRange(0, 1001) / 1000.0; };
  const double nodes = 1 + 7 * share();
  const At at = {nodes, nodes * (1 + 3 * share()), 32 + 992 * share()};
  const StepTime time = kSteps.At(at);
  RC_ASSERT(std::abs(time.step - Linear(at).step) < 1e-9);
  RC_ASSERT(std::abs(time.sync - Linear(at).sync) < 1e-9);
}

RC_GTEST_PROP(Interpolation, StaysWithinTheMeasuredValuesEverywhere, ()) {
  static const StepInterpolation kSteps = StepInterpolation::Create(Grid()).value();
  const auto coordinate = [] {
    return *rc::gen::inRange(-3000, 3000) / *rc::gen::element(1.0, 10.0, 1000.0);
  };
  const StepTime time = kSteps.At({coordinate(), coordinate(), coordinate()});
  RC_ASSERT(time.step >= Linear({1, 1, 32}).step - 1e-9);
  RC_ASSERT(time.step <= Linear({8, 32, 1024}).step + 1e-9);
  RC_ASSERT(time.sync < time.step);
  RC_ASSERT(time.sync >= 0);
}

TEST(Interpolation, OutsideGivesTheValueAtTheNearestPoint) {
  const StepInterpolation steps = Corner();
  const struct {
    At at, nearest;
  } cases[] = {
      {{-1, -2, -3}, {0, 0, 0}},             // A corner.
      {{5, -1, -1}, {1, 0, 0}},              //
      {{0.25, -1, -1}, {0.25, 0, 0}},        // An edge.
      {{1, 1, -1}, {0.5, 0.5, 0}},           //
      {{0.25, 0.25, -9}, {0.25, 0.25, 0}},   // A face.
      {{0.5, 0.5, 0.75}, {0.25, 0.25, 0.5}}  //
  };
  for (const auto& [at, nearest] : cases) {
    EXPECT_NEAR(steps.At(at).step, 1 + nearest[0] + 2 * nearest[1] + 4 * nearest[2], 1e-12);
    EXPECT_NEAR(steps.At(at).sync, nearest[2], 1e-12);
  }
}

TEST(Interpolation, NeedsPointsThatSpanAVolume) {
  const MeasuredStep point = {{1, 1, 1}, {1, 0}};
  std::vector<MeasuredStep> plane;
  for (const double x : {1, 2, 3}) {
    for (const double y : {1, 2, 3}) plane.push_back({{x, y, x + y}, {1, 0}});
  }
  std::vector<MeasuredStep> not_finite = Grid();
  not_finite.front().at[2] = std::nan("");
  for (const auto& points : {std::vector<MeasuredStep>{}, {point}, {10, point}, plane, not_finite}) {
    const auto steps = StepInterpolation::Create(points);
    ASSERT_FALSE(steps);
    EXPECT_EQ(steps.error().code, ErrorCode::kInvalid);
  }
}

TEST(Interpolation, RepeatedPointsDoNoHarm) {
  std::vector<MeasuredStep> points = Grid();
  points.insert(points.end(), points.begin(), points.begin() + 20);
  const StepInterpolation steps = StepInterpolation::Create(points).value();
  EXPECT_NEAR(steps.At({3, 7, 50}).step, Linear({3, 7, 50}).step, 1e-9);
}

}  // namespace
}  // namespace adaptdl
