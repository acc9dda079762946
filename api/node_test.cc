#include "api/node.h"

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

constexpr const char* kNode = R"({
  "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "h1"}},
  "spec": {"podCIDR": "10.0.0.0/24", "unschedulable": true,
           "taints": [{"key": "petuum.com/nodegroup", "value": "adaptdl", "effect": "NoSchedule"},
                      {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": null}]},
  "status": {"allocatable": {"cpu": "3920m", "memory": "15890Mi", "pods": 110}, "capacity": {"cpu": "4"},
             "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": "True"}]}})";

std::string MessageAfter(const char* patch) {
  json value = ParseJson(kNode).value();
  value.merge_patch(ParseJson(patch).value());
  const Result<Node> node = FromJson<Node>(value);
  return node ? "ok" : node.error().message;
}

TEST(NodeTest, ReadsEveryField) {
  const Result<Node> node = ParseNode(kNode);
  ASSERT_TRUE(node) << node.error().message;
  Node expected;
  expected.metadata.name = "n1";
  expected.metadata.labels = {{"kubernetes.io/hostname", "h1"}};
  expected.taints = {{"petuum.com/nodegroup", "adaptdl", "NoSchedule"},
                     {"node.kubernetes.io/unschedulable", "", "NoSchedule"}};
  expected.unschedulable = true;
  expected.ready = true;
  expected.allocatable = {{"cpu", Quantity::Parse("3920m").value()},
                          {"memory", Quantity::Parse("16661872640").value()},
                          {"pods", Quantity::Parse("110").value()}};
  EXPECT_EQ(*node, expected);
}

TEST(NodeTest, IsReadyOnlyWhereItSaysSo) {
  const auto ready = [](const char* conditions) {
    json value = ParseJson(kNode).value();
    value["status"]["conditions"] = ParseJson(conditions).value();
    return FromJson<Node>(value)->ready;
  };
  EXPECT_TRUE(ready(R"([{"type": "Ready", "status": "True"}])"));
  EXPECT_FALSE(ready(R"([{"type": "Ready", "status": "False"}])"));
  EXPECT_FALSE(ready(R"([{"type": "Ready", "status": "Unknown"}])"));
  EXPECT_FALSE(ready(R"([{"type": "DiskPressure", "status": "True"}])"));
  EXPECT_FALSE(ready("null"));
}

TEST(NodeTest, NeedsLittle) {
  const Result<Node> node = ParseNode(R"({"metadata": {"name": "n"}})");
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_FALSE(node->ready);
  EXPECT_FALSE(node->unschedulable);
}

TEST(NodeTest, SaysWhichFieldIsWrong) {
  EXPECT_EQ(MessageAfter(R"({"metadata": {"name": ""}})"), "metadata: without a name");
  EXPECT_EQ(MessageAfter(R"({"spec": {"unschedulable": "yes"}})"),
            "spec.unschedulable: expected a boolean, found text");
  EXPECT_EQ(MessageAfter(R"({"spec": {"taints": [{"key": "k"}]}})"), "spec.taints[0].effect: missing");
  EXPECT_EQ(MessageAfter(R"({"status": {"allocatable": {"cpu": "8 cores"}}})"),
            "status.allocatable.cpu: '8 cores' is not a quantity");
  EXPECT_EQ(MessageAfter(R"({"status": {"conditions": [{"type": "Ready", "status": true}]}})"),
            "status.conditions[0].status: expected text, found a boolean");
}

RC_GTEST_PROP(NodeTest, ReadsWhatItWrites, ()) {
  const Node node = {.metadata = generate::SomeMetadata(),
                     .taints = generate::List([] {
                       return Taint{generate::Text(), generate::Text(), generate::Text()};
                     }),
                     .unschedulable = generate::Flag(),
                     .ready = generate::Flag(),
                     .allocatable = generate::Map(generate::Amounts)};
  RC_ASSERT(ParseNode(ToText(Encode(node))).value() == node);
}

}  // namespace
}  // namespace adaptdl
