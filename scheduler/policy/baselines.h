// Policies to compare with. They leave batch sizes alone and move jobs as little as their rules allow.
#pragma once

#include <cstdint>
#include <utility>

#include "scheduler/policy/policy.h"

namespace adaptdl {

// Two first-come queues: a job falls to the second once it has had 16 GPU-hours. In that order each job gets
// the replicas that it asks for (its most) or none; a smaller one may pass.
class TiresiasPolicy : public Policy {
 public:
  explicit TiresiasPolicy(bool share_networks) : share_networks_(share_networks) {}
  [[nodiscard]] Proposal Propose(const Snapshot& snapshot, Rng& rng) const override;

 private:
  bool share_networks_;
};

// First come, first served; nobody passes.
class FifoPolicy : public Policy {
 public:
  [[nodiscard]] Proposal Propose(const Snapshot& snapshot, Rng& rng) const override;
};

// Each job gets an equal share of the cluster when it starts, and keeps it.
class StaticPolicy : public Policy {
 public:
  [[nodiscard]] Proposal Propose(const Snapshot& snapshot, Rng& rng) const override;
};

// One replica each, then one by one to whoever's remaining time gets shorter by most.
class OptimusPolicy : public Policy {
 public:
  OptimusPolicy(RemainingTime remaining_time, bool share_networks)
      : remaining_time_(std::move(remaining_time)), share_networks_(share_networks) {}
  [[nodiscard]] Proposal Propose(const Snapshot& snapshot, Rng& rng) const override;

 private:
  RemainingTime remaining_time_;
  bool share_networks_;
};

}  // namespace adaptdl
