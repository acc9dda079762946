// The default policy: a genetic search over placements, by fitted goodput.
#pragma once

#include "scheduler/policy/policy.h"

namespace adaptdl {

class GeneticPolicy : public Policy {
 public:
  explicit GeneticPolicy(PolicyOptions options) : options_(std::move(options)) {}
  [[nodiscard]] Proposal Propose(const Snapshot& snapshot, Rng& rng) const override;

 private:
  PolicyOptions options_;
};

}  // namespace adaptdl
