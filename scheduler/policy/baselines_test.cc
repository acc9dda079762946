#include "scheduler/policy/baselines.h"

#include <gtest/gtest.h>

#include "scheduler/policy/clusters.h"

namespace adaptdl {
namespace {

using Nodes = std::vector<std::string>;

Nodes On(const std::string& node, std::size_t count) { return Nodes(count, node); }

TEST(TiresiasTest, AJobFallsToTheSecondQueueAfter16GpuHours) {
  for (const auto& [attained, winner] :
       std::vector<std::pair<double, std::string>>{{16 * 3600 - 1, "old"}, {16 * 3600, "young"}}) {
    Snapshot snapshot = Cluster({4});
    AddJob(snapshot, "old", 4).attained_service = attained;
    AddJob(snapshot, "young", 4);
    Proposal proposal = Propose("tiresias", snapshot);
    EXPECT_EQ(proposal.allocation[winner], On("node-0", 4)) << attained;
    EXPECT_EQ(proposal.allocation["old"].size() + proposal.allocation["young"].size(), 4) << attained;
  }
}

TEST(TiresiasTest, WhoRunsStopsForTheFirstQueue) {
  Snapshot snapshot = Cluster({4});
  AddJob(snapshot, "old", 4, On("node-0", 4)).attained_service = 1e6;
  AddJob(snapshot, "young", 4);
  EXPECT_EQ(Propose("tiresias", snapshot).allocation, (Allocation{{"old", {}}, {"young", On("node-0", 4)}}));
}

TEST(TiresiasTest, AJobGetsAllThatItAsksForOrNothingAndASmallerOneMayPass) {
  Snapshot snapshot = Cluster({4});
  AddJob(snapshot, "a", 3);
  AddJob(snapshot, "b", 2);
  AddJob(snapshot, "c", 1);
  AddJob(snapshot, "d");  // Without a most it asks for its least.
  EXPECT_EQ(Propose("tiresias", snapshot).allocation,
            (Allocation{{"a", On("node-0", 3)}, {"b", {}}, {"c", On("node-0", 1)}, {"d", {}}}));
}

TEST(TiresiasTest, WhoRunsKeepsItsPlace) {
  Snapshot snapshot = Cluster({2, 2});
  AddJob(snapshot, "a", 2);
  AddJob(snapshot, "b", 2, On("node-0", 2));
  EXPECT_EQ(Propose("tiresias", snapshot).allocation,
            (Allocation{{"a", On("node-1", 2)}, {"b", On("node-0", 2)}}));
}

TEST(TiresiasTest, TakesTheNodesWithMostFreeFirst) {
  Snapshot snapshot = Cluster({1, 2, 4});
  AddJob(snapshot, "a", 5);
  EXPECT_EQ(Propose("tiresias", snapshot).allocation["a"],
            (Nodes{"node-1", "node-2", "node-2", "node-2", "node-2"}));
  snapshot.jobs["a"].max_replicas = 3;
  EXPECT_EQ(Propose("tiresias", snapshot).allocation["a"], On("node-2", 3));
}

TEST(TiresiasTest, OnlyOneThatSpansOnANodeUnlessNetworksAreShared) {
  Snapshot snapshot = Cluster({4, 4, 4});
  AddJob(snapshot, "a", 6);
  AddJob(snapshot, "b", 6);
  EXPECT_EQ(Propose("tiresias", snapshot).allocation["a"].size(), 6);
  EXPECT_EQ(Propose("tiresias", snapshot).allocation["b"].size(), 0);
  EXPECT_EQ(Propose("tiresias", snapshot, {.share_networks = true}).allocation["b"].size(), 6);
}

TEST(FifoTest, NobodyPasses) {
  Snapshot snapshot = Cluster({4});
  AddJob(snapshot, "z-first", 3);
  AddJob(snapshot, "b", 2);
  AddJob(snapshot, "c", 1);
  EXPECT_EQ(Propose("fifo", snapshot).allocation,
            (Allocation{{"z-first", On("node-0", 3)}, {"b", {}}, {"c", {}}}));
}

TEST(FifoTest, WhoRunsIsNotStopped) {
  Snapshot snapshot = Cluster({4});
  AddJob(snapshot, "a", 2);
  AddJob(snapshot, "b", 3, On("node-0", 3)).attained_service = 1e9;
  EXPECT_EQ(Propose("fifo", snapshot).allocation, (Allocation{{"a", {}}, {"b", On("node-0", 3)}}));
}

TEST(StaticTest, EachGetsAnEqualShareAndKeepsIt) {
  Snapshot snapshot = Cluster({8});
  AddJob(snapshot, "a");
  AddJob(snapshot, "b", 2);
  EXPECT_EQ(Propose("static", snapshot).allocation,
            (Allocation{{"a", On("node-0", 4)}, {"b", On("node-0", 2)}}));
  snapshot.base_allocations["a"] = On("node-0", 6);
  snapshot.base_allocations["b"] = On("node-0", 1);
  AddJob(snapshot, "c");
  // A third of 8 for whoever starts now, or what is there.
  EXPECT_EQ(Propose("static", snapshot).allocation,
            (Allocation{{"a", On("node-0", 6)}, {"b", On("node-0", 1)}, {"c", On("node-0", 1)}}));
}

TEST(OptimusTest, GivesReplicasToWhomTheyHelpMost) {
  Snapshot snapshot = Cluster({5});
  AddJob(snapshot, "a");
  AddJob(snapshot, "b");
  struct Case {
    double a, b;  // Seconds on one replica; so many replicas share them.
    std::size_t replicas_a, replicas_b;
  };
  for (const auto& [a, b, replicas_a, replicas_b] : std::vector<Case>{
           {1000, 10, 4, 1},
           {10, 1000, 1, 4},
           {1000, 1000, 3, 2},  // Of equals the first.
           {1000, 400, 3, 2},   // 500, then 200 (the first more: 167), then 167.
       }) {
    const PolicyOptions options = {
        .remaining_time = [a = a, b = b](const std::string& job, std::int64_t replicas) {
          return (job == "a" ? a : b) / static_cast<double>(replicas);
        }};
    Proposal proposal = Propose("optimus", snapshot, options);
    EXPECT_EQ(proposal.allocation["a"].size(), replicas_a) << a << " " << b;
    EXPECT_EQ(proposal.allocation["b"].size(), replicas_b) << a << " " << b;
  }
}

TEST(OptimusTest, StopsWhereMoreDoNotHelp) {
  Snapshot snapshot = Cluster({8});
  AddJob(snapshot, "a");
  const PolicyOptions options = {.remaining_time = [](const std::string&, std::int64_t replicas) {
    return std::abs(static_cast<double>(replicas) - 3);
  }};
  EXPECT_EQ(Propose("optimus", snapshot, options).allocation["a"].size(), 3);
}

TEST(OptimusTest, TakesTheModelWhereThereIsNoOracle) {
  Snapshot snapshot = Cluster({4});
  AddJob(snapshot, "a").total_progress = 10;
  AddJob(snapshot, "b").total_progress = 1000;
  Proposal proposal = Propose("optimus", snapshot);
  EXPECT_EQ(proposal.allocation["a"].size(), 1);
  EXPECT_EQ(proposal.allocation["b"].size(), 3);
}

TEST(BaselinesTest, KeepWhatMustNotBeMoved) {
  Snapshot snapshot = Cluster({4});
  AddJob(snapshot, "pinned", 1, {"node-0", "gone", "node-0"}).preemptible = false;
  AddJob(snapshot, "a", 3);
  AddJob(snapshot, "b", 2);
  for (const char* policy : {"tiresias", "optimus", "static", "fifo"}) {
    Proposal proposal = Propose(policy, snapshot);
    EXPECT_EQ(proposal.allocation["pinned"], (Nodes{"node-0", "gone", "node-0"})) << policy;
    EXPECT_LE(proposal.allocation["a"].size() + proposal.allocation["b"].size(), 2) << policy;
  }
}

TEST(PolicyTest, SaysWhichNamesThereAre) {
  EXPECT_EQ(MakePolicy("b\nst", {}).error().message,
            "b\\x0ast: no such policy; there is genetic, tiresias, optimus, fifo, static");
  EXPECT_EQ(ParseObjective("fame").error().message,
            "fame: no such objective; there is completion, release, paper");
  for (const std::string_view name : kObjectiveNames) EXPECT_EQ(ToString(ParseObjective(name).value()), name);
}

}  // namespace
}  // namespace adaptdl
