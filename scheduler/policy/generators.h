// Random snapshots for property tests: what clusters look like, and whatever else the format lets through.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "api/generators.h"
#include "scheduler/policy/policy.h"

namespace adaptdl::generate {

// Uniform, however early in the run.
inline int Below(int bound) { return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(0, bound)); }
inline bool OneIn(int n) { return Below(n) == n - 1; }

template <typename T>
T OneOf(const std::vector<T>& choices) {
  return choices[static_cast<std::size_t>(Below(static_cast<int>(choices.size())))];
}

inline double WildNumber() {
  return OneIn(3) ? Positive()
                  : OneOf<double>({0, 5e-324, 1e-300, 1e-8, 1e-3, 1, 30, 1e4, 1e12, 1e300,
                                   std::numeric_limits<double>::max()});
}

inline std::int64_t WildAmount() {
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  return OneOf<std::int64_t>(
      {0, 0, 1, 2, 3, 7, 1000, kLarge / 3, kLarge / 2, kLarge - 1, kLarge, kLarge + 1, INT64_MAX});
}

inline std::string AnyName(const std::string& usual) {
  if (!OneIn(20)) return usual;
  return OneOf<std::string>({"", "\n", "a\x01\x1b[31mb\x7f", std::string("\0x", 2), std::string(3000, 'x'),
                             "ä€𝄞", "\xe2\x80\xae right to left", "\"\\"}) +
         (OneIn(2) ? usual : "");
}

// Like jobs that have been fitted.
inline PerfParams SensiblePerf() {
  const auto between = [](double low, double high) { return low + (high - low) * Below(1001) / 1000; };
  const double alpha_r = between(0, 0.1);
  const double beta_r = between(0, 0.01);
  return {between(0.01, 0.5),
          between(1e-4, 0.05),
          alpha_r + between(0, 0.5),
          beta_r + between(0, 0.05),
          alpha_r,
          beta_r,
          between(1, 4)};
}

struct Types {
  std::vector<std::string> names;
  bool tame = false;  // Most jobs fit somewhere.
  bool wild = false;  // Amounts as large as they go.
};

inline Types SomeTypes() {
  Types types;
  const int count = OneOf<int>({1, 1, 2, 2, 3, 10});
  const std::vector<std::string> usual = {
      "nvidia.com/gpu", "pods", "cpu", "memory", "e", "f", "g", "h", "i", "j"};
  for (int i = 0; i < count; ++i) types.names.push_back(AnyName(usual[static_cast<std::size_t>(i)]));
  types.tame = OneIn(2);
  types.wild = !types.tame && OneIn(2);
  return types;
}

inline Resources NodeResources(const Types& types) {
  Resources resources;
  for (const std::string& type : types.names) {
    if (types.tame) {
      resources[type] = OneOf<std::int64_t>({2, 4, 4, 8, 32});
      continue;
    }
    if (OneIn(12)) continue;
    resources[type] = types.wild && OneIn(2) ? WildAmount() : OneOf<std::int64_t>({0, 1, 2, 4, 4, 4, 8, 32});
  }
  return resources;
}

inline Resources ReplicaResources(const Types& types) {
  Resources resources;
  for (const std::string& type : types.names) {
    if (!resources.empty() && OneIn(3)) continue;
    resources[type] = types.wild && OneIn(3) ? WildAmount() : OneOf<std::int64_t>({0, 1, 1, 1, 1, 1, 2, 3});
  }
  if (OneIn(30)) resources["nowhere\x07"] = 1;
  return resources;
}

