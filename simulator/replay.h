// Replays a workload under a policy: the real policy code decides, simulated jobs train, time jumps from
// event to event.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "scheduler/policy/policy.h"
#include "simulator/application.h"
#include "simulator/result.h"
#include "simulator/workload.h"

namespace adaptdl {

struct ReplayOptions {
  int nodes = 16;
  int gpus = 4;          // On each node.
  double interval = 60;  // Seconds between rounds.
  std::uint64_t seed = 0;
  bool declared_epochs = true;       // Jobs tell how long they are.
  bool family_priors = true;         // Jobs of one application share their profiles...
  bool family_batch_sizes = true;    // ...and start at a batch size that follows from them.
  bool event_rounds = true;          // A round soon after a job comes or goes, too.
  int min_nodes = 0, max_nodes = 0;  // Autoscaling where max_nodes > 0.
  double node_delay = 120;           // Seconds until a requested node is there.
};

// Called now and then with the share of jobs that are done.
using ReplayProgress = std::function<void(double)>;

// Makes the policy, once the replay knows what an oracle would. Only `optimus` may ask one.
using PolicyMaker = std::function<Result<std::unique_ptr<const Policy>>(const RemainingTime& oracle)>;

// How the jobs of a replay train.
enum class Sizing {
  kElastic,       // Any number of replicas, at the batch size that suits them.
  kTunedBatch,    // Any number of replicas, at the tuned batch size.
  kTunedReplicas  // Tuned replicas and batch size.
};

// Invalid where a job's application is not known. Safe to call from several threads.
Result<SimResult> Replay(const Applications& applications, const Workload& workload, const PolicyMaker& make,
                         Sizing sizing, const ReplayOptions& options, const ReplayProgress& progress);

// The same for a policy by name: elastic jobs for `genetic` and `static`, tuned ones for the others.
Result<SimResult> Replay(const Applications& applications, const Workload& workload,
                         const std::string& policy, PolicyOptions policy_options,
                         const ReplayOptions& options, const ReplayProgress& progress);

}  // namespace adaptdl
