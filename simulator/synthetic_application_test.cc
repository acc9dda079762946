#include "simulator/synthetic_application.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "gmock/gmock.h"
#include "goodput/model.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

constexpr int kAlone[] = {1};

// Hours on one GPU at a batch size, in passes as large as fit.
double Hours(const Application& application, std::int64_t batch_size) {
  const ApplicationSpec& spec = application.spec();
  const std::int64_t local = std::min(batch_size, spec.max_local_bsz);
  const StepTime time = application.Step(kAlone, local);
  const double passes = static_cast<double>(batch_size) / static_cast<double>(local);
  const double step = time.step + (passes - 1) * (time.step - time.sync);
  double seconds = 0;
  for (int epoch = 0; epoch < spec.epochs; ++epoch) {
    const GradParams grad = application.Gradient(static_cast<double>(batch_size), epoch);
    const double scale = static_cast<double>(batch_size) / static_cast<double>(spec.init_batch_size);
    const double gain = (grad.var + grad.sqr) / (grad.var / scale + grad.sqr);
    seconds += (application.Progress(epoch + 1) - application.Progress(epoch)) / gain * step;
  }
  return seconds / 3600;
}

TEST(SyntheticApplications, RangeFromMinutesToDaysOnOneGpu) {
  const Applications all = SyntheticApplications();
  const auto hours = [&](const char* name) {
    return Hours(*all.at(name), all.at(name)->spec().init_batch_size);
  };
  EXPECT_NEAR(Hours(*all.at("recommender"), 32768), 10.0 / 60, 2.0 / 60);
  EXPECT_NEAR(hours("resnet"), 0.6, 0.1);
  EXPECT_NEAR(hours("transformer"), 4.5, 0.5);
  EXPECT_NEAR(hours("speech"), 5.4, 0.5);
  EXPECT_NEAR(hours("detector"), 11.5, 1);
  EXPECT_NEAR(hours("language"), 60, 1);
}

TEST(SyntheticApplications, DeclareWhatTheGoodputModelAccepts) {
  for (const auto& [name, application] : SyntheticApplications()) {
    const ApplicationSpec& spec = application->spec();
    EXPECT_EQ(spec.name, name);
    EXPECT_GE(spec.restart_seconds, 10);
    EXPECT_LE(spec.restart_seconds, 90);
    const auto model =
        GoodputModel::Create({.alpha_c = 1}, application->Gradient(1, 0), spec.init_batch_size);
    ASSERT_TRUE(model) << name;
    EXPECT_TRUE(model->Best({1, 1}, {.max_batch_size = spec.max_batch_size,
                                     .min_local_bsz = spec.min_local_bsz,
                                     .max_local_bsz = spec.max_local_bsz,
                                     .gradient_accumulation = spec.gradient_accumulation}))
        << name;
  }
}

TEST(SyntheticApplications, StepsTakeLongerThanTheirSynchronisation) {
  for (const auto& [name, application] : SyntheticApplications()) {
    const ApplicationSpec& spec = application->spec();
    for (const std::vector<int>& placement :
         {std::vector<int>{1}, {4}, {4, 4}, {1, 3}, std::vector<int>(16, 4)}) {
      for (const std::int64_t size : {spec.min_local_bsz, spec.max_local_bsz}) {
        const StepTime time = application->Step(placement, size);
        EXPECT_GT(time.step, time.sync) << name;
        EXPECT_GE(time.sync, 0) << name;
      }
    }
    const int two[] = {2};
    const int spread[] = {1, 1};
    EXPECT_LT(application->Step(kAlone, spec.max_local_bsz).step,
              application->Step(two, spec.max_local_bsz).step);
    EXPECT_LT(application->Step(two, spec.max_local_bsz).step,
              application->Step(spread, spec.max_local_bsz).step);
  }
}

TEST(SyntheticApplications, NoiseGrowsAndProgressRises) {
  for (const auto& [name, application] : SyntheticApplications()) {
    const ApplicationSpec& spec = application->spec();
    EXPECT_EQ(application->Progress(0), 0);
    EXPECT_DOUBLE_EQ(application->Progress(spec.epochs),
                     spec.epochs * spec.data_size / static_cast<double>(spec.init_batch_size));
    for (int epoch = 1; epoch < spec.epochs; ++epoch) {
      EXPECT_GT(application->Gradient(1, epoch).var, application->Gradient(1, epoch - 1).var) << name;
      EXPECT_GT(application->Progress(epoch), application->Progress(epoch - 1)) << name;
    }
    EXPECT_EQ(application->Gradient(1, spec.epochs + 5), application->Gradient(1, spec.epochs - 1));
  }
}

}  // namespace
}  // namespace adaptdl
