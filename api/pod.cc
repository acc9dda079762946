#include "api/pod.h"

#include <array>
#include <utility>

#include "api/condition.h"
#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

constexpr std::array<std::pair<PodPhase, std::string_view>, 5> kPhases = {{
    {PodPhase::kPending, "Pending"},
    {PodPhase::kRunning, "Running"},
    {PodPhase::kSucceeded, "Succeeded"},
    {PodPhase::kFailed, "Failed"},
    {PodPhase::kUnknown, "Unknown"},
}};

json Encode(const ContainerStatus& status) {
  json state = {{"running", json::object()}};
  if (status.exit_code) {
    state = {{"terminated",
              {{"exitCode", *status.exit_code}, {"reason", status.reason}, {"message", status.message}}}};
  } else if (!status.reason.empty() || !status.message.empty()) {
    state = {{"waiting", {{"reason", status.reason}, {"message", status.message}}}};
  }
  return {{"name", status.name}, {"ready", status.ready}, {"state", std::move(state)}};
}

std::string WhyUnschedulable(const Reader& status) {
  std::vector<Condition> conditions;
  status.Optional("conditions", &conditions);
  const Condition* scheduled = FindCondition(conditions, "PodScheduled");
  return scheduled != nullptr && scheduled->status == "False" ? scheduled->message : "";
}

}  // namespace

std::string_view ToString(PodPhase phase) {
  for (const auto& [known, name] : kPhases) {
    if (known == phase) return name;
  }
  return "Unknown";
}

void Decode(const Reader& in, PodPhase* out) {
  std::string text;
  in.Read(&text);
  *out = PodPhase::kUnknown;
  for (const auto& [phase, name] : kPhases) {
    if (text == name) *out = phase;
  }
}

void Decode(const Reader& in, ContainerStatus* out) {
  in.Required("name", &out->name);
  in.Optional("ready", &out->ready);
  const std::optional<Reader> state = in.Find("state");
  if (!state) return;
  if (const auto terminated = state->Find("terminated")) {
    terminated->Required("exitCode", &out->exit_code);
    terminated->Optional("reason", &out->reason);
    terminated->Optional("message", &out->message);
  } else if (const auto waiting = state->Find("waiting")) {
    waiting->Optional("reason", &out->reason);
    waiting->Optional("message", &out->message);
  }
}

void Decode(const Reader& in, Pod* out) {
  in.Required("metadata", &out->metadata);
  if (out->metadata.name.empty()) in.Fail("metadata", "without a name");
  if (const auto spec = in.Find("spec")) {
    spec->Optional("nodeName", &out->node_name);
    spec->Required("containers", &out->containers);
  } else {
    in.Fail("spec", "missing");
  }
  if (const auto status = in.Find("status")) {
    status->Optional("phase", &out->phase);
    status->Optional("reason", &out->reason);
    status->Optional("message", &out->message);
    status->Optional("podIP", &out->ip);
    status->Optional("containerStatuses", &out->container_statuses);
    status->Optional("initContainerStatuses", &out->init_container_statuses);
    out->unschedulable = WhyUnschedulable(*status);
  }
}

json Encode(const Pod& pod) {
  json spec = {{"containers", json::array()}};
  for (const Container& container : pod.containers) spec["containers"].push_back(Encode(container));
  json status = {{"phase", ToString(pod.phase)}};
  for (const ContainerStatus& one : pod.container_statuses)
    status["containerStatuses"].push_back(Encode(one));
  for (const ContainerStatus& one : pod.init_container_statuses)
    status["initContainerStatuses"].push_back(Encode(one));
  if (!pod.unschedulable.empty()) {
    status["conditions"] = {{{"type", "PodScheduled"}, {"status", "False"}, {"message", pod.unschedulable}}};
  }
  const auto set = [](json& object, const char* key, const std::string& value) {
    if (!value.empty()) object[key] = value;
  };
  set(spec, "nodeName", pod.node_name);
  set(status, "reason", pod.reason);
  set(status, "message", pod.message);
  set(status, "podIP", pod.ip);
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", Encode(pod.metadata)},
          {"spec", std::move(spec)},
          {"status", std::move(status)}};
}

Result<Pod> ParsePod(std::string_view text) {
  return ParseJson(text).and_then([](const json& value) { return FromJson<Pod>(value); });
}

}  // namespace adaptdl
