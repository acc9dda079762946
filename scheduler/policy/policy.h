// Who gets which GPUs. A policy is a pure function of what the cluster looks like: the same snapshot and the
// same seed give the same answer on every machine.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "api/snapshot.h"
#include "runtime/result.h"

namespace adaptdl {

using Rng =
    std::mt19937_64;  // Its output is the same everywhere; std distributions are not, so nothing uses them.

// The nodes of each job's replicas, in node order. Every job of the snapshot has an entry, those that wait an
// empty one.
using Allocation = std::map<std::string, std::vector<std::string>>;

struct Proposal {
  Allocation allocation;
  std::int64_t desired_nodes = 0;
  double objective = 0;                        // Of the policy; higher is better.
  std::map<std::string, std::string> reasons;  // For a person, one line for each job.
};

class Policy {
 public:
  virtual ~Policy() = default;

  // Feasible for any snapshot: node resources hold, each job has none or between its least and most replicas,
  // at most one job that spans nodes is on a node, and a job that must not be moved keeps exactly what it
  // has.
  [[nodiscard]] virtual Proposal Propose(const Snapshot& snapshot, Rng& rng) const = 0;
};

// What the genetic allocator maximises.
enum class Objective {
  kCompletion,  // Our own: jobs done soon, and none of them starved.
  kRelease,     // AdaptDL 0.2.11.
  kPaper,       // Pollux, OSDI'21.
};

inline constexpr std::string_view kPolicyNames[] = {"genetic", "tiresias", "optimus", "fifo", "static"};
inline constexpr std::string_view kObjectiveNames[] = {"completion", "release", "paper"};

std::string_view ToString(Objective objective);
Result<Objective> ParseObjective(std::string_view name);

// Seconds that a job still needs on so many replicas. What Optimus allots by.
using RemainingTime = std::function<double(const std::string& job, std::int64_t replicas)>;

struct PolicyOptions {
  Objective objective = Objective::kCompletion;
  std::int64_t min_nodes = 0;  // Bounds of desired_nodes. Without a most, the cluster keeps its size.
  std::int64_t max_nodes = 0;
  double effort = 1;             // How long to search, relative to the default.
  bool use_remaining = true;     // Weight jobs by remaining work where they declare it...
  bool use_attained = true;      // ...and by the service they had where they do not.
  bool use_restart_cost = true;  // Use the restart cost each job reports, not the usual 30 s.
  RemainingTime remaining_time;  // Of `optimus`; from the fitted models where it is not given.
  // Lets several jobs that span nodes meet on one, as the published baselines do. Such a proposal is for
  // comparison alone.
  bool share_networks = false;
};

// NotFound, with the names there are, where there is no such policy.
Result<std::unique_ptr<const Policy>> MakePolicy(std::string_view name, const PolicyOptions& options);

}  // namespace adaptdl
