// What the scheduler decides from: an immutable picture of jobs and nodes, version 1.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/model.h"
#include "api/resources.h"
#include "api/time.h"
#include "nlohmann/json_fwd.hpp"
#include "runtime/result.h"

namespace adaptdl {

class Reader;

struct SnapshotJob {
  Resources resources;                    // Of one replica.
  std::optional<PerfParams> perf_params;  // Absent until the job has reported: its speedup is its replicas.
  std::optional<GradParams> grad_params;
  std::int64_t init_batch_size = 1;
  BatchLimits batch;
  std::int64_t min_replicas = 0;
  std::optional<std::int64_t> max_replicas;
  Time creation_timestamp;
  bool preemptible = true;
  std::optional<double> attained_service;  // Replica-seconds.
  std::optional<double> age;               // Seconds.
  std::optional<std::int64_t> restarts;
  std::optional<double> progress;         // In steps of the initial batch size, like total_progress:
  std::optional<double> total_progress;   // the declared epochs x data size / initial batch size.
  std::optional<double> restart_seconds;  // What its restarts took so far, from one step to the next.

  friend bool operator==(const SnapshotJob&, const SnapshotJob&) = default;
};

struct SnapshotNode {
  Resources resources;
  bool preemptible = false;

  friend bool operator==(const SnapshotNode&, const SnapshotNode&) = default;
};

struct Snapshot {
  std::map<std::string, SnapshotJob> jobs;
  std::map<std::string, SnapshotNode> nodes;
  std::optional<SnapshotNode> node_template;  // What a further node would look like.
  // May name jobs that have ended and nodes that are gone.
  std::map<std::string, std::vector<std::string>> base_allocations;

  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

// Unknown keys are ignored, amounts are integers that are not negative, and the model's parameters keep to
// the same limits as hints. A job with perf_params needs an init_batch_size.
void Decode(const Reader& in, Snapshot* out);
nlohmann::json Encode(const Snapshot& snapshot);

Result<Snapshot> ParseSnapshot(std::string_view text);

}  // namespace adaptdl
