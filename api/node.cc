#include "api/node.h"

#include <utility>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

bool ReadReady(const Reader& status) {
  bool ready = false;
  if (const auto conditions = status.Find("conditions")) {
    for (const Reader& condition : conditions->Elements()) {
      std::string type;
      std::string value;
      condition.Required("type", &type);
      condition.Required("status", &value);
      if (type == "Ready") ready = value == "True";
    }
  }
  return ready;
}

}  // namespace

void Decode(const Reader& in, Taint* out) {
  in.Required("key", &out->key);
  in.Optional("value", &out->value);
  in.Required("effect", &out->effect);
}

void Decode(const Reader& in, Node* out) {
  in.Required("metadata", &out->metadata);
  if (out->metadata.name.empty()) in.Fail("metadata", "without a name");
  if (const auto spec = in.Find("spec")) {
    spec->Optional("taints", &out->taints);
    spec->Optional("unschedulable", &out->unschedulable);
  }
  if (const auto status = in.Find("status")) {
    status->Optional("allocatable", &out->allocatable);
    out->ready = ReadReady(*status);
  }
}

json Encode(const Node& node) {
  json taints = json::array();
  for (const Taint& taint : node.taints) {
    taints.push_back({{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  }
  const json ready = {{"type", "Ready"}, {"status", node.ready ? "True" : "False"}};
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", Encode(node.metadata)},
          {"spec", {{"taints", std::move(taints)}, {"unschedulable", node.unschedulable}}},
          {"status", {{"allocatable", Encode(node.allocatable)}, {"conditions", json::array({ready})}}}};
}

Result<Node> ParseNode(std::string_view text) {
  return ParseJson(text).and_then([](const json& value) { return FromJson<Node>(value); });
}

}  // namespace adaptdl
