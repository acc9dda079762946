// The genetic search: a small population of feasible states, crossed, mutated by tearing down a part and
// building it anew, and repaired as they are built.
#pragma once

#include "scheduler/policy/state.h"

namespace adaptdl {

struct SearchResult {
  State state;
  double bound = 0;  // No state has a higher value.
};

// At least as good as keeping everything as it is, where that is feasible. Deterministic for a given rng.
SearchResult Search(const Problem& problem, Values& values, double effort, Rng& rng);

}  // namespace adaptdl
