// What every policy promises for every snapshot.
#include "scheduler/policy/feasible.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "scheduler/policy/generators.h"

namespace adaptdl {
namespace {

using generate::Below;
using generate::OneIn;
using generate::OneOf;

Proposal Propose(std::string_view policy, const PolicyOptions& options, const Snapshot& snapshot,
                 std::uint64_t seed) {
  Rng rng(seed);
  return MakePolicy(policy, options).value()->Propose(snapshot, rng);
}

void CheckProposal(std::string_view policy, const PolicyOptions& options, const Snapshot& snapshot) {
  const Proposal proposal = Propose(policy, options, snapshot, 7);
  RC_LOG() << policy << ", " << ToString(options.objective) << "\n";
  RC_ASSERT(BrokenRule(snapshot, proposal) == "");
  if (policy == "genetic" && options.max_nodes > 0) {
    RC_ASSERT(proposal.desired_nodes >= std::min(options.min_nodes, options.max_nodes));
    RC_ASSERT(proposal.desired_nodes <= options.max_nodes);
  } else {
    RC_ASSERT(proposal.desired_nodes == static_cast<std::int64_t>(snapshot.nodes.size()));
  }
  const Proposal again = Propose(policy, options, snapshot, 7);
  RC_ASSERT(again.allocation == proposal.allocation);
  RC_ASSERT(again.reasons == proposal.reasons);
  RC_ASSERT(again.objective == proposal.objective);
  RC_ASSERT(again.desired_nodes == proposal.desired_nodes);
}

PolicyOptions SomeOptions() {
  return {.objective = OneOf<Objective>({Objective::kCompletion, Objective::kRelease, Objective::kPaper}),
          .effort = OneOf<double>({0, 0.05, 0.2, 0.2, 0.5}),
          .use_remaining = generate::Flag(),
          .use_attained = generate::Flag(),
          .use_restart_cost = generate::Flag()};
}

RC_GTEST_PROP(FeasibleTest, GeneticWithACertainSize, ()) {
  const Snapshot snapshot = generate::SomeSnapshot();
  CheckProposal("genetic", SomeOptions(), snapshot);
}

RC_GTEST_PROP(FeasibleTest, GeneticThatChoosesTheSize, ()) {
  const Snapshot snapshot = generate::SomeSnapshot();
  PolicyOptions options = SomeOptions();
  options.effort = std::min(options.effort, 0.1);
  options.max_nodes = OneOf<int>({1, 2, 4, 8, 30});
  options.min_nodes = OneOf<int>({0, 0, 1, 2, 8, 9});
  CheckProposal("genetic", options, snapshot);
}

RC_GTEST_PROP(FeasibleTest, Baselines, ()) {
  const Snapshot snapshot = generate::SomeSnapshot();
  for (const std::string_view name : kPolicyNames) {
    if (name != "genetic") CheckProposal(name, {}, snapshot);
  }
}

// More jobs of one GPU than GPUs, nothing running.
RC_GTEST_PROP(FeasibleTest, AColdStartUsesEveryGpu, ()) {
  Snapshot snapshot;
  int gpus = 0;
  for (int i = 0, nodes = 1 + Below(6); i < nodes; ++i) {
    const int here = OneOf<int>({1, 2, 4, 8});
    snapshot.nodes["node-" + std::to_string(i)] = {{{"nvidia.com/gpu", here}, {"pods", 32}}, false};
    gpus += here;
  }
  if (generate::Flag()) snapshot.node_template = snapshot.nodes.begin()->second;
  for (int i = 0, jobs = gpus + 1 + Below(6); i < jobs; ++i) {
    SnapshotJob& job = snapshot.jobs["job-" + std::to_string(i)];
    job.resources = {{"nvidia.com/gpu", 1}, {"pods", 1}};
    job.min_replicas = Below(2);
    if (generate::Flag()) job.max_replicas = OneOf<int>({1, 2, 8, 64});
    if (generate::Flag()) job.age = OneOf<double>({0, 10, 1000, 1e6});
    if (generate::Flag()) continue;
    job.perf_params = generate::SensiblePerf();
    job.grad_params = GradParams{0.1, 4};
    job.init_batch_size = 128;
    job.batch = {4096, 32, 1024, true};
    if (generate::Flag()) job.total_progress = OneOf<double>({1, 1000, 1e6});
  }
  PolicyOptions options;
  options.effort = OneOf<double>({0, 0.1});
  for (const std::string_view name : kObjectiveNames) {
    options.objective = ParseObjective(name).value();
    const Proposal proposal = Propose("genetic", options, snapshot, 1);
    RC_ASSERT(BrokenRule(snapshot, proposal) == "");
    std::size_t used = 0;
    for (const auto& [job, nodes] : proposal.allocation) used += nodes.size();
    RC_LOG() << name << "\n";
    RC_ASSERT(used == static_cast<std::size_t>(gpus));
  }
}

}  // namespace
}  // namespace adaptdl
