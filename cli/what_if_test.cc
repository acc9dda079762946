#include "cli/what_if.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace adaptdl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;

const Resources kSmall = {{"nvidia.com/gpu", 2}, {"cpu", 64000}};
const Resources kLarge = {{"nvidia.com/gpu", 8}, {"cpu", 16000}};
const Resources kCpuOnly = {{"cpu", 256000}, {"memory", std::int64_t{1} << 40}};

Snapshot Cluster() {
  Snapshot snapshot;
  snapshot.nodes = {{"a", {kSmall}}, {"b", {kLarge}}, {"c", {kCpuOnly}}};
  snapshot.jobs["old"].creation_timestamp = ParseTime("2026-01-01T00:00:00Z").value();
  snapshot.base_allocations = {{"old", {"a", "b"}}, {"ended", {"b"}}};
  return snapshot;
}

TEST(WhatIf, NewNodesAreLikeTheTemplate) {
  Snapshot snapshot = Cluster();
  snapshot.node_template = SnapshotNode{kSmall, true};
  const Snapshot more = AddNodes(snapshot, 2).value();
  EXPECT_THAT(more.nodes, ElementsAre(Key("a"), Key("b"), Key("c"), Key("new-1"), Key("new-2")));
  EXPECT_EQ(more.nodes.at("new-2"), *snapshot.node_template);
  Snapshot expected = snapshot;
  expected.nodes = more.nodes;
  EXPECT_EQ(more, expected) << "nothing else changes";
}

TEST(WhatIf, NewNodesAreLikeTheLargestWithoutATemplate) {
  EXPECT_EQ(AddNodes(Cluster(), 1).value().nodes.at("new-1"), SnapshotNode{kLarge});
  Snapshot no_devices;
  no_devices.nodes = {{"a", {{{"cpu", 1}}}}, {"b", {kCpuOnly}}};
  EXPECT_EQ(AddNodes(no_devices, 1).value().nodes.at("new-1"), SnapshotNode{kCpuOnly});
}

TEST(WhatIf, NewNodesGetNamesThatNobodyHas) {
  Snapshot snapshot = Cluster();
  snapshot.nodes["new-1"];
  snapshot.base_allocations["old"] = {"new-3"};  // Gone, but not forgotten.
  EXPECT_THAT(AddNodes(snapshot, 2).value().nodes,
              ElementsAre(Key("a"), Key("b"), Key("c"), Key("new-1"), Key("new-2"), Key("new-4")));
}

TEST(WhatIf, NobodyKnowsTheNodesOfAnEmptyCluster) {
  EXPECT_THAT(AddNodes(Snapshot(), 1).error().message, HasSubstr("node_template"));
}

TEST(WhatIf, ARemovedNodeIsStillWhereItsReplicasWere) {
  const Snapshot less = RemoveNode(Cluster(), "b").value();
  EXPECT_THAT(less.nodes, ElementsAre(Key("a"), Key("c")));
  EXPECT_EQ(less.base_allocations, Cluster().base_allocations);
  EXPECT_EQ(RemoveNode(Cluster(), "x\x1b").error().message,
            "x\\x1b: no such node in the snapshot; there is a, b, c");
  EXPECT_EQ(RemoveNode(Snapshot(), "x").error().message, "x: no such node in the snapshot");
}

TEST(WhatIf, JobsComeAsInASnapshot) {
  const Snapshot more = AddJobs(Cluster(), R"({
      "ended": {"resources": {"nvidia.com/gpu": 2}, "max_replicas": 4},
      "dated": {"resources": {}, "creation_timestamp": "2025-12-31T00:00:00Z"}})")
                            .value();
  EXPECT_THAT(more.jobs, ElementsAre(Key("dated"), Key("ended"), Key("old")));
  EXPECT_EQ(more.jobs.at("ended").max_replicas, 4);
  EXPECT_GT(more.jobs.at("ended").creation_timestamp, more.jobs.at("old").creation_timestamp);
  EXPECT_EQ(more.jobs.at("dated").creation_timestamp, ParseTime("2025-12-31T00:00:00Z").value());
  EXPECT_THAT(more.base_allocations, ElementsAre(Key("old")))
      << "where an earlier job of that name ran is no matter";
}

constexpr const char* kJob = R"({
  "apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob",
  "metadata": {"name": "bert", "creationTimestamp": null},
  "spec": {"minReplicas": 1, "maxReplicas": 6, "preemptible": false, "template": {"spec": {"containers": [
    {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 2}, "requests": {"cpu": "500m"}}}]}}})";

TEST(WhatIf, JobsComeAsKubectlPrintsThem) {
  const std::string silent = std::string(kJob) + "}";
  const Snapshot more = AddJobs(Cluster(), silent).value();
  SnapshotJob expected;
  expected.resources = {{"cpu", 500}, {"nvidia.com/gpu", 2}, {"pods", 1}};
  expected.min_replicas = 1;
  expected.max_replicas = 1;  // Until it was profiled.
  expected.preemptible = false;
  expected.creation_timestamp = ParseTime("2026-01-01T00:00:01Z").value();
  EXPECT_EQ(more.jobs.at("bert"), expected);

  const std::string list = R"({"kind": "List", "items": [)" + silent + "]}";
  EXPECT_EQ(AddJobs(Cluster(), list).value(), more);

  const std::string reported = std::string(kJob) + R"(, "status": {"train": {
    "initBatchSize": 32, "maxBatchSize": 1024, "localBszBounds": [8, 64], "maxProfiledReplicas": 2,
    "gradientAccumulation": true, "gradParams": {"norm": 0.5, "var": 4},
    "perfParams": {"alpha_c": 1, "beta_c": 2, "alpha_n": 3, "beta_n": 4, "alpha_r": 5, "beta_r": 6, "gamma": 7}}}})";
  expected.max_replicas = 4;
  expected.init_batch_size = 32;
  expected.batch = {1024, 8, 64, true};
  expected.perf_params = PerfParams{1, 2, 3, 4, 5, 6, 7};
  expected.grad_params = GradParams{0.5, 4};
  EXPECT_EQ(AddJobs(Cluster(), reported).value().jobs.at("bert"), expected);
}

TEST(WhatIf, JobsThatCannotBeAddedAreExplained) {
  struct Case {
    std::string text;
    const char* message;
  };
  const std::string job = std::string(kJob) + "}";
  const Case cases[] = {
      {"", "line 1"},
      {"[]", "expected an AdaptDLJob or an object"},
      {"{}", "there is no job in it"},
      {R"({"kind": "List", "items": []})", "there is no job in it"},
      {R"({"old": {"resources": {}}})", "the snapshot has a job old already"},
      {R"({"a": {}})", "jobs.a.resources: missing"},
      {R"({"kind": "Pod"})", "kind: expected an AdaptDLJob, found \"Pod\""},
      {R"({"kind": "List", "items": [1]})", "items[0]: kind: expected an AdaptDLJob"},
      {R"({"kind": "List", "items": [)" + job + "," + job + "]}",
       "items[1]: metadata.name: bert is there twice"},
      {R"({"kind": "AdaptDLJob", "metadata": {"generateName": "x-"}, "spec": {"template": {}}})",
       "metadata.name"},
      {R"({"kind": "AdaptDLJob", "metadata": {"name": "x"}, "spec": {"template": {}}})",
       "spec.template.spec"},
  };
  for (const Case& c : cases) {
    const Result<Snapshot> added = AddJobs(Cluster(), c.text);
    ASSERT_FALSE(added) << c.text;
    EXPECT_THAT(added.error().message, HasSubstr(c.message));
  }
}

}  // namespace
}  // namespace adaptdl
