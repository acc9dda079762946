#include "tests/bench/problems.h"

#include <array>
#include <cmath>
#include <random>

#include "goodput/model.h"
#include "tests/golden/golden.h"

namespace adaptdl {
namespace {

enum class Seen {
  kEverything,
  kOneNode,
  kOneReplica,
  kAtMostTwo,
  kNoneInside,
  kSeveralNodesOnly,
  kOneBatchSize,
  kKinds
};

}  // namespace

std::vector<std::vector<Observation>> GoldenProblems() {
  std::vector<std::vector<Observation>> problems;
  for (const nlohmann::json& entry : LoadGolden("fit.json")) problems.push_back(GoldenObservations(entry));
  return problems;
}

std::vector<std::vector<Observation>> SyntheticProblems(int count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(random);
  };
  const auto magnitude = [&](double from, double to) {
    return std::exp(uniform(std::log(from), std::log(to)));
  };
  const auto integer = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  std::vector<std::vector<Observation>> problems;
  for (int p = 0; p < count; ++p) {
    const PerfParams truth{magnitude(3e-3, 0.5),
                           magnitude(1e-5, 0.06),
                           magnitude(0.01, 1.5),
                           magnitude(1e-4, 0.03),
                           magnitude(1e-4, 0.4),
                           magnitude(1e-8, 0.02),
                           1 + 2.5 * uniform(0, 1) * uniform(0, 1)};
    const auto seen = static_cast<Seen>(integer(0, static_cast<int>(Seen::kKinds) - 1));
    const double noise = std::array{0.0, 0.02, 0.02, 0.1, 0.3}[static_cast<std::size_t>(integer(0, 4))];
    const auto observations =
        std::array{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60}[static_cast<std::size_t>(integer(0, 13))];
    const std::int64_t one_batch_size = integer(8, 250);
    std::vector<Observation>& problem = problems.emplace_back();
    for (int i = 0; i < observations; ++i) {
      Placement at{integer(1, 16), 0};
      if (seen == Seen::kSeveralNodesOnly) at.nodes = integer(2, 16);
      if (seen == Seen::kOneNode || seen == Seen::kOneReplica) at.nodes = 1;
      if (seen == Seen::kAtMostTwo) at.nodes = integer(1, 2);
      at.replicas = integer(at.nodes, 4 * at.nodes);
      if (seen == Seen::kOneReplica || (seen == Seen::kNoneInside && at.nodes == 1)) at.replicas = 1;
      if (seen == Seen::kAtMostTwo) at.replicas = integer(at.nodes, 2);
      const std::int64_t bsz = seen == Seen::kOneBatchSize ? one_batch_size : integer(8, 250);
      const double accum = AccumTime(truth, static_cast<double>(bsz));
      const double optim = OptimTime(truth.gamma, accum, NetworkTime(truth, at));
      std::normal_distribution<double> error(0, 1);
      problem.push_back({at.nodes, at.replicas, bsz, accum * std::exp(noise * error(random)),
                         optim * std::exp(noise * error(random))});
    }
  }
  return problems;
}

}  // namespace adaptdl
