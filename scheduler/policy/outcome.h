// A finished state as a proposal, with a reason for each job that a person understands.
#pragma once

#include "scheduler/policy/state.h"

namespace adaptdl {

Proposal MakeProposal(const Problem& problem, Values& values, const State& state, std::int64_t desired_nodes);

}  // namespace adaptdl
