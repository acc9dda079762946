// The goodput of a training job: throughput x statistical efficiency, as a function of where and at which
// batch size it runs. Pure arithmetic; every number is determined by the arguments.
#pragma once

#include <cstdint>

#include "api/model.h"
#include "runtime/result.h"

namespace adaptdl {

// Where a job runs: `replicas` in all, spread over `nodes`.
struct Placement {
  std::int64_t nodes = 1;
  std::int64_t replicas = 1;
};

// A batch configuration, with what the model predicts for it. Total batch size: replicas * atomic_bsz *
// (accum_steps + 1).
struct BatchConfig {
  std::int64_t atomic_bsz = 0;   // Samples in one forward and backward pass of one replica.
  std::int64_t accum_steps = 0;  // Passes before the one that synchronises and steps the optimiser.
  double goodput = 0;            // Useful samples a second.

  friend bool operator==(const BatchConfig&, const BatchConfig&) = default;
};

// Seconds for one forward and backward pass without synchronisation.
double AccumTime(const PerfParams& perf, double atomic_bsz);

// The replicas past the second, by which synchronising takes longer; never quite 0.
double BeyondTwo(std::int64_t replicas);

// Seconds for synchronising the gradients.
double NetworkTime(const PerfParams& perf, Placement at);

// Seconds for the pass that synchronises: (accum^gamma + network^gamma)^(1/gamma), for gamma >= 1 between the
// larger of both (full overlap) and their sum (none).
double OptimTime(double gamma, double accum_time, double network_time);

class GoodputModel {
 public:
  // Invalid where a parameter is negative or not finite, gamma is below 1 or the initial batch size below 1.
  static Result<GoodputModel> Create(const PerfParams& perf, const GradParams& grad,
                                     std::int64_t init_batch_size);

  // Samples a second. The placement has 1 <= nodes <= replicas.
  [[nodiscard]] double Throughput(Placement at, std::int64_t atomic_bsz, std::int64_t accum_steps) const;

  // Progress for each sample, relative to the initial batch size; 1 there, less for larger batches.
  [[nodiscard]] double Efficiency(double batch_size) const;

  // Throughput x efficiency. Invalid below the initial batch size, where efficiency has no meaning.
  [[nodiscard]] Result<double> Evaluate(Placement at, std::int64_t atomic_bsz,
                                        std::int64_t accum_steps) const;

  // The configuration with the highest goodput among 50 total batch sizes between the initial and the maximum
  // one. Invalid where the limits contradict each other, the placement is none, or no configuration within
  // the limits reaches the initial batch size.
  [[nodiscard]] Result<BatchConfig> Best(Placement at, const BatchLimits& limits) const;

  [[nodiscard]] const PerfParams& perf() const { return perf_; }
  [[nodiscard]] const GradParams& grad() const { return grad_; }
  [[nodiscard]] std::int64_t init_batch_size() const { return init_batch_size_; }

 private:
  GoodputModel(const PerfParams& perf, const GradParams& grad, std::int64_t init_batch_size)
      : perf_(perf), grad_(grad), init_batch_size_(init_batch_size) {}

  PerfParams perf_;
  GradParams grad_;
  std::int64_t init_batch_size_;
};

}  // namespace adaptdl
