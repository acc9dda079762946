#include "api/snapshot.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "api/generators.h"
#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

constexpr const char* kSnapshot = R"({
  "jobs": {"job-000": {"resources": {"nvidia.com/gpu": 1, "pods": 1},
                       "perf_params": [0.1, 0.01, 0.2, 0.02, 0.3, 0.03, 1.5], "grad_params": [0.5, 4],
                       "init_batch_size": 128, "max_batch_size": 4096, "local_bsz_bounds": [32, 1024],
                       "gradient_accumulation": true, "min_replicas": 0, "max_replicas": 32,
                       "creation_timestamp": "2026-01-01T00:00:00+00:00", "preemptible": true,
                       "attained_service": 12.5, "age": 100, "restarts": 3, "progress": 0.25, "unknown": 1},
           "job-001": {"resources": {}}},
  "nodes": {"node-000": {"resources": {"nvidia.com/gpu": 4, "pods": 32}, "preemptible": false}},
  "node_template": {"resources": {"nvidia.com/gpu": 4}, "preemptible": true},
  "base_allocations": {"job-000": ["node-000", "node-000"], "gone": ["nowhere"]},
  "published": {"objective": 1}})";

std::string MessageAfter(const char* patch) {
  json value = ParseJson(kSnapshot).value();
  value.merge_patch(ParseJson(patch).value());
  const Result<Snapshot> snapshot = FromJson<Snapshot>(value);
  return snapshot ? "ok" : snapshot.error().message;
}

TEST(SnapshotTest, ReadsEveryField) {
  const Result<Snapshot> snapshot = ParseSnapshot(kSnapshot);
  ASSERT_TRUE(snapshot) << snapshot.error().message;
  SnapshotJob job;
  job.resources = {{"nvidia.com/gpu", 1}, {"pods", 1}};
  job.perf_params = PerfParams{0.1, 0.01, 0.2, 0.02, 0.3, 0.03, 1.5};
  job.grad_params = GradParams{0.5, 4};
  job.init_batch_size = 128;
  job.batch = {4096, 32, 1024, true};
  job.max_replicas = 32;
  job.creation_timestamp = ParseTime("2026-01-01T00:00:00Z").value();
  job.attained_service = 12.5;
  job.age = 100;
  job.restarts = 3;
  job.progress = 0.25;
  Snapshot expected;
  expected.jobs = {{"job-000", job}, {"job-001", SnapshotJob()}};
  expected.nodes = {{"node-000", {{{"nvidia.com/gpu", 4}, {"pods", 32}}, false}}};
  expected.node_template = {{{"nvidia.com/gpu", 4}}, true};
  expected.base_allocations = {{"job-000", {"node-000", "node-000"}}, {"gone", {"nowhere"}}};
  EXPECT_EQ(*snapshot, expected);
}

TEST(SnapshotTest, TakesTheLeast) {
  EXPECT_EQ(ParseSnapshot(R"({"jobs": {}, "nodes": {}})").value(), Snapshot());
  EXPECT_EQ(MessageAfter(R"({"node_template": null, "base_allocations": null})"), "ok");
  EXPECT_EQ(MessageAfter(
                R"({"jobs": {"job-000": {"perf_params": null, "init_batch_size": null, "max_batch_size": null,
                             "local_bsz_bounds": [null, 64], "max_replicas": null}}})"),
            "ok");
}

