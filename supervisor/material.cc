#include "supervisor/material.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "goodput/model.h"

namespace adaptdl {

namespace {

constexpr double kModel = 0.02;     // Of what the model predicts.
constexpr double kMeasured = 0.1;   // Of what was measured: it scatters.
constexpr double kProgress = 0.01;  // Of the whole way,
constexpr double kSteps = 0.05;     // or, where that is not known, of the way so far.

bool Apart(double a, double b, double part) {
  if (a == b) return false;
  return !(std::abs(a - b) <= part * std::max(std::abs(a), std::abs(b)));  // Also where one is not finite.
}

template <typename T>
bool Apart(const std::optional<T>& a, const std::optional<T>& b, double part) {
  return a.has_value() != b.has_value() || (a && Apart(*a, *b, part));
}

// What changes rarely, and counts when it does.
auto Settings(const Hints& hints) {
  return std::tie(hints.init_batch_size, hints.min_local_bsz, hints.max_local_bsz, hints.global_batch_size,
                  hints.max_batch_size, hints.max_profiled_replicas, hints.gradient_accumulation,
                  hints.epochs, hints.finished_epochs);
}

bool StepTimesApart(const Hints& before, const Hints& after) {
  if (!before.perf_params || !after.perf_params) {
    return before.perf_params.has_value() != after.perf_params.has_value();
  }
  constexpr Placement kPlacements[] = {{1, 1}, {1, 2}, {1, 8}, {2, 2}, {2, 8}, {8, 64}};
  const auto initial = static_cast<double>(after.init_batch_size.value_or(1));
  const double sizes[] = {1, initial, static_cast<double>(after.max_local_bsz.value_or(1))};
  const PerfParams& a = *before.perf_params;
  const PerfParams& b = *after.perf_params;
  for (const double size : sizes) {
    if (Apart(AccumTime(a, size), AccumTime(b, size), kModel)) return true;
    for (const Placement& at : kPlacements) {
      if (Apart(OptimTime(a.gamma, AccumTime(a, size), NetworkTime(a, at)),
                OptimTime(b.gamma, AccumTime(b, size), NetworkTime(b, at)), kModel)) {
        return true;
      }
    }
  }
  return false;
}

bool EfficiencyApart(const Hints& before, const Hints& after) {
  if (!before.grad_params || !after.grad_params) {
    return before.grad_params.has_value() != after.grad_params.has_value();
  }
  if (before.grad_params == after.grad_params) return false;
  const std::int64_t initial = after.init_batch_size.value_or(1);
  const PerfParams any{.alpha_c = 1};
  const auto a = GoodputModel::Create(any, *before.grad_params, initial);
  const auto b = GoodputModel::Create(any, *after.grad_params, initial);
  if (!a || !b) return true;
  const auto largest = static_cast<double>(after.max_batch_size.value_or(initial));
  for (const double size : {2.0 * static_cast<double>(initial), largest}) {
    if (Apart(a->Efficiency(size), b->Efficiency(size), kModel)) return true;
  }
  return false;
}

bool ProgressApart(const Hints& before, const Hints& after) {
  if (Apart(before.total_progress, after.total_progress, kProgress)) return true;
  if (!before.progress || !after.progress) return before.progress.has_value() != after.progress.has_value();
  if (!after.total_progress) return Apart(*before.progress, *after.progress, kSteps);
  return std::abs(*after.progress - *before.progress) > kProgress * *after.total_progress;
}

bool ProfilesApart(const Hints& before, const Hints& after) {
  return !std::equal(before.profile.begin(), before.profile.end(), after.profile.begin(), after.profile.end(),
                     [](const Observation& a, const Observation& b) {
                       return a.num_nodes == b.num_nodes && a.num_replicas == b.num_replicas &&
                              a.atomic_bsz == b.atomic_bsz &&
                              !Apart(a.accum_step_time, b.accum_step_time, kMeasured) &&
                              !Apart(a.optim_step_time, b.optim_step_time, kMeasured);
                     });
}

}  // namespace

bool ChangedMaterially(const Hints& before, const Hints& after) {
  return Settings(before) != Settings(after) || StepTimesApart(before, after) ||
         EfficiencyApart(before, after) || ProgressApart(before, after) ||
         Apart(before.checkpoint_seconds, after.checkpoint_seconds, kMeasured) ||
         Apart(before.restart_seconds, after.restart_seconds, kMeasured) || ProfilesApart(before, after);
}

}  // namespace adaptdl
