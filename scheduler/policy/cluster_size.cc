#include "scheduler/policy/cluster_size.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "scheduler/policy/search.h"

namespace adaptdl {
namespace {

constexpr double kLeastUtility = 0.35;
constexpr double kMostUtility = 0.65;
constexpr double kGoodUtility = 0.5;
constexpr double kEffort = 0.1;  // One point of the front need not be exact.

// Utility of the best state on so many nodes: a point of the Pareto front of performance and size.
double UtilityAt(const Snapshot& snapshot, const PolicyOptions& options, std::int64_t nodes, Rng& rng) {
  const auto real = static_cast<std::int64_t>(snapshot.nodes.size());
  const Problem problem(snapshot, static_cast<int>(std::max<std::int64_t>(nodes - real, 0)),
                        static_cast<int>(std::min(nodes, real)));
  Values values(problem, options);
  const SearchResult found = Search(problem, values, kEffort * options.effort, rng);
  return ClusterUtility(problem, values, found.state);
}

}  // namespace

double ClusterUtility(const Problem& problem, Values& values, const State& state) {
  const auto types = static_cast<std::size_t>(problem.types());
  std::vector<char> active(static_cast<std::size_t>(problem.nodes()), 0);
  std::vector<double> useful(types, 0);
  for (std::size_t j = 0; j < problem.jobs().size(); ++j) {
    const Slots& slots = state.slots(j);
    if (slots.empty()) continue;
    const double speedup = values.Speedup(j, slots.size() > 1, Replicas(slots));
    for (std::size_t t = 0; t < types; ++t) useful[t] += speedup * static_cast<double>(problem.need(j)[t]);
    for (const Slot& slot : slots) active[static_cast<std::size_t>(slot.node)] = 1;
  }
  double utility = 0;
  for (std::size_t t = 0; t < types; ++t) {
    double total = 0;
    for (int n = 0; n < problem.nodes(); ++n) {
      if (active[static_cast<std::size_t>(n)] != 0) total += problem.node_total(n, static_cast<int>(t));
    }
    if (total > 0) utility = std::max(utility, useful[t] / total);
  }
  return utility;
}

std::int64_t DesiredNodes(const Snapshot& snapshot, const PolicyOptions& options, double utility, Rng& rng) {
  const auto present = static_cast<std::int64_t>(snapshot.nodes.size());
  const std::int64_t least = std::min(options.min_nodes, options.max_nodes);
  const std::int64_t most =
      snapshot.node_template ? std::min(options.max_nodes, std::max<std::int64_t>(2 * present, 1)) : present;
  if (snapshot.jobs.empty()) return least;
  if (utility >= kLeastUtility && utility <= kMostUtility)
    return std::clamp(present, least, options.max_nodes);
  // More nodes never make better use of each, so halving finds the place.
  std::int64_t low = std::max<std::int64_t>(least, 1);
  std::int64_t high = std::max(std::min(most, options.max_nodes), low);
  if (low == high) return low;
  double at_low = UtilityAt(snapshot, options, low, rng);
  double at_high = UtilityAt(snapshot, options, high, rng);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    const double at_middle = UtilityAt(snapshot, options, middle, rng);
    (at_middle >= kGoodUtility ? low : high) = middle;
    (at_middle >= kGoodUtility ? at_low : at_high) = at_middle;
  }
  if (at_high >= kGoodUtility) return high;  // Jobs that scale without loss make equal use of any size.
  return std::abs(at_low - kGoodUtility) <= std::abs(at_high - kGoodUtility) ? low : high;
}

}  // namespace adaptdl
