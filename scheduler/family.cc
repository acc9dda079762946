#include "scheduler/family.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "goodput/fit.h"

namespace adaptdl {

void FamilyProfile::Add(const Observation& observation) {
  const bool sizes = observation.num_nodes >= 1 && observation.num_replicas >= observation.num_nodes &&
                     observation.atomic_bsz >= 1;
  const auto time = [](double seconds) { return std::isfinite(seconds) && seconds > 0; };
  // One that makes no sense would spoil the fit of all.
  if (!sizes || !time(observation.accum_step_time) || !time(observation.optim_step_time)) return;
  const int octave = static_cast<int>(std::floor(2 * std::log2(static_cast<double>(observation.atomic_bsz))));
  observations_.emplace(std::tuple(observation.num_nodes, observation.num_replicas, octave), observation);
  max_profiled_ = std::max(max_profiled_, observation.num_replicas);
}

void FamilyProfile::Add(double progress, const GradParams& grad) { gradients_.emplace(progress, grad); }

void FamilyProfile::AddCompletion(double progress) {
  completed_progress_ += progress;
  ++completed_;
}

std::optional<double> FamilyProfile::TotalProgress() const {
  if (completed_ == 0) return std::nullopt;
  return completed_progress_ / static_cast<double>(completed_);
}

const std::optional<PerfParams>& FamilyProfile::perf_params() {
  if (observations_.size() > fitted_ + fitted_ / 10) {
    std::vector<Observation> all;
    all.reserve(observations_.size());
    for (const auto& [key, observation] : observations_) all.push_back(observation);
    if (const auto fit = FitPerfParams(all)) fit_ = fit->params;
    fitted_ = observations_.size();
  }
  return fit_;
}

std::optional<GradParams> FamilyProfile::GradAt(double progress) const {
  if (gradients_.empty()) return std::nullopt;
  auto after = gradients_.lower_bound(progress);
  if (after == gradients_.end()) return std::prev(after)->second;
  if (after == gradients_.begin()) return after->second;
  const auto before = std::prev(after);
  return progress - before->first < after->first - progress ? before->second : after->second;
}

}  // namespace adaptdl
