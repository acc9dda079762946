// A while in the life of a cluster: two replicas of the operator, jobs that come, change and go, nodes that
// are given and taken, and whatever faults the seed draws.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/sim/fault_plan.h"

namespace adaptdl {

struct ScenarioResult {
  std::vector<std::string> violations;  // Of what must always hold, or hold in the end; each with its time.
  std::uint64_t lines = 0;              // Of the trace.
  std::uint64_t digest = 0;             // Of its bytes.
};

// `sink` gets each line of the trace. Which faults there may be depends on the seed, unless `family` says so.
ScenarioResult RunScenario(std::uint64_t seed, const std::function<void(std::string_view)>& sink = {},
                           std::optional<FaultFamily> family = {});

}  // namespace adaptdl
