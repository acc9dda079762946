// How good the search is: on the given instances against what is published for them, on tiny problems against
// all there is.
#include "scheduler/policy/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/json.h"
#include "goodput/model.h"
#include "nlohmann/json.hpp"
#include "scheduler/policy/feasible.h"
#include "scheduler/policy/outcome.h"

namespace adaptdl {
namespace {

// The objective of AdaptDL 0.2.11 for an allocation, from its formulas.
class Scorer {
 public:
  explicit Scorer(const Snapshot& snapshot) : snapshot_(snapshot) {
    const auto nodes = static_cast<double>(snapshot.nodes.size());
    for (const auto& [name, node] : snapshot.nodes) {
      for (const auto& [type, amount] : node.resources) totals_[type] += static_cast<double>(amount);
    }
    if (!snapshot.node_template) return;
    for (const auto& [type, amount] : snapshot.node_template->resources)
      totals_[type] += nodes * static_cast<double>(amount);
  }

  double operator()(const Allocation& allocation) const {
    double sum = 0;
    for (const auto& [name, job] : snapshot_.jobs) {
      std::vector<std::string> nodes = allocation.at(name);
      std::vector<std::string> base;
      if (const auto found = snapshot_.base_allocations.find(name); found != snapshot_.base_allocations.end())
        base = found->second;
      std::sort(nodes.begin(), nodes.end());
      std::sort(base.begin(), base.end());
      const double factor = nodes == base ? 1.0 : 0.9;
      const std::set<std::string> distinct(nodes.begin(), nodes.end());
      sum +=
          factor * Weight(job) *
          Speedup(job, static_cast<std::int64_t>(distinct.size()), static_cast<std::int64_t>(nodes.size()));
    }
    return sum;
  }

 private:
  double Weight(const SnapshotJob& job) const {
    double share = 0;
    for (const auto& [type, amount] : job.resources) {
      const auto total = totals_.find(type);
      if (amount > 0 && total != totals_.end() && total->second > 0)
        share = std::max(share, static_cast<double>(amount) / total->second);
    }
    return share * static_cast<double>(snapshot_.nodes.size()) * (snapshot_.node_template ? 2 : 1);
  }

  static double Speedup(const SnapshotJob& job, std::int64_t nodes, std::int64_t replicas) {
    if (replicas == 0) return 0;
    if (!job.preemptible || !job.perf_params) return static_cast<double>(replicas);
    const GoodputModel model =
        GoodputModel::Create(*job.perf_params, job.grad_params.value_or(GradParams{0, 1}),
                             job.init_batch_size)
            .value();
    std::int64_t fewest = 1;  // That reach the initial batch size.
    while (!model.Best({1, fewest}, job.batch)) ++fewest;
    const auto best = model.Best({nodes, replicas}, job.batch);
    if (!best) return 0;
    return best->goodput / model.Best({1, fewest}, job.batch)->goodput * static_cast<double>(fewest);
  }

  const Snapshot& snapshot_;
  std::map<std::string, double> totals_;
};

std::filesystem::path InstancesDir() {
  const char* dir =
      std::getenv("ADAPTDL_INSTANCES_DIR");  // NOLINT(concurrency-mt-unsafe): nobody sets it here
  return dir != nullptr && *dir != '\0' ? dir : ADAPTDL_INSTANCES_DEFAULT;
}

TEST(SearchTest, IsAtLeastAsGoodAsGreedyOnTheInstances) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(InstancesDir())) {
    if (entry.path().extension() == ".json") files.insert(entry.path());
  }
  ASSERT_FALSE(files.empty()) << InstancesDir();
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const Result<Snapshot> snapshot = ParseSnapshot(text);
    ASSERT_TRUE(snapshot) << file << ": " << snapshot.error().message;
    const nlohmann::json published = ParseJson(text).value().value("published", nlohmann::json::object());
    const Scorer score(*snapshot);
    const Problem problem(*snapshot);
    for (const std::uint64_t seed : {1, 2, 3}) {
      SCOPED_TRACE(file.filename().string() + ", seed " + std::to_string(seed));
      Values values(problem, {.objective = Objective::kRelease});
      Rng rng(seed);
      const SearchResult found = Search(problem, values, 1, rng);
      const Proposal proposal =
          MakeProposal(problem, values, found.state, static_cast<std::int64_t>(snapshot->nodes.size()));
      EXPECT_EQ(BrokenRule(*snapshot, proposal), "");
      EXPECT_NEAR(proposal.objective, score(proposal.allocation), 1e-9 * std::abs(proposal.objective));
      EXPECT_LE(proposal.objective, found.bound + 1e-9 * std::abs(found.bound));
      // Greedy is rounded to three digits.
      if (published.contains("greedy")) {
        EXPECT_GE(proposal.objective, published["greedy"].get<double>() - 5e-4);
      }
      if (published.contains("objective")) {
        EXPECT_GE(proposal.objective, published["objective"].get<double>());
      }
    }
  }
}

// Two or three jobs on two nodes of two GPUs, so small that every state can be looked at.
class Tiny {
 public:
  static constexpr int kNodes = 2;
  static constexpr int kGpus = 2;

