// Profiles: whatever is taken is something that can be fitted.
#include <cmath>

#include "api/profile.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<std::vector<Observation>> profile = ParseProfile(AsText(data, size));
  if (!profile) return 0;
  for (const Observation& one : *profile) {
    Check(one.num_nodes >= 1 && one.num_replicas >= one.num_nodes, "every node has a replica");
    Check(one.atomic_bsz >= 1, "batch sizes are positive");
    Check(std::isfinite(one.accum_step_time) && one.accum_step_time > 0, "accumulation takes time");
    Check(std::isfinite(one.optim_step_time) && one.optim_step_time > 0, "a step takes time");
  }
  return 0;
}
