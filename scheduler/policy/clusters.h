// Small clusters and jobs for tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scheduler/policy/policy.h"

namespace adaptdl {

// node-0, node-1, ... with so many GPUs.
inline Snapshot Cluster(const std::vector<std::int64_t>& gpus) {
  Snapshot snapshot;
  for (std::size_t n = 0; n < gpus.size(); ++n)
    snapshot.nodes["node-" + std::to_string(n)] = {{{"gpu", gpus[n]}}, false};
  return snapshot;
}

// One GPU each replica, and as fast as it has replicas. Later ones come later.
inline SnapshotJob& AddJob(Snapshot& snapshot, const std::string& name,
                           std::optional<std::int64_t> max_replicas = std::nullopt,
                           const std::vector<std::string>& base = {}) {
  SnapshotJob& job = snapshot.jobs[name];
  job.resources = {{"gpu", 1}};
  job.max_replicas = max_replicas;
  job.creation_timestamp = Time(std::chrono::seconds(snapshot.jobs.size()));
  if (!base.empty()) snapshot.base_allocations[name] = base;
  return job;
}

// A step takes as long as on one replica, and what `alpha_n` says between nodes; the batch grows with the
// replicas and all of it is useful.
inline void SetScaling(SnapshotJob& job, double alpha_n) {
  job.perf_params = PerfParams{1, 0, alpha_n, 0, 0, 0, 1};
  job.grad_params = GradParams{0, 1};
  job.init_batch_size = 100;
  job.batch = {.max_batch_size = 100'000, .min_local_bsz = 100, .max_local_bsz = 100};
}

inline Proposal Propose(std::string_view policy, const Snapshot& snapshot,
                        const PolicyOptions& options = {}) {
  Rng rng(1);
  return MakePolicy(policy, options).value()->Propose(snapshot, rng);
}

}  // namespace adaptdl
