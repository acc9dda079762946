#include "scheduler/policy/genetic.h"

#include "scheduler/policy/search.h"

namespace adaptdl {

Proposal GeneticPolicy::Propose(const Snapshot& snapshot, Rng& rng) const {
  const Problem problem(snapshot);
  Values values(problem, options_);
  const SearchResult found = Search(problem, values, options_.effort, rng);
  Proposal out;
  out.objective = values.Report(found.state.value());
  out.desired_nodes = problem.nodes();
  for (std::size_t j = 0; j < problem.jobs().size(); ++j) {
    const ProblemJob& job = problem.jobs()[j];
    std::vector<std::string>& nodes = out.allocation[*job.name];
    if (job.pinned) {
      nodes = snapshot.base_allocations.at(*job.name);
      continue;
    }
    for (const Slot& slot : found.state.slots(j)) nodes.insert(nodes.end(), static_cast<std::size_t>(slot.count), problem.node_name(slot.node));
  }
  return out;
}

}  // namespace adaptdl
