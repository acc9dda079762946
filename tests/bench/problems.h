// Fit problems to measure with: the golden ones and made-up ones of the same kinds.
#pragma once

#include <cstdint>
#include <vector>

#include "api/model.h"

namespace adaptdl {

// The observations of every entry of fit.json.
std::vector<std::vector<Observation>> GoldenProblems();

// `count` problems with known parameters behind them: 1 to 60 observations, up to 30 % noise, all kinds of
// gaps in what was seen.
std::vector<std::vector<Observation>> SyntheticProblems(int count, std::uint64_t seed);

}  // namespace adaptdl
