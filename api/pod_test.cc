#include "api/pod.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "api/generators.h"
#include "api/json.h"
#include "api/reader.h"
#include "api/resources.h"
#include "api/trim.h"
#include "nlohmann/json.hpp"

namespace adaptdl {
namespace {

using nlohmann::json;

constexpr const char* kPod = R"({
  "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"adaptdl": "true"}},
  "spec": {"nodeName": "n1", "restartPolicy": "Never", "containers": [
    {"name": "a", "image": "x", "resources": {"requests": {"cpu": "100m", "memory": null},
                                              "limits": {"nvidia.com/gpu": 1}}},
    {"name": "b", "resources": null}, {"name": "c"}]},
  "status": {"phase": "Failed", "reason": "Evicted", "message": "no room", "podIP": "10.0.0.1", "qosClass": "Burstable",
    "containerStatuses": [
      {"name": "a", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
      {"name": "b", "ready": false, "state": {"terminated": {"exitCode": 143, "reason": "Error", "message": "told to"}}},
      {"name": "c", "ready": false, "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}}],
    "initContainerStatuses": [{"name": "i", "ready": true, "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}}],
    "conditions": [{"type": "Ready", "status": "False", "message": "not this"},
      {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes are available"}]}})";

std::string MessageAfter(const char* patch) {
  json value = ParseJson(kPod).value();
  value.merge_patch(ParseJson(patch).value());
  const Result<Pod> pod = FromJson<Pod>(value);
  return pod ? "ok" : pod.error().message;
}

TEST(PodTest, ReadsEveryField) {
  const Result<Pod> pod = ParsePod(kPod);
  ASSERT_TRUE(pod) << pod.error().message;
  Pod expected;
  expected.metadata.name = "p";
  expected.metadata.labels = {{"adaptdl", "true"}};
  expected.node_name = "n1";
  expected.containers = {
      {"a", {{"cpu", Quantity::Parse("100m").value()}}, {{"nvidia.com/gpu", Quantity::Parse("1").value()}}},
      {"b", {}, {}},
      {"c", {}, {}}};
  expected.phase = PodPhase::kFailed;
  expected.reason = "Evicted";
  expected.message = "no room";
  expected.ip = "10.0.0.1";
  expected.container_statuses = {{"a", true, {}, ""},
                                 {"b", false, 143, "Error", "told to"},
                                 {"c", false, {}, "ImagePullBackOff", "no such image"}};
  expected.init_container_statuses = {{"i", true, 0, "Completed"}};
  expected.unschedulable = "0/3 nodes are available";
  EXPECT_EQ(*pod, expected);
}

TEST(PodTest, KnowsPhases) {
  const auto phase = [](const json& value) {
    return FromJson<Pod>({{"metadata", {{"name", "p"}}},
                          {"spec", {{"containers", json::array()}}},
                          {"status", {{"phase", value}}}})
        ->phase;
  };
  EXPECT_EQ(phase("Pending"), PodPhase::kPending);
  EXPECT_EQ(phase("Running"), PodPhase::kRunning);
  EXPECT_EQ(phase("Succeeded"), PodPhase::kSucceeded);
  EXPECT_EQ(phase("Failed"), PodPhase::kFailed);
  EXPECT_EQ(phase("Unknown"), PodPhase::kUnknown);
  EXPECT_EQ(phase("Hibernating"), PodPhase::kUnknown);
  EXPECT_EQ(phase(nullptr), PodPhase::kPending);
}

TEST(PodTest, KnowsThatNoNodeTakesIt) {
  const auto why = [](const char* conditions) {
    json value = ParseJson(kPod).value();
    value["status"]["conditions"] = ParseJson(conditions).value();
    return FromJson<Pod>(value).value().unschedulable;
  };
  EXPECT_EQ(why("null"), "");
  EXPECT_EQ(why("[]"), "");
  EXPECT_EQ(why(R"([{"type": "PodScheduled", "status": "True", "message": "m"}])"), "");
  EXPECT_EQ(why(R"([{"type": "PodScheduled", "status": "Unknown", "message": "m"}])"), "");
  EXPECT_EQ(why(R"([{"type": "Initialized", "status": "False", "message": "m"}])"), "");
  EXPECT_EQ(
      why(R"([{"type": "Initialized", "status": "True"}, {"type": "PodScheduled", "status": "False", "message": "m"}])"),
      "m");
}

TEST(PodTest, SaysWhichFieldIsWrong) {
  EXPECT_EQ(MessageAfter("{}"), "ok");
  EXPECT_EQ(MessageAfter(R"({"metadata": {"name": null}})"), "metadata: without a name");
  EXPECT_EQ(MessageAfter(R"({"spec": null})"), "spec: missing");
  EXPECT_EQ(MessageAfter(R"({"spec": {"containers": null}})"), "spec.containers: missing");
  EXPECT_EQ(MessageAfter(R"({"spec": {"containers": [1]}})"),
            "spec.containers[0]: expected an object, found the number 1");
  EXPECT_EQ(MessageAfter(R"({"spec": {"containers": [{"resources": {"limits": {"x": "1 Gi"}}}]}})"),
            "spec.containers[0].resources.limits.x: '1 Gi' is not a quantity");
  EXPECT_EQ(MessageAfter(R"({"spec": {"containers": [{"resources": []}]}})"),
            "spec.containers[0].resources: expected an object, found a list");
  EXPECT_EQ(MessageAfter(R"({"status": {"phase": 1}})"), "status.phase: expected text, found the number 1");
  EXPECT_EQ(
      MessageAfter(R"({"status": {"containerStatuses": [{"name": "a", "state": {"terminated": {}}}]}})"),
      "status.containerStatuses[0].state.terminated.exitCode: missing");
  EXPECT_EQ(
      MessageAfter(
          R"({"status": {"containerStatuses": [{"name": "a", "state": {"terminated": {"exitCode": "1"}}}]}})"),
      "status.containerStatuses[0].state.terminated.exitCode: expected an integer, found text");
}

TEST(PodTest, SaysWhichFurtherFieldIsWrong) {
  EXPECT_EQ(MessageAfter(R"({"status": {"initContainerStatuses": {}}})"),
            "status.initContainerStatuses: expected a list, found an object");
  EXPECT_EQ(MessageAfter(R"({"status": {"initContainerStatuses": [{}]}})"),
            "status.initContainerStatuses[0].name: missing");
  EXPECT_EQ(
      MessageAfter(
          R"({"status": {"containerStatuses": [{"name": "a", "state": {"waiting": {"message": 1}}}]}})"),
      "status.containerStatuses[0].state.waiting.message: expected text, found the number 1");
  EXPECT_EQ(MessageAfter(R"({"status": {"conditions": [{"status": "True"}]}})"),
            "status.conditions[0].type: missing");
}

RC_GTEST_PROP(PodTest, ReadsWhatItWrites, ()) {
  const auto container = [] {
    return Container{generate::Text(), generate::Map(generate::Amounts), generate::Map(generate::Amounts)};
  };
  const auto status = [] {
    return ContainerStatus{generate::Text(), generate::Flag(), generate::Maybe(generate::Amount),
                           generate::Text(), generate::Text()};
  };
  const Pod pod = {.metadata = generate::SomeMetadata(),
                   .node_name = generate::Text(),
                   .containers = generate::List(container),
                   .phase = static_cast<PodPhase>(*rc::gen::inRange(0, 5)),
                   .reason = generate::Text(),
                   .message = generate::Text(),
                   .ip = generate::Text(),
                   .container_statuses = generate::List(status),
                   .init_container_statuses = generate::List(status),
                   .unschedulable = generate::Text()};
  RC_ASSERT(ParsePod(ToText(Encode(pod))).value() == pod);
}

TEST(Pod, IsTrimmedToWhatCounts) {
  const char* text =
      R"({"metadata": {"name": "p", "labels": {"adaptdl": "true", "adaptdl/job": "a", "app": "x", "adaptdlx": "y"},
      "annotations": {"petuum.com/nodegroup": "all", "example.com/long": "text"}}, "spec": {"containers": [{"name": "main",
      "resources": {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"},
                    "limits": {"cpu": "2", "ephemeral-storage": "1Gi", "nvidia.com/gpu": "2"}}}]}})";
  const Pod whole = ParsePod(text).value();
  Pod pod = whole;
  Trim(&pod);
  EXPECT_EQ(pod.metadata.labels, (Labels{{"adaptdl", "true"}, {"adaptdl/job", "a"}}));
  EXPECT_EQ(pod.metadata.annotations, (Labels{{"petuum.com/nodegroup", "all"}}));
  EXPECT_LT(pod.containers[0].limits.size(), whole.containers[0].limits.size());
  EXPECT_EQ(PodRequests(pod.containers), PodRequests(whole.containers));
}

}  // namespace
}  // namespace adaptdl
