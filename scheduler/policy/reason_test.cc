#include <gtest/gtest.h>

#include "scheduler/policy/clusters.h"
#include "scheduler/policy/outcome.h"

namespace adaptdl {
namespace {

// The reason of "a" where it and others are placed as given.
std::string Reason(const Snapshot& snapshot, const std::map<std::string, Slots>& placed) {
  const Problem problem(snapshot);
  Values values(problem, {});
  State state(problem, values);
  for (std::size_t j = 0; j < problem.jobs().size(); ++j) {
    const auto slots = placed.find(*problem.jobs()[j].name);
    if (slots == placed.end()) continue;
    EXPECT_TRUE(state.Fits(j, slots->second)) << slots->first;
    state.Place(j, slots->second);
  }
  return MakeProposal(problem, values, state, problem.nodes()).reasons.at("a");
}

TEST(ReasonTest, SaysWhatChanges) {
  struct Case {
    std::vector<std::string> base;
    Slots slots;
    const char* reason;
  };
  const Case cases[] = {
      {{}, {{0, 1}}, "starts with 1 replica on 1 node"},
      {{}, {{0, 2}}, "starts with 2 replicas on 1 node: 2.0 times the goodput of one"},
      {{}, {{0, 1}, {1, 2}}, "starts with 3 replicas on 2 nodes: 3.0 times the goodput of one"},
      {{"gone"}, {{0, 1}}, "starts with 1 replica on 1 node"},
      {{"node-0"}, {{0, 2}}, "grows from 1 to 2: +100 % goodput"},
      {{"node-0", "node-0", "node-0", "node-0"}, {{0, 3}}, "shrinks from 4 to 3: -25 % goodput"},
      {{"node-0", "node-0"}, {{1, 2}}, "moves its 2 replicas to 1 node: +0 % goodput"},
      {{"node-0", "node-0"}, {{0, 2}}, "keeps its 2 replicas"},
      {{},
       {{0, 4}, {1, 4}},
       "starts with 8 replicas on 2 nodes: 8.0 times the goodput of one; has all that it can use here"},
  };
  for (const auto& [base, slots, reason] : cases) {
    Snapshot snapshot = Cluster({4, 4});
    AddJob(snapshot, "a", std::nullopt, base);
    EXPECT_EQ(Reason(snapshot, {{"a", slots}}), reason);
  }
}

TEST(ReasonTest, SaysWhatKeepsAJobFromMore) {
  Snapshot snapshot = Cluster({4, 4});
  AddJob(snapshot, "a", 2, {"node-0"});
  EXPECT_EQ(Reason(snapshot, {{"a", {{0, 2}}}}),
            "grows from 1 to 2: +100 % goodput; at its most replicas for now");
  EXPECT_EQ(Reason(snapshot, {{"a", {{0, 1}}}}), "keeps its 1 replica");
  snapshot.jobs["a"].max_replicas = 8;
  SetScaling(snapshot.jobs["a"], 100);
  snapshot.base_allocations["a"] = {"node-0", "node-0", "node-0", "node-0"};
  EXPECT_EQ(Reason(snapshot, {{"a", {{0, 4}}}}),
            "keeps its 4 replicas; limited by network on more than one node");
  // More replicas share the same batch, and a step takes as long.
  snapshot.jobs["a"].init_batch_size = 120;
  snapshot.jobs["a"].batch = {};
  EXPECT_EQ(Reason(snapshot, {{"a", {{0, 2}}}}),
            "shrinks from 4 to 2: +0 % goodput; more replicas would add little");
}

TEST(ReasonTest, SaysWhyAJobWaits) {
  Snapshot snapshot = Cluster({4, 4});
  AddJob(snapshot, "a").min_replicas = 4;
  AddJob(snapshot, "b");
  AddJob(snapshot, "c");
  EXPECT_EQ(Reason(snapshot, {{"b", {{0, 3}}}, {"c", {{1, 3}}}}),
            "waits: needs 4 replicas on one node, largest gap is 1");
  EXPECT_EQ(Reason(snapshot, {{"b", {{0, 4}}}, {"c", {{1, 4}}}}),
            "waits: the cluster is full, others make more of it");
  EXPECT_EQ(Reason(snapshot, {{"b", {{0, 4}}}}), "waits: others make more of what is free");
  snapshot.jobs["a"].min_replicas = 6;
  EXPECT_EQ(Reason(snapshot, {{"b", {{0, 4}}}}), "waits: needs 6 replicas, largest gap is 4");
  snapshot.base_allocations["a"] = {"node-0"};
  EXPECT_EQ(Reason(snapshot, {{"b", {{0, 4}}}}), "stops: needs 6 replicas, largest gap is 4");
}

TEST(ReasonTest, SaysWhyAJobCanNeverRun) {
  struct Case {
    Resources resources;
    std::int64_t min;
    std::optional<std::int64_t> max;
    const char* reason;
  };
  const Case cases[] = {
      {{{"gpu", 5}}, 0, {}, "waits: no node has 5 of gpu"},
      {{{"gpu", 1}, {"t\npu", 1}}, 0, {}, "waits: no node has 1 of t\\x0apu"},
      {{{"gpu", 1}}, 9, {}, "waits: needs at least 9 replicas, more than the cluster can hold"},
      {{{"gpu", 1}}, 1'000'000, {}, "waits: needs at least 1000000 replicas, more than the cluster can hold"},
      {{{"gpu", 3}}, 3, 4, "waits: needs at least 3 replicas, more than the cluster can hold"},
      {{{"gpu", 1}}, 0, 0, "waits: its most replicas are 0"},
  };
  for (const auto& [resources, min, max, reason] : cases) {
    Snapshot snapshot = Cluster({4, 4});
    SnapshotJob& job = AddJob(snapshot, "a", max);
    job.resources = resources;
    job.min_replicas = min;
    EXPECT_EQ(Reason(snapshot, {}), reason);
  }
}

TEST(ReasonTest, SaysThatAJobMustNotBeMoved) {
  Snapshot snapshot = Cluster({4, 4});
  AddJob(snapshot, "a", std::nullopt, {"node-0", "node-1"}).preemptible = false;
  EXPECT_EQ(Reason(snapshot, {}), "keeps its 2 replicas: not preemptible");
  snapshot.base_allocations["a"] = {"node-0", "gone"};
  EXPECT_EQ(Reason(snapshot, {}), "keeps its 2 replicas: not preemptible");
}

}  // namespace
}  // namespace adaptdl
