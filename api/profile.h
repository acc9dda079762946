// Measured step times, as `adaptdl fit` reads them.
#pragma once

#include <string_view>
#include <vector>

#include "api/model.h"
#include "runtime/result.h"

namespace adaptdl {

// A list of objects {num_nodes, num_replicas, atomic_bsz, accum_step_time, optim_step_time}, or one object
// with an equally long list under each of these names. Other keys are ignored.
Result<std::vector<Observation>> ParseProfile(std::string_view text);

}  // namespace adaptdl
