#include "scheduler/policy/cluster_size.h"

#include <gtest/gtest.h>

#include "scheduler/policy/clusters.h"

namespace adaptdl {
namespace {

double Utility(const Snapshot& snapshot, const std::vector<Slots>& placed) {
  const Problem problem(snapshot);
  Values values(problem, {});
  State state(problem, values);
  for (std::size_t j = 0; j < placed.size(); ++j) state.Place(j, placed[j]);
  return ClusterUtility(problem, values, state);
}

TEST(ClusterSizeTest, UtilityIsTheSpeedupForEachUnitOfTheBestUsedResource) {
  Snapshot snapshot = Cluster({4, 4, 4});
  AddJob(snapshot, "a");
  AddJob(snapshot, "b");
  EXPECT_EQ(Utility(snapshot, {}), 0);
  EXPECT_DOUBLE_EQ(Utility(snapshot, {{{0, 2}}}), 0.5);  // Idle nodes do not count.
  EXPECT_DOUBLE_EQ(Utility(snapshot, {{{0, 1}, {1, 1}}}), 0.25);
  EXPECT_DOUBLE_EQ(Utility(snapshot, {{{0, 4}}, {{1, 4}}}), 1);
  SetScaling(snapshot.jobs["a"], 1);  // On several nodes half as fast.
  EXPECT_NEAR(Utility(snapshot, {{{0, 4}, {1, 4}}}), 0.5, 1e-6);
  snapshot.jobs["b"].resources["pods"] = 1;
  for (auto& [name, node] : snapshot.nodes) node.resources["pods"] = 2;
  EXPECT_NEAR(Utility(snapshot, {{}, {{0, 2}}}), 1, 1e-6);
}

// So many nodes of 4 GPUs and as many jobs, of up to so many replicas.
Snapshot Loaded(int nodes, int jobs, std::int64_t most) {
  Snapshot snapshot = Cluster(std::vector<std::int64_t>(static_cast<std::size_t>(nodes), 4));
  snapshot.node_template = SnapshotNode{{{"gpu", 4}}, false};
  for (int j = 0; j < jobs; ++j) AddJob(snapshot, "job-" + std::to_string(j), most);
  return snapshot;
}

TEST(ClusterSizeTest, GrowsWhereManyThatScaleWait) {
  for (const int nodes : {1, 2, 3, 4}) {
    const Snapshot snapshot = Loaded(nodes, 40, 4);
    EXPECT_EQ(Propose("genetic", snapshot, {.min_nodes = 1, .max_nodes = 20}).desired_nodes, 2 * nodes);
    EXPECT_EQ(Propose("genetic", snapshot, {.min_nodes = 1, .max_nodes = nodes + 1}).desired_nodes,
              nodes + 1);
  }
  // Up to twice its size, and from nothing to one.
  EXPECT_EQ(Propose("genetic", Loaded(0, 3, 4), {.max_nodes = 20}).desired_nodes, 1);
}

TEST(ClusterSizeTest, ShrinksForOneSmallJob) {
  for (const int nodes : {2, 4, 9}) {
    const Snapshot snapshot = Loaded(nodes, 1, 1);
    EXPECT_EQ(Propose("genetic", snapshot, {.max_nodes = 20}).desired_nodes, 1);
    EXPECT_EQ(Propose("genetic", snapshot, {.min_nodes = 2, .max_nodes = 20}).desired_nodes, 2);
  }
  EXPECT_EQ(Propose("genetic", Loaded(4, 0, 1), {.max_nodes = 20}).desired_nodes, 0);
  EXPECT_EQ(Propose("genetic", Loaded(4, 0, 1), {.min_nodes = 3, .max_nodes = 20}).desired_nodes, 3);
}

TEST(ClusterSizeTest, FreesTheNodesThatGo) {
  Snapshot snapshot = Loaded(4, 1, 2);
  snapshot.base_allocations["job-0"] = {"node-1", "node-2"};
  const Proposal proposal = Propose("genetic", snapshot, {.min_nodes = 1, .max_nodes = 20});
  EXPECT_EQ(proposal.desired_nodes, 1);
  const std::vector<std::string>& nodes = proposal.allocation.at("job-0");
  ASSERT_EQ(nodes.size(), 2);
  EXPECT_EQ(nodes[0], nodes[1]);
}

TEST(ClusterSizeTest, StaysWhereTheUseIsMiddling) {
  const Snapshot snapshot = Loaded(4, 4, 2);
  Rng rng(1);
  for (const double utility : {0.35, 0.5, 0.65}) {
    EXPECT_EQ(DesiredNodes(snapshot, {.max_nodes = 20}, utility, rng), 4);
    EXPECT_EQ(DesiredNodes(snapshot, {.max_nodes = 3}, utility, rng), 3);
    EXPECT_EQ(DesiredNodes(snapshot, {.min_nodes = 5, .max_nodes = 20}, utility, rng), 5);
  }
}

TEST(ClusterSizeTest, KeepsItsSizeWithoutAMost) {
  for (const int jobs : {0, 1, 40})
    EXPECT_EQ(Propose("genetic", Loaded(3, jobs, 4)).desired_nodes, 3) << jobs;
}

TEST(ClusterSizeTest, WithoutATemplateItOnlyShrinks) {
  Snapshot snapshot = Loaded(3, 40, 4);
  snapshot.node_template.reset();
  EXPECT_EQ(Propose("genetic", snapshot, {.max_nodes = 20}).desired_nodes, 3);
}

}  // namespace
}  // namespace adaptdl
