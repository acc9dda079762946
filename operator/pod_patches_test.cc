// What the administrator's settings make of pods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"
#include "operator/pod_builder.h"
#include "operator/pod_testing.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::StartsWith;

TEST(PodPatches, AppliesPatches) {
  const json pod = Built(
      Parsed(kTemplate),
      Settings("", R"([{"op": "add", "path": "/spec/tolerations/-",
                        "value": {"key": "petuum.com/nodegroup", "value": "adaptdl", "effect": "NoSchedule"}},
                       {"op": "test", "path": "/spec/restartPolicy", "value": "Never"},
                       {"op": "add", "path": "/metadata/labels/zone", "value": "b"}])",
               R"([{"op": "add", "path": "/env/-", "value": {"name": "HTTP_PROXY", "value": "http://proxy"}},
                   {"op": "replace", "path": "/env/0/name", "value": "FIRST"}])"));
  EXPECT_EQ(pod["spec"]["tolerations"][1]["key"], "petuum.com/nodegroup");
  EXPECT_EQ(pod["metadata"]["labels"]["zone"], "b");
  EXPECT_EQ(pod["metadata"]["labels"]["team"], "vision");
  for (const json& container : pod["spec"]["containers"]) {
    EXPECT_EQ(container["env"].back()["name"], "HTTP_PROXY");
    EXPECT_EQ(container["env"].front()["name"], "FIRST");
  }
}

TEST(PodPatches, StaysItselfWhateverIsPatched) {
  const json unpatched = Built(Parsed(kTemplate), Settings());
  const char* patches[] = {
      R"([{"op": "remove", "path": "/metadata"}])",
      R"([{"op": "replace", "path": "/metadata", "value": 3}])",
      R"([{"op": "replace", "path": "/metadata/name", "value": "x"}, {"op": "remove", "path": "/metadata/namespace"}])",
      R"([{"op": "replace", "path": "/metadata/labels", "value": {"adaptdl/job": "x"}}])",
      R"([{"op": "replace", "path": "/metadata/annotations", "value": []}])",
      R"([{"op": "add", "path": "/metadata/annotations/adaptdl~1rank", "value": "0"}])",
      R"([{"op": "replace", "path": "/metadata/ownerReferences/0/controller", "value": false}])",
      R"([{"op": "remove", "path": "/metadata/ownerReferences/0"}, {"op": "replace", "path": "/kind", "value": "Job"}])",
  };
  const char* kept[] = {"/kind",
                        "/metadata/name",
                        "/metadata/namespace",
                        "/metadata/ownerReferences",
                        "/metadata/labels/adaptdl",
                        "/metadata/labels/adaptdl~1job",
                        "/metadata/labels/petuum.com~1nodegroup",
                        "/metadata/annotations/adaptdl~1group",
                        "/metadata/annotations/adaptdl~1node",
                        "/metadata/annotations/adaptdl~1rank",
                        "/metadata/annotations/adaptdl~1replicas"};
  for (const char* patch : patches) {
    const json pod = Built(Parsed(kTemplate), Settings("", patch));
    for (const char* place : kept) {
      const json::json_pointer pointer(place);
      EXPECT_EQ(pod.value(pointer, json()), unpatched.at(pointer)) << patch << place;
    }
  }
}

TEST(PodPatches, NamesThePatchThatDoesNotFit) {
  const auto message = [](const char* pod_patch, const char* container_patch) {
    const auto pod =
        BuildPod(JobOf(Parsed(kTemplate)), SomeReplica(), Settings("", pod_patch, container_patch));
    return pod ? "ok" : pod.error().message;
  };
  EXPECT_EQ(message("", ""), "ok");
  EXPECT_THAT(message(R"([{"op": "test", "path": "", "value": 3}])", ""), StartsWith("job.patch.pods[0]: "));
  EXPECT_EQ(
      message(R"([{"op": "remove", "path": "/spec/volumes"}, {"op": "remove", "path": "/spec/dns"}])", ""),
      "job.patch.pods[1]: /spec/dns: key 'dns' not found");
  EXPECT_EQ(message(R"([{"op": "add", "path": "/spec/hostname/x", "value": 3}])", ""),
            "job.patch.pods[0]: /spec/hostname/x: there is neither an object nor a list");
  EXPECT_EQ(
      message(R"([{"op": "remove", "path": "/spec/containers"}])", R"([{"op": "remove", "path": "/env"}])"),
      "job.patch.pods: leaves a pod that is none: spec.containers: missing");
  EXPECT_EQ(message(R"([{"op": "replace", "path": "", "value": []}])", ""),
            "job.patch.pods: leaves a pod that is none: spec: missing");
  EXPECT_EQ(message("", R"([{"op": "remove", "path": "/command"}])"),
            "job.patch.containers[0]: /command: key 'command' not found");
  EXPECT_EQ(
      message("", R"([{"op": "replace", "path": "", "value": 3}])"),
      "job.patch.containers: leaves a pod that is none: spec.containers[0]: expected an object, found the "
      "number 3");
}

