// How many nodes the jobs at hand are worth.
#pragma once

#include <cstdint>

#include "scheduler/policy/state.h"

namespace adaptdl {

// How well the nodes in use are used: over the best-utilised resource, the jobs' speedup for each replica,
// weighted by the share of the resource that they hold. 1: every replica does as much as one alone.
double ClusterUtility(const Problem& problem, Values& values, const State& state);

// Where `utility`, that of the present size, lies outside [0.35, 0.65]: the size within the options' bounds,
// and up to twice the present one, whose best state has the utility nearest to 0.5. Otherwise the present
// size.
std::int64_t DesiredNodes(const Snapshot& snapshot, const PolicyOptions& options, double utility, Rng& rng);

}  // namespace adaptdl