TEST(SnapshotTest, SaysWhichFieldIsWrong) {
  struct Case {
    const char* patch;
    const char* message;
  };
  const Case cases[] = {
      {R"({"jobs": null})", "jobs: missing"},
      {R"({"jobs": []})", "jobs: expected an object, found a list"},
      {R"({"jobs": {"a.b": 1}})", "jobs[a.b]: expected an object, found the number 1"},
      {R"({"nodes": {"node-000": {"resources": null}}})", "nodes.node-000.resources: missing"},
      {R"({"nodes": {"node-000": {"resources": {"nvidia.com/gpu": 1.5}}}})",
       "nodes.node-000.resources[nvidia.com/gpu]: expected an integer, found the number 1.5"},
      {R"({"nodes": {"node-000": {"resources": {"nvidia.com/gpu": -1}}}})",
       "nodes.node-000.resources[nvidia.com/gpu]: must be at least 0, found -1"},
      {R"({"nodes": {"node-000": {"resources": {"pods": "4"}}}})",
       "nodes.node-000.resources.pods: expected an integer, found text"},
      {R"({"nodes": {"node-000": {"resources": {"pods": 9223372036854775808}}}})",
       "nodes.node-000.resources.pods: expected a 64-bit integer, found the number 9223372036854775808"},
      {R"({"jobs": {"job-000": {"resources": {"pods": -1}}}})",
       "jobs.job-000.resources.pods: must be at least 0, found -1"},
      {R"({"jobs": {"job-000": {"perf_params": [1, 2]}}})",
       "jobs.job-000.perf_params: expected 7 numbers, found 2"},
      {R"({"jobs": {"job-000": {"perf_params": [0, 0, 0, 0, 0, 0, 11]}}})",
       "jobs.job-000.perf_params[6]: must be between 1 and 10, found 11"},
      {R"({"jobs": {"job-000": {"perf_params": [0, -1, 0, 0, 0, 0, 1]}}})",
       "jobs.job-000.perf_params[1]: must be at least 0, found -1"},
      {R"({"jobs": {"job-000": {"perf_params": {"gamma": 1}}}})",
       "jobs.job-000.perf_params: expected a list, found an object"},
      {R"({"jobs": {"job-000": {"grad_params": [1, null]}}})",
       "jobs.job-000.grad_params[1]: expected a number, found null"},
      {R"({"jobs": {"job-000": {"init_batch_size": null}}})", "jobs.job-000.init_batch_size: missing"},
      {R"({"jobs": {"job-000": {"init_batch_size": 4097}}})",
       "jobs.job-000.max_batch_size: 4096 is below init_batch_size, 4097"},
      {R"({"jobs": {"job-000": {"local_bsz_bounds": [2, 1]}}})",
       "jobs.job-000.local_bsz_bounds: 1 is below the lower bound, 2"},
      {R"({"jobs": {"job-000": {"min_replicas": 33}}})",
       "jobs.job-000.max_replicas: 32 is below min_replicas, 33"},
      {R"({"jobs": {"job-000": {"age": -1}}})", "jobs.job-000.age: must be at least 0, found -1"},
      {R"({"jobs": {"job-000": {"creation_timestamp": 1767225600}}})",
       "jobs.job-000.creation_timestamp: expected text, found the number 1767225600"},
      {R"({"base_allocations": {"job-000": "node-000"}})",
       "base_allocations.job-000: expected a list, found text"},
      {R"({"base_allocations": {"job-000": [0]}})",
       "base_allocations.job-000[0]: expected text, found the number 0"},
      {R"({"node_template": {"preemptible": true, "resources": null}})", "node_template.resources: missing"},
  };
  for (const auto& [patch, message] : cases) EXPECT_EQ(MessageAfter(patch), message);
}

RC_GTEST_PROP(SnapshotTest, ReadsWhatItWrites, ()) {
  using namespace generate;  // NOLINT(google-build-using-namespace): a table of them follows
  const auto job = [] {
    const Bounds batch = Ordered(Size);
    const Bounds local = Ordered(Size);
    const Bounds replicas = Ordered(Amount);
    return SnapshotJob{.resources = Map(Amount),
                       .perf_params = Maybe(Perf),
                       .grad_params = Maybe(Grad),
                       .init_batch_size = batch.min.value_or(1),
                       .batch = {batch.max, local.min, local.max, Flag()},
                       .min_replicas = replicas.min.value_or(0),
                       .max_replicas = replicas.max,
                       .creation_timestamp = PointInTime(),
                       .preemptible = Flag(),
                       .attained_service = Maybe(Positive),
                       .age = Maybe(Positive),
                       .restarts = Maybe(Amount),
                       .progress = Maybe(Positive)};
  };
  const auto node = [] { return SnapshotNode{Map(Amount), Flag()}; };
  const Snapshot snapshot = {.jobs = Map(job),
                             .nodes = Map(node),
                             .node_template = Maybe(node),
                             .base_allocations = Map([] { return List(Text); })};
  RC_ASSERT(ParseSnapshot(ToText(Encode(snapshot))).value() == snapshot);
}

}  // namespace
}  // namespace adaptdl
