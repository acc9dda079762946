#include "scheduler/policy/genetic.h"

#include "scheduler/policy/outcome.h"
#include "scheduler/policy/search.h"

namespace adaptdl {

Proposal GeneticPolicy::Propose(const Snapshot& snapshot, Rng& rng) const {
  const Problem problem(snapshot);
  Values values(problem, options_);
  const SearchResult found = Search(problem, values, options_.effort, rng);
  return MakeProposal(problem, values, found.state, problem.nodes());
}

}  // namespace adaptdl
