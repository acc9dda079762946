// Speed of the goodput library, as CPU time. ./dev bench runs it; docs/benchmarks.md keeps the table.
#include <algorithm>
#include <ctime>
#include <vector>

#include "benchmark/benchmark.h"
#include "goodput/fit.h"
#include "goodput/model.h"
#include "goodput/speedup.h"
#include "tests/bench/problems.h"
#include "tests/golden/golden.h"

namespace adaptdl {
namespace {

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Every golden problem (1 to 60 observations) once in an iteration; the counters are over single fits.
void BM_FitGolden(benchmark::State& state) {
  const auto problems = GoldenProblems();
  std::vector<double> seconds;
  for (auto _ : state) {
    for (const auto& problem : problems) {
      const double start = CpuSeconds();
      benchmark::DoNotOptimize(FitPerfParams(problem));
      seconds.push_back(CpuSeconds() - start);
    }
  }
  std::sort(seconds.begin(), seconds.end());
  state.counters["median_ms"] = 1e3 * seconds[seconds.size() / 2];
  state.counters["p95_ms"] = 1e3 * seconds[seconds.size() * 95 / 100];
  state.counters["worst_ms"] = 1e3 * seconds.back();
}
BENCHMARK(BM_FitGolden)->Unit(benchmark::kMillisecond);

void BM_FitObservations(benchmark::State& state) {
  std::vector<Observation> observations;
  for (const auto& problem : SyntheticProblems(1000, 1)) {
    observations.insert(observations.end(), problem.begin(), problem.end());
    if (observations.size() >= static_cast<std::size_t>(state.range(0))) break;
  }
  observations.resize(static_cast<std::size_t>(state.range(0)), observations.front());
  for (auto _ : state) benchmark::DoNotOptimize(FitPerfParams(observations));
}
BENCHMARK(BM_FitObservations)->Arg(10)->Arg(60)->Arg(1000)->Arg(10000)->Unit(benchmark::kMillisecond);

struct Query {
  GoodputModel model;
  Placement at;
  BatchLimits limits;
};

std::vector<Query> GoldenQueries() {
  std::vector<Query> queries;
  for (const auto& entry : LoadGolden("goodput.json")) {
    const auto& args = entry["args"];
    if (entry["op"] != "optimize" || entry.contains("error") || args["num_replicas"].is_array()) continue;
    const GradParams grad{entry["grad_params"][0], entry["grad_params"][1]};
    queries.push_back(
        {GoodputModel::Create(GoldenPerf(entry["perf_params"]), grad, entry["init_batch_size"]).value(),
         {args["num_nodes"], args["num_replicas"]},
         GoldenLimits(args)});
  }
  return queries;
}

// One iteration is one query; the golden ones in turn.
void BM_BestConfiguration(benchmark::State& state) {
  const auto queries = GoldenQueries();
  std::size_t next = 0;
  for (auto _ : state) {
    const Query& query = queries[next++ % queries.size()];
    benchmark::DoNotOptimize(query.model.Best(query.at, query.limits));
  }
}
BENCHMARK(BM_BestConfiguration)->Unit(benchmark::kMicrosecond);

// 64 nodes x 256 replicas for one job.
void BM_SpeedupTable(benchmark::State& state) {
  const auto model =
      GoodputModel::Create({0.121, 0.00568, 0.0236, 0.00634, 0.0118, 0.00317, 1.14}, {0.00136, 0.000502}, 128)
          .value();
  const BatchLimits limits{
      .max_batch_size = 4096, .min_local_bsz = 8, .max_local_bsz = 256, .gradient_accumulation = true};
  for (auto _ : state) benchmark::DoNotOptimize(SpeedupTable::Build(model, limits, 256));
}
BENCHMARK(BM_SpeedupTable)->Unit(benchmark::kMillisecond);

void BM_SpeedupLookUp(benchmark::State& state) {
  const auto table = SpeedupTable::Linear(256);
  std::int64_t replicas = 1;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table(1 + (replicas & 1), replicas));
    replicas = replicas % 255 + 2;
  }
}
BENCHMARK(BM_SpeedupLookUp);

}  // namespace
}  // namespace adaptdl