TEST(PodSettings, AreCheckedBeforehand) {
  struct Case {
    const char* resources;
    const char* pod_patch;
    const char* container_patch;
    const char* expect;  // The message's beginning.
  };
  const Case cases[] = {
      {"{", "", "", "job.defaultResources: line 1, column 2: "},
      {"[]", "", "", "job.defaultResources: expected an object, found a list"},
      {R"({"limit": {}})", "", "", "job.defaultResources.limit: unknown; there are requests and limits"},
      {R"({"limits": 3})", "", "", "job.defaultResources.limits: expected an object, found the number 3"},
      {R"({"requests": {"cpu": "1 Gi"}})", "", "",
       "job.defaultResources.requests.cpu: '1 Gi' is not a quantity"},
      {"", "x", "", "job.patch.pods: line 1, column 1: "},
      {"", "{}", "", "job.patch.pods: expected a list, found an object"},
      {"", R"([{"op": "add", "path": "/a", "value": 1}, {"op": "add", "path": "/b"}])", "",
       "job.patch.pods[1].value: missing"},
      {"", "", R"([{"op": "touch", "path": "/a"}])", "job.patch.containers[0].op: 'touch' is none of add, "},
      {"", "", R"([{"op": "remove", "path": "a"}])", "job.patch.containers[0].path: "},
  };
  for (const Case& c : cases) {
    const auto settings = PodSettings::Parse(c.resources, c.pod_patch, c.container_patch);
    ASSERT_FALSE(settings.has_value()) << c.expect;
    EXPECT_EQ(settings.error().code, ErrorCode::kInvalid);
    EXPECT_THAT(settings.error().message, StartsWith(c.expect));
  }
}

TEST(PodSettings, MayBeAbsent) {
  for (const char* none : {"", "null"}) {
    const PodSettings settings = Settings(none, none, none);
    EXPECT_EQ(settings.default_resources(), json());
    EXPECT_EQ(settings.pod_patch(), json::array());
    EXPECT_EQ(settings.container_patch(), json::array());
  }
  EXPECT_EQ(PodSettings().pod_patch(), json::array());
}

json Anything() {
  return Parsed(*rc::gen::element("null", "3", "true", R"("x")", "[]", "{}", "[null]", "[{}]",
                                  R"([{"name": "x"}])", R"({"a": "b"})", R"({"adaptdl": null})", R"([[]])",
                                  R"({"name": 3})"));
}

// Any place in the document, or one of those that it is in.
std::string SomePlace(const json& document) {
  const json flat = document.flatten();
  std::vector<std::string> places;
  for (const auto& [place, value] : flat.items()) places.push_back(place);
  json::json_pointer place(*rc::gen::elementOf(places));
  for (int up = *rc::gen::inRange(0, 4); up > 0 && !place.empty(); --up) place.pop_back();
  return place.to_string();
}

json SomePatch(const json& document) {
  json patch = json::array();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    patch.push_back({{"op", *rc::gen::element("add", "remove", "replace", "move", "copy")},
                     {"path", SomePlace(document) + *rc::gen::element("", "/-", "/x", "/0")},
                     {"from", SomePlace(document)},
                     {"value", Anything()}});
  }
  return patch;
}

RC_GTEST_PROP(PodPatches, GivesEveryPodItsIdentityOrNone, ()) {
  json pod_template = Parsed(kTemplate);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    pod_template[json::json_pointer(SomePlace(pod_template))] = Anything();
    if (!pod_template.is_structured() || pod_template.empty()) break;
  }
  const json whole = Built(Parsed(kTemplate), Settings());
  const auto settings =
      PodSettings::Parse("", ToText(SomePatch(whole)), ToText(SomePatch(whole["spec"]["containers"][1])));
  RC_ASSERT(settings.has_value());
  const Job job = JobOf(pod_template);
  const Result<Document> pod = BuildPod(job, SomeReplica(), *settings);
  RC_CLASSIFY(pod.has_value(), "built");
  if (!pod) {
    RC_ASSERT(pod.error().code == ErrorCode::kInvalid);
    RC_ASSERT(pod.error().message.starts_with("spec.template") ||
              pod.error().message.starts_with("job.patch."));
    return;
  }
  const Result<Pod> known = FromJson<Pod>(pod->value());
  RC_ASSERT(known.has_value());
  RC_ASSERT(known->metadata.name == PodName(job, 7, 2));
  RC_ASSERT(known->metadata.name_space == "research");
  RC_ASSERT(known->metadata.owner == (Owner{"adaptdl.petuum.com/v1", "AdaptDLJob", "resnet", kUid}));
  RC_ASSERT(pod->value().at("metadata").at("ownerReferences").size() == 1U);
  RC_ASSERT(known->metadata.labels.at("adaptdl") == "true");
  RC_ASSERT(known->metadata.labels.at("adaptdl/job") == "resnet");
  RC_ASSERT(known->metadata.labels.at("petuum.com/nodegroup") == "all");
  const std::optional<Replica> replica = ReplicaOf(*known);
  RC_ASSERT(replica.has_value());
  RC_ASSERT(replica->group == 7 && replica->rank == 2 && replica->replicas == 4);
  RC_ASSERT(replica->node == "node-5.example.com");
}

}  // namespace
}  // namespace adaptdl
