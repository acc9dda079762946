#include "api/resources.h"

#include <gtest/gtest.h>

#include <string>

#include "api/json.h"
#include "nlohmann/json.hpp"

// The vectors of the published system are in tests/golden; here is what they leave out.
namespace adaptdl {
namespace {

using nlohmann::json;

Quantity Q(std::string_view text) { return Quantity::Parse(text).value(); }

Pod PodOn(std::string node, PodPhase phase, std::vector<Container> containers) {
  Pod pod;
  pod.node_name = std::move(node);
  pod.phase = phase;
  pod.containers = std::move(containers);
  return pod;
}

TEST(DiscretizeTest, CountsInTheSmallestUnit) {
  EXPECT_EQ(Discretize("cpu", Q("1.1")).value(), 1100);
  EXPECT_EQ(Discretize("cpu", Q("1n")).value(), 1);
  EXPECT_EQ(Discretize("memory", Q("1.5")).value(), 2);
  EXPECT_EQ(Discretize("memory", Q("-1.5")).value(), -2);
  EXPECT_EQ(Discretize("cpu", Q("1E")).error().message, "cpu: 1E is too large to be counted in thousandths");
}

TEST(PodRequestsTest, CountsRequestsOrLimits) {
  const std::vector<Container> containers = {
      {"a", {{"cpu", Q("1")}, {"nvidia.com/gpu", Q("3")}}, {{"cpu", Q("2")}, {"nvidia.com/gpu", Q("1")}}},
      {"b", {{"cpu", Q("100m")}, {"ephemeral-storage", Q("0")}}, {{"rdma/hca", Q("-1")}}}};
  EXPECT_EQ(PodRequests(containers).value(), (Resources{{"pods", 1}, {"cpu", 1100}, {"nvidia.com/gpu", 1}}));
  EXPECT_EQ(PodRequests({}).value(), (Resources{{"pods", 1}}));
  EXPECT_EQ(PodRequests({{"a", {}, {{"pods", Q("-1")}}}}).value(), Resources());
}

TEST(PodRequestsTest, ChecksItsSums) {
  const Container half = {"a", {{"memory", Q("5E")}}, {}};
  EXPECT_EQ(PodRequests({half, half}).error().message, "memory: the sum is beyond 2^63 - 1");
  EXPECT_FALSE(PodRequests({{"a", {}, {{"pods", Q("9223372036854775807")}}}}));
}

TEST(NodeUnrequestedTest, SkipsPodsThatEndedOrAreElsewhere) {
  Node node;
  node.metadata.name = "n1";
  node.allocatable = {{"cpu", Q("2")}, {"pods", Q("10")}, {"memory", Q("0")}};
  const std::vector<Container> one_cpu = {
      {"a", {{"cpu", Q("500m")}, {"memory", Q("1Gi")}}, {{"x/y", Q("1")}}}};
  const std::vector<Pod> pods = {
      PodOn("n1", PodPhase::kPending, one_cpu), PodOn("n1", PodPhase::kRunning, one_cpu),
      PodOn("n1", PodPhase::kUnknown, one_cpu), PodOn("n1", PodPhase::kSucceeded, one_cpu),
      PodOn("n1", PodPhase::kFailed, one_cpu),  PodOn("n2", PodPhase::kRunning, one_cpu),
      PodOn("", PodPhase::kPending, one_cpu)};
  EXPECT_EQ(NodeUnrequested(node, pods).value(), (Resources{{"cpu", 500}, {"pods", 7}}));
}

TEST(NodeUnrequestedTest, ChecksItsDifferences) {
  Node node;
  node.metadata.name = "n1";
  node.allocatable = {{"memory", Q("-9E")}};
  const std::vector<Pod> pods = {PodOn("n1", PodPhase::kRunning, {{"a", {{"memory", Q("9E")}}, {}}})};
  EXPECT_EQ(NodeUnrequested(node, pods).error().message, "memory: the difference is beyond 2^63 - 1");
  node.allocatable = {{"cpu", Q("9E")}};
  EXPECT_FALSE(NodeUnrequested(node, {}));
}

TEST(SetDefaultResourcesTest, SaysWhatItCannotFill) {
  const auto message = [](const char* pod_spec, const char* defaults) {
    const Result<json> set = SetDefaultResources(ParseJson(pod_spec).value(), ParseJson(defaults).value());
    return set ? ToText(*set) : set.error().message;
  };
  const char* none = "containers: there is none to give default resources to";
  EXPECT_EQ(message("{}", "{}"), none);
  EXPECT_EQ(message(R"({"containers": []})", "{}"), none);
  EXPECT_EQ(message(R"({"containers": null})", "{}"), none);
  EXPECT_EQ(message(R"({"containers": [null]})", "{}"), none);
  EXPECT_EQ(message("[]", "{}"), none);
  EXPECT_EQ(message("[]", "null"), "[]");
  EXPECT_EQ(message(R"({"containers": [{}]})", "[]"), "the default resources are not an object");
  EXPECT_EQ(message(R"({"containers": [{}]})", R"({"limits": 1})"),
            "default resources: limits: not an object");
  EXPECT_EQ(message(R"({"containers": [{"resources": null}]})", R"({"limits": {}})"),
            "containers[0].resources: not an object");
  EXPECT_EQ(message(R"({"containers": [{"resources": {"limits": null}}]})", R"({"limits": {"x": 1}})"),
            "containers[0].resources.limits: not an object");
  EXPECT_EQ(message(R"({"containers": [{"resources": {"limits": null}}]})", R"({"limits": {}})"),
            R"({"containers":[{"resources":{"limits":null}}]})");
}

}  // namespace
}  // namespace adaptdl