  explicit Tiny(std::uint64_t seed) : rng_(seed) {
    for (int n = 0; n < kNodes; ++n)
      snapshot.nodes["node-" + std::to_string(n)] = {{{"gpu", kGpus}, {"cpu", Pick({2, 3, 8})}}, false};
    const std::int64_t jobs = Pick({2, 3});
    for (int j = 0; j < jobs; ++j) {
      SnapshotJob& job = snapshot.jobs["job-" + std::to_string(j)];
      job.resources = {{"gpu", Pick({1, 1, 1, 2})}, {"cpu", Pick({0, 1, 1, 3})}};
      job.min_replicas = Pick({0, 1, 1, 2});
      job.max_replicas = std::max(job.min_replicas, Pick({1, 2, 4, 8}));
      job.preemptible = Pick({0, 1, 1, 1, 1, 1}) == 1;
      job.age = static_cast<double>(Pick({10, 100, 1000}));
      job.restarts = Pick({0, 1, 2});
      if (Pick({0, 1}) == 1) job.total_progress = static_cast<double>(Pick({10, 1000, 100000}));
      if (Pick({0, 1, 1, 1}) == 1) {
        const double alpha_r = 0.1 * Uniform();
        const double beta_r = 0.05 * Uniform();
        job.perf_params = PerfParams{0.01 + 0.3 * Uniform(),
                                     0.001 + 0.01 * Uniform(),
                                     alpha_r + 0.5 * Uniform(),
                                     beta_r + 0.1 * Uniform(),
                                     alpha_r,
                                     beta_r,
                                     1 + 2 * Uniform()};
        job.grad_params = GradParams{0.01 + Uniform(), 5 * Uniform()};
        job.init_batch_size = 128;
        job.batch = {4096, 32, 512, Pick({0, 1}) == 1};
      }
      std::vector<std::string> base;
      for (std::int64_t left = Pick({0, 0, 1, 2, 3}); left > 0; --left)
        base.push_back("node-" + std::to_string(Pick({0, 1})));
      if (!base.empty()) snapshot.base_allocations["job-" + std::to_string(j)] = base;
    }
  }

  // The highest value of all states.
  static double Best(const Problem& problem, Values& values) {
    State state(problem, values);
    return Best(problem, state, 0);
  }

  Snapshot snapshot;

 private:
  static double Best(const Problem& problem, State& state, std::size_t job) {
    if (job == problem.jobs().size()) return state.value();
    double best = Best(problem, state, job + 1);
    if (problem.jobs()[job].pinned) return best;
    for (int first = 0; first <= kGpus; ++first) {
      for (int second = 0; second <= kGpus; ++second) {
        Slots slots;
        if (first > 0) slots.push_back({0, first});
        if (second > 0) slots.push_back({1, second});
        if (slots.empty() || problem.jobs()[job].max == 0 || !state.Fits(job, slots)) continue;
        state.Place(job, slots);
        best = std::max(best, Best(problem, state, job + 1));
        state.Remove(job);
      }
    }
    return best;
  }

  double Uniform() { return static_cast<double>(rng_() >> 11) * 0x1p-53; }
  std::int64_t Pick(const std::vector<std::int64_t>& from) { return from[rng_() % from.size()]; }

  Rng rng_;
};

TEST(SearchTest, FindsTheBestOfTinyProblems) {
  constexpr int kCases = 200;
  for (const Objective objective : {Objective::kRelease, Objective::kPaper, Objective::kCompletion}) {
    int optimal = 0;
    for (int i = 0; i < kCases; ++i) {
      SCOPED_TRACE(std::string(ToString(objective)) + ", case " + std::to_string(i));
      const Tiny tiny(static_cast<std::uint64_t>(i));
      const Problem problem(tiny.snapshot);
      Values values(problem, {.objective = objective});
      const double best = Tiny::Best(problem, values);
      const double tolerance = 1e-9 * std::max(1.0, std::abs(best));
      Rng rng(1);
      const SearchResult found = Search(problem, values, 1, rng);
      EXPECT_LE(found.state.value(), best + tolerance);
      EXPECT_LE(best, found.bound + tolerance);
      if (found.state.value() >= best - tolerance) ++optimal;
    }
    EXPECT_GE(optimal, kCases * 95 / 100) << ToString(objective);
    RecordProperty(std::string(ToString(objective)), optimal);
  }
}

// Without accumulation, fewer replicas than it takes for the initial batch size are worth nothing.
TEST(SearchTest, FindsTheOnlySizesThatReachTheInitialBatchSize) {
  for (const int fewest : {2, 12, 24, 31, 64}) {
    Snapshot snapshot;
    for (int n = 0; n < 16; ++n) snapshot.nodes["node-" + std::to_string(n)] = {{{"gpu", 4}}, false};
    SnapshotJob& job = snapshot.jobs["job"];
    job.resources = {{"gpu", 1}};
    job.perf_params = PerfParams{0.1, 0.01, 0.01, 0.001, 0.01, 0.001, 1.5};
    job.grad_params = GradParams{1, 1};
    job.init_batch_size = 4 * fewest;
    job.batch = {.max_batch_size = 4096, .max_local_bsz = 4};
    for (const Objective objective : {Objective::kRelease, Objective::kPaper, Objective::kCompletion}) {
      SCOPED_TRACE(std::to_string(fewest) + ", " + std::string(ToString(objective)));
      Rng rng(1);
      const Proposal proposal =
          MakePolicy("genetic", {.objective = objective}).value()->Propose(snapshot, rng);
      EXPECT_GE(proposal.allocation.at("job").size(), static_cast<std::size_t>(fewest));
    }
  }
}

}  // namespace
}  // namespace adaptdl
