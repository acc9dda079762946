// Which jobs are submitted when. A CSV file: name,time,application,num_replicas,batch_size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"

namespace adaptdl {

struct WorkloadJob {
  std::string name;
  double submitted = 0;  // Seconds.
  std::string application;
  std::int64_t tuned_replicas =
      1;  // What a user who tuned it by hand would ask for; only policies that do not
  std::int64_t tuned_batch_size = 1;  // adapt use both.

  friend bool operator==(const WorkloadJob&, const WorkloadJob&) = default;
};

using Workload = std::vector<WorkloadJob>;  // By submission time.

// Errors name the line and the column. Names are unique, times finite and not negative, numbers at least 1.
Result<Workload> ParseWorkload(std::string_view text);
std::string FormatWorkload(const Workload& workload);

struct GenerateOptions {
  std::int64_t jobs = 160;
  double hours = 8;
  std::uint64_t seed = 1;
};

// A day of a busy cluster: many small jobs and few large ones, with an hour of rush. Uses the built-in
// applications. Same options, same workload, on every machine.
Workload GenerateWorkload(const GenerateOptions& options);

}  // namespace adaptdl
