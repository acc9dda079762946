// Family priors: jobs made from the same template train alike, so a new one need not find out alone how it
// scales.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "api/model.h"
#include "api/snapshot.h"

namespace adaptdl {

// What the jobs of one family have reported so far.
class FamilyProfile {
 public:
  void Add(const Observation& observation);
  // The gradient statistics that a job reported at that progress.
  void Add(double progress, const GradParams& grad);

  // One of them ended, having needed that much progress.
  void AddCompletion(double progress);

  // The model that explains all of their step times; absent before the first. Fits again only once enough is
  // new.
  const std::optional<PerfParams>& perf_params();
  // Reported by any of them nearest to that progress.
  [[nodiscard]] std::optional<GradParams> GradAt(double progress) const;
  // What those that ended needed, on average; absent before the first.
  [[nodiscard]] std::optional<double> TotalProgress() const;
  [[nodiscard]] std::int64_t max_profiled_replicas() const { return max_profiled_; }

 private:
  std::map<std::tuple<std::int64_t, std::int64_t, int>, Observation>
      observations_;  // By nodes, replicas and half octaves of
                      // the batch size.
  std::map<double, GradParams> gradients_;
  std::int64_t max_profiled_ = 0;
  double completed_progress_ = 0;
  std::int64_t completed_ = 0;
  std::size_t fitted_ = 0;
  std::optional<PerfParams> fit_;
};

}  // namespace adaptdl
