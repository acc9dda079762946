// Learns a job's performance parameters from the step times it has measured.
#pragma once

#include <span>

#include "api/model.h"
#include "runtime/result.h"

namespace adaptdl {

struct Fit {
  PerfParams params;
  double objective = 0;  // FitObjective at params.
};

// The parameters with the least objective. What the observations cannot tell is fixed as the published system
// does it: with a single batch size half of the time counts as constant, and a kind of network that was not
// seen costs nothing (between nodes: a tenth more than inside one). Deterministic. Invalid, with the place,
// where an observation is not possible: no observation at all, sizes below 1, more nodes than replicas, times
// that are not positive and finite.
Result<Fit> FitPerfParams(std::span<const Observation> observations);

// How badly the parameters explain the observations: the root-mean-square error of the logarithms of both
// step times, plus what holds gamma near 1 and retrogression small. 0 is perfect; 0.05 is about five per cent
// off.
Result<double> FitObjective(const PerfParams& params, std::span<const Observation> observations);

}  // namespace adaptdl
