// What a replay tells: one workload under one policy.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace adaptdl {

struct AllocationSpan {
  double start = 0, end = 0;   // Seconds since the workload began.
  std::vector<int> placement;  // Replicas on each of its nodes; empty while it waits.
  bool restarting = false;     // Stands still, loading a checkpoint.
};

struct SimulatedJob {
  std::string name;
  std::string application;
  double submitted = 0, started = 0, finished = 0;  // Seconds.
  std::int64_t restarts = 0;                        // Reallocations after the first start.
  double gpu_seconds = 0;
  double alone_seconds =
      0;  // What it would take alone on its fair share of the cluster; 0 where not computed.
  std::vector<AllocationSpan> spans;

  [[nodiscard]] double CompletionTime() const { return finished - submitted; }
};

struct ClusterSample {  // Holds from `time` on, until the next one.
  double time = 0;
  int nodes = 0;                 // That exist and cost money.
  int gpus = 0;                  // On those nodes.
  int used_gpus = 0;             // Given to jobs.
  int running = 0, waiting = 0;  // Jobs.
};

struct SimResult {
  std::string workload, policy, objective;
  std::vector<SimulatedJob> jobs;  // By submission time.
  std::vector<ClusterSample> samples;
  double average_jct = 0, p50_jct = 0, p99_jct = 0, makespan = 0;  // Seconds.
  std::int64_t restarts = 0;
  double gpu_hours = 0, node_hours = 0;
  double worst_slowdown = 0, mean_slowdown = 0;  // Completion time relative to alone_seconds.
  std::int64_t rounds = 0;
  double policy_cpu_seconds = 0;
};

}  // namespace adaptdl
