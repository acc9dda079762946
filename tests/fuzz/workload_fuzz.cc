// Workloads: whatever is taken is sound, and is read back as it was written.
#include <cmath>
#include <set>
#include <string>

#include "simulator/workload.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace adaptdl;  // NOLINT(google-build-using-namespace)
  const Result<Workload> workload = ParseWorkload(AsText(data, size));
  if (!workload) {
    Check(workload.error().code == ErrorCode::kInvalid, "only bad input is refused");
    Check(workload.error().message == Printable(workload.error().message, 1000),
          "messages are safe to print");
    return 0;
  }
  const Result<Workload> again = ParseWorkload(FormatWorkload(*workload));
  Check(again.has_value() && *again == *workload, "a workload is read as it was written");
  std::set<std::string> names;
  double last = 0;
  for (const WorkloadJob& job : *workload) {
    Check(std::isfinite(job.submitted) && job.submitted >= last, "jobs come by submission time");
    Check(names.insert(job.name).second, "names are unique");
    Check(job.tuned_replicas >= 1 && job.tuned_batch_size >= 1, "numbers are at least 1");
    last = job.submitted;
  }
  return 0;
}
