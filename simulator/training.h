// One simulated job: it trains as its application's truth says, and reports what a real one would.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "api/model.h"
#include "simulator/application.h"

namespace adaptdl {

// What a job is told of its family when it starts.
struct TrainingPrior {
  PerfParams perf;
  GradParams grad;  // Where the job is now.
};

class Training {
 public:
  // With a `batch_size` it does not adapt. Keeps a reference to the application.
  Training(const Application& application, double now, std::optional<std::int64_t> batch_size);

  // When something happens to it by itself: it comes back from its checkpoint, or ends an epoch. Infinite
  // while it waits.
  [[nodiscard]] double NextEvent() const { return next_; }
  // Not past NextEvent.
  void AdvanceTo(double now);
  // Stops it here and starts it there, from its checkpoint; no replicas: it waits. Time is now. With a prior
  // it chooses its batch sizes by that, not by the little it has seen itself.
  void Reallocate(std::vector<int> placement, const std::optional<TrainingPrior>& prior);

  [[nodiscard]] bool finished() const { return epoch_ >= application_.spec().epochs; }
  [[nodiscard]] bool restarting() const { return !placement_.empty() && !running_; }
  [[nodiscard]] const std::vector<int>& placement() const { return placement_; }

  // What it reports.
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // Nodes, replicas, local batch size.
  [[nodiscard]] const std::map<Key, Observation>& observations() const { return observations_; }
  const std::optional<PerfParams>& perf_params();
  [[nodiscard]] const std::optional<GradParams>& grad_params() const { return grad_; }
  [[nodiscard]] double progress() const { return progress_; }
  [[nodiscard]] std::int64_t max_profiled_replicas() const { return max_profiled_; }
  [[nodiscard]] std::int64_t restarts() const { return restarts_; }
  [[nodiscard]] double attained_service() const { return attained_; }  // Replica-seconds.
  [[nodiscard]] const std::vector<std::pair<double, GradParams>>& gradients() const { return gradients_; }
  [[nodiscard]] int epoch() const { return epoch_; }

 private:
  void ChooseBatchSize();
  void Run();

  const Application& application_;
  std::optional<std::int64_t> batch_size_;
  double now_, next_;
  std::vector<int> placement_;
  std::int64_t replicas_ = 0, atomic_bsz_ = 0, accum_steps_ = 0;
  bool running_ = false;
  double rate_ = 0;  // Progress a second.
  double progress_ = 0, attained_ = 0;
  int epoch_ = 0;
  std::int64_t restarts_ = -1, max_profiled_ = 0;
  std::map<Key, Observation> observations_;
  std::size_t fitted_ = 0;
  std::optional<PerfParams> perf_;
  std::optional<GradParams> grad_;
  std::optional<TrainingPrior> prior_;
  std::vector<std::pair<double, GradParams>> gradients_;
};

// Progress a second at a configuration: the truth.
double ProgressRate(const Application& application, const std::vector<int>& placement,
                    std::int64_t atomic_bsz, std::int64_t accum_steps, int epoch);

// Progress of one optimiser step at that batch size, in steps of the initial one.
double StepGain(const Application& application, double batch_size, int epoch);

struct BatchChoice {
  std::int64_t atomic_bsz = 1, accum_steps = 0;
};
// How a total batch size is split among replicas.
BatchChoice SplitBatch(const ApplicationSpec& spec, std::int64_t replicas, double batch_size);

}  // namespace adaptdl