inline SnapshotJob SomeJob(const Types& types) {
  SnapshotJob job;
  job.resources = ReplicaResources(types);
  const int kind = Below(4);
  if (kind == 1) {  // With limits like those of a real one.
    job.perf_params = SensiblePerf();
    job.grad_params =
        GradParams{OneOf<double>({0, 1e-9, 1e-3, 1, 1e14}), OneOf<double>({0, 1e-6, 1, 4, 1e15})};
    job.init_batch_size = OneOf<std::int64_t>({1, 12, 20, 128});
    job.batch = {job.init_batch_size * OneOf<int>({1, 8, 32}),
                 std::max<std::int64_t>(job.init_batch_size / 4, 1), job.init_batch_size * 4, Flag()};
  } else if (kind > 1) {
    const Bounds batch = Ordered(Size);
    const Bounds local = Ordered(Size);
    job.init_batch_size = batch.min.value_or(1);
    job.batch = {batch.max, local.min, local.max, Flag()};
    // One replica cannot reach the initial size, or no number of them can.
    if (OneIn(3))
      job.batch = {std::nullopt, std::nullopt,
                   std::max<std::int64_t>(job.init_batch_size / OneOf<int>({2, 3, 100}), 1), false};
    job.perf_params = PerfParams{WildNumber(),
                                 WildNumber(),
                                 WildNumber(),
                                 WildNumber(),
                                 WildNumber(),
                                 WildNumber(),
                                 1 + 9.0 * Below(11) / 10};
    if (OneIn(2)) job.perf_params = SensiblePerf();
    if (!OneIn(4)) job.grad_params = GradParams{WildNumber(), WildNumber()};
  }
  job.min_replicas =
      OneOf<std::int64_t>({0, 0, 0, 1, 1, 1, 2, 3, types.tame ? 4 : 8, types.tame ? 0 : kMaxSize});
  if (!OneIn(4)) {
    const std::int64_t most = OneOf<std::int64_t>({types.tame ? 16 : 0, 1, 2, 4, 8, 32, kMaxSize});
    job.max_replicas = OneIn(4) ? job.min_replicas : std::max(job.min_replicas, most);
  }
  job.creation_timestamp = Time(std::chrono::seconds(Below(4)));
  job.preemptible = !OneIn(4);
  job.attained_service = Maybe(WildNumber);
  job.age = Maybe(WildNumber);
  if (OneIn(2)) job.restarts = OneOf<std::int64_t>({0, 1, 5, INT64_MAX});
  job.progress = Maybe(WildNumber);
  job.total_progress = Maybe(WildNumber);
  job.restart_seconds = Maybe(WildNumber);
  return job;
}

// Whatever the format allows, mostly small.
inline Snapshot SomeSnapshot() {
  const Types types = SomeTypes();
  const bool large = OneIn(16);
  const int jobs = Below(large ? 40 : 9);
  const int nodes = Below(large ? 20 : 7);
  Snapshot out;
  std::vector<std::string> places = {"gone", "gone too"};
  for (int i = 0; i < nodes; ++i) {
    const std::string name = AnyName("node-" + std::to_string(i));
    out.nodes[name] = {NodeResources(types), Flag()};
    places.push_back(name);
  }
  for (int i = 0; i < jobs; ++i) out.jobs[AnyName("job-" + std::to_string(i))] = SomeJob(types);
  if (OneIn(2)) out.node_template = SnapshotNode{NodeResources(types), Flag()};
  if (OneIn(3)) {
    // Where somebody has placed them, and then nodes shrank, went and came.
    Rng rng(1);
    out.base_allocations = MakePolicy(OneOf<std::string>({"genetic", "tiresias", "static"}), {.effort = 0.1})
                               .value()
                               ->Propose(out, rng)
                               .allocation;
    for (auto& [name, node] : out.nodes) {
      if (OneIn(6)) node.resources = NodeResources(types);
    }
    if (OneIn(4) && !out.nodes.empty()) out.nodes.erase(out.nodes.begin());
    if (OneIn(4)) out.nodes["new"] = {NodeResources(types), false};
  } else {
    for (const auto& [name, job] : out.jobs) {
      if (OneIn(2)) continue;
      std::vector<std::string>& base = out.base_allocations[name];
      const std::string usual = OneOf(places);
      for (int left = Below(5); left > 0; --left) base.push_back(OneIn(2) ? usual : OneOf(places));
    }
  }
  if (OneIn(4)) out.base_allocations["ended"] = {OneOf(places), OneOf(places)};
  return out;
}

}  // namespace adaptdl::generate
