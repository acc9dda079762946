// The parameters of the goodput model, as jobs report them and as everything else reads them.
#pragma once

#include <cstdint>
#include <optional>

namespace adaptdl {

// Step time: accumulation alpha_c + beta_c * m; synchronisation between nodes (_n) and inside one (_r);
// gamma says how far the two overlap. Seconds.
struct PerfParams {
  double alpha_c = 0, beta_c = 0;
  double alpha_n = 0, beta_n = 0;
  double alpha_r = 0, beta_r = 0;
  double gamma = 1;

  friend bool operator==(const PerfParams&, const PerfParams&) = default;
};

// Gradient statistics at the initial batch size: squared norm of the true gradient and trace of its
// covariance.
struct GradParams {
  double sqr = 0;
  double var = 0;

  friend bool operator==(const GradParams&, const GradParams&) = default;
};

// Batch sizes and counts go up to here: they stay exact as doubles.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 53;

// Which batch sizes a job may run at, beside M0, the one that the user's hyper-parameters are made for.
struct BatchLimits {
  std::optional<std::int64_t> max_batch_size;  // Total; M0 where absent.
  std::optional<std::int64_t> min_local_bsz;   // One replica, one step; 1 where absent.
  std::optional<std::int64_t> max_local_bsz;   // max_batch_size where absent.
  bool gradient_accumulation = false;

  friend bool operator==(const BatchLimits&, const BatchLimits&) = default;
};

// Mean step times measured at one configuration, in seconds.
struct Observation {
  std::int64_t num_nodes = 1;
  std::int64_t num_replicas = 1;
  std::int64_t atomic_bsz = 1;
  double accum_step_time = 0;
  double optim_step_time = 0;

  friend bool operator==(const Observation&, const Observation&) = default;
};

}  // namespace adaptdl
