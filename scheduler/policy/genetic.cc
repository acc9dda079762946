#include "scheduler/policy/genetic.h"

#include "scheduler/policy/cluster_size.h"
#include "scheduler/policy/outcome.h"
#include "scheduler/policy/search.h"

namespace adaptdl {
namespace {

Proposal Solve(const Problem& problem, const PolicyOptions& options, std::int64_t desired_nodes, Rng& rng) {
  Values values(problem, options);
  const SearchResult found = Search(problem, values, options.effort, rng);
  return MakeProposal(problem, values, found.state, desired_nodes);
}

}  // namespace

Proposal GeneticPolicy::Propose(const Snapshot& snapshot, Rng& rng) const {
  const Problem problem(snapshot);
  const std::int64_t present = problem.nodes();
  if (options_.max_nodes <= 0) return Solve(problem, options_, present, rng);
  Values values(problem, options_);
  const SearchResult found = Search(problem, values, options_.effort, rng);
  const std::int64_t desired =
      DesiredNodes(snapshot, options_, ClusterUtility(problem, values, found.state), rng);
  if (desired >= present) return MakeProposal(problem, values, found.state, desired);
  // What is too many is freed, so that it can go.
  return Solve(Problem(snapshot, 0, static_cast<int>(desired)), options_, desired, rng);
}

}  // namespace adaptdl
