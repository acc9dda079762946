#include "operator/pod_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/json.h"
#include "api/reader.h"
#include "nlohmann/json.hpp"
#include "operator/pod_testing.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string Env(const json& container, const char* name) {
  std::string value;
  int times = 0;
  for (const json& entry : container.at("env")) {
    if (entry.at("name") != name) continue;
    value = entry.value("value", "from elsewhere");
    ++times;
  }
  EXPECT_LE(times, 1) << name;
  return times == 0 ? "absent" : value;
}

std::vector<std::string> Names(const json& list) {
  std::vector<std::string> names;
  for (const json& entry : list) names.push_back(entry.at("name"));
  return names;
}

TEST(PodBuilder, MakesAWholePod) {
  Replica replica;
  replica.node = replica.hostname = "n1";
  const Job job = JobOf(Parsed(R"({"spec": {"containers": [{"name": "main", "image": "x"}]}})"), "mnist");
  const auto pod = BuildPod(job, replica, Settings());
  ASSERT_TRUE(pod.has_value()) << pod.error().message;
  EXPECT_EQ(ToText(pod->value(), 1), ToText(Parsed(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {
      "name": "mnist-5b1c8c8e-42f0-4c2f-9f3f-8a5a5c1d3f9b-0-0", "namespace": "research",
      "labels": {"adaptdl": "true", "adaptdl/job": "mnist", "petuum.com/nodegroup": "all"},
      "annotations": {"adaptdl/replicas": "1", "adaptdl/group": "0", "adaptdl/rank": "0", "adaptdl/node": "n1"},
      "ownerReferences": [{
        "apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "name": "mnist",
        "uid": "5b1c8c8e-42f0-4c2f-9f3f-8a5a5c1d3f9b", "controller": true, "blockOwnerDeletion": true}]},
    "spec": {
      "hostname": "mnist-0-0", "restartPolicy": "Never", "nodeSelector": {"kubernetes.io/hostname": "n1"},
      "volumes": [{"name": "adaptdl-shm", "emptyDir": {"medium": "Memory"}}],
      "containers": [{
        "name": "main", "image": "x", "volumeMounts": [{"name": "adaptdl-shm", "mountPath": "/dev/shm"}],
        "env": [
          {"name": "ADAPTDL_JOB_ID", "value": "research/mnist"},
          {"name": "ADAPTDL_MASTER_PORT", "value": "47000"},
          {"name": "ADAPTDL_NUM_NODES", "value": "1"},
          {"name": "ADAPTDL_NUM_RESTARTS", "value": "0"},
          {"name": "ADAPTDL_NUM_REPLICAS", "value": "1"},
          {"name": "ADAPTDL_REPLICA_RANK", "value": "0"},
          {"name": "ADAPTDL_SUPERVISOR_URL", "value": "http://adaptdl-supervisor:8080"},
          {"name": "ADAPTDL_SCHED_VERSION", "value": "0.3.0"},
          {"name": "NVIDIA_VISIBLE_DEVICES", "value": "none"}]}]}})"),
                                            1));
}

TEST(PodBuilder, KeepsTheContract) {
  const json pod = Built(Parsed(kTemplate), Settings());
  struct Case {
    const char* place;
    const char* expect;
  };
  const Case cases[] = {
      {"/kind", R"("Pod")"},
      {"/metadata/name", R"("resnet-5b1c8c8e-42f0-4c2f-9f3f-8a5a5c1d3f9b-7-2")"},
      {"/metadata/namespace", R"("research")"},
      {"/metadata/labels",
       R"({"adaptdl": "true", "adaptdl/job": "resnet", "petuum.com/nodegroup": "all", "team": "vision"})"},
      {"/metadata/annotations",
       R"({"adaptdl/replicas": "4", "adaptdl/group": "7", "adaptdl/rank": "2", "adaptdl/node": "node-5.example.com",
           "sidecar.istio.io/inject": "false"})"},
      {"/metadata/ownerReferences",
       R"([{"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "name": "resnet",
            "uid": "5b1c8c8e-42f0-4c2f-9f3f-8a5a5c1d3f9b", "controller": true, "blockOwnerDeletion": true}])"},
      {"/spec/hostname", R"("resnet-7-2")"},
      {"/spec/restartPolicy", R"("Never")"},
      {"/spec/nodeSelector", R"({"disk": "ssd", "kubernetes.io/hostname": "node-5"})"},
      {"/spec/tolerations", R"([{"key": "nvidia.com/gpu", "operator": "Exists"}])"},
      {"/spec/serviceAccountName", R"("trainer")"},
      {"/spec/initContainers", R"([{"name": "fetch", "image": "fetch:1"}])"},
      {"/spec/volumes", R"([{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}},
                            {"name": "adaptdl-shm", "emptyDir": {"medium": "Memory"}}])"},
      {"/spec/containers/0/volumeMounts",
       R"([{"name": "data", "mountPath": "/data"}, {"name": "adaptdl-shm", "mountPath": "/dev/shm"}])"},
      {"/spec/containers/1/volumeMounts", R"([{"name": "data", "mountPath": "/dev/shm/"}])"},
      {"/spec/containers/0/env/1",
       R"({"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}})"},
      {"/spec/containers/0/resources", R"({"requests": {"cpu": 4}, "limits": {"nvidia.com/gpu": 1}})"},
      {"/spec/containers/0/command", R"(["python3", "main.py"])"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ToText(pod.value(json::json_pointer(c.place), json())), ToText(Parsed(c.expect))) << c.place;
  }
  EXPECT_FALSE(pod.at("spec").contains("nodeName"));
  for (const char* dropped : {"generateName", "uid", "finalizers"}) {
    EXPECT_FALSE(pod.at("metadata").contains(dropped)) << dropped;
  }
  EXPECT_EQ(pod.at("spec").at("containers").size(), 2U);
}

TEST(PodBuilder, SetsTheEnvironmentOfEveryContainer) {
  const json pod = Built(Parsed(kTemplate), Settings());
  for (const json& container : pod.at("spec").at("containers")) {
    EXPECT_EQ(Env(container, "ADAPTDL_JOB_ID"), "research/resnet");
    EXPECT_EQ(Env(container, "ADAPTDL_MASTER_PORT"), "47007");
    EXPECT_EQ(Env(container, "ADAPTDL_NUM_NODES"), "3");
    EXPECT_EQ(Env(container, "ADAPTDL_NUM_RESTARTS"), "7");
    EXPECT_EQ(Env(container, "ADAPTDL_NUM_REPLICAS"), "4");
    EXPECT_EQ(Env(container, "ADAPTDL_REPLICA_RANK"), "2");
    EXPECT_EQ(Env(container, "ADAPTDL_SUPERVISOR_URL"), "http://adaptdl-supervisor:8080");
    EXPECT_EQ(Env(container, "ADAPTDL_SCHED_VERSION"), "0.3.0");
  }
  EXPECT_THAT(Names(pod["spec"]["containers"][0]["env"]),
              ElementsAre("BATCH", "KEY", "NVIDIA_VISIBLE_DEVICES", "ADAPTDL_JOB_ID", "ADAPTDL_MASTER_PORT",
                          "ADAPTDL_NUM_NODES", "ADAPTDL_NUM_RESTARTS", "ADAPTDL_NUM_REPLICAS",
                          "ADAPTDL_REPLICA_RANK", "ADAPTDL_SUPERVISOR_URL", "ADAPTDL_SCHED_VERSION"));
}

TEST(PodBuilder, HidesGpusFromContainersThatAskForNone) {
  struct Case {
    const char* resources;  // Of the first container, whose image asks for GPU 0.
    const char* defaults;
    const char* first;
    const char* second;  // Which asks for all of them, and has no limits.
  };
  const char* gpu = R"({"limits": {"nvidia.com/gpu": 1}})";
  const Case cases[] = {
      {gpu, "", "0", "none"},
      {R"({"limits": {"nvidia.com/gpu": "2"}})", "", "0", "none"},
      {R"({"limits": {"nvidia.com/gpu": 0}})", "", "none", "none"},
      {R"({"limits": {"nvidia.com/gpu": "0"}})", gpu, "none", "none"},
      {R"({"limits": {"nvidia.com/gpu": null}})", "", "none", "none"},
      {R"({"requests": {"nvidia.com/gpu": 1}})", "", "none", "none"},
      {"{}", gpu, "0", "none"},
      {"null", gpu, "0", "none"},
      {R"({"limits": null, "requests": null})", gpu, "0", "none"},
      {"null", "", "none", "none"},
  };
  for (const Case& c : cases) {
    json pod_template = Parsed(kTemplate);
    pod_template["spec"]["containers"][0]["resources"] = Parsed(c.resources);
    const json pod = Built(pod_template, Settings(c.defaults));
    EXPECT_EQ(Env(pod["spec"]["containers"][0], "NVIDIA_VISIBLE_DEVICES"), c.first) << c.resources;
    EXPECT_EQ(Env(pod["spec"]["containers"][1], "NVIDIA_VISIBLE_DEVICES"), c.second) << c.resources;
  }
}

TEST(PodBuilder, FillsInDefaultResources) {
  const json pod =
      Built(Parsed(kTemplate), Settings(R"({"requests": {"cpu": 1, "memory": "2Gi"}, "limits": null})"));
  const json& containers = pod["spec"]["containers"];
  EXPECT_EQ(ToText(containers[0]["resources"]),
            R"({"limits":{"nvidia.com/gpu":1},"requests":{"cpu":4,"memory":"2Gi"}})");
  EXPECT_FALSE(containers[1].contains("resources"));
}

TEST(PodBuilder, TakesNullForAbsent) {
  const json pod = Built(Parsed(R"({"metadata": null, "spec": {"volumes": null, "nodeSelector": null,
      "containers": [{"name": "a", "env": null, "volumeMounts": null, "resources": null}]}})"),
                         Settings());
  EXPECT_THAT(Names(pod["spec"]["volumes"]), ElementsAre("adaptdl-shm"));
  EXPECT_EQ(pod["spec"]["nodeSelector"].size(), 1U);
  EXPECT_EQ(Env(pod["spec"]["containers"][0], "ADAPTDL_REPLICA_RANK"), "2");
}

TEST(PodBuilder, NamesThePlaceInATemplate) {
  struct Case {
    const char* change;  // A merge patch to kTemplate.
    const char* expect;
  };
  const Case cases[] = {
      {R"({"spec": null})", "spec.template.spec: missing"},
      {R"({"spec": 3})", "spec.template.spec: expected an object, found the number 3"},
      {R"({"spec": {"containers": null}})", "spec.template.spec.containers: missing"},
      {R"({"spec": {"containers": "x"}})", "spec.template.spec.containers: expected a list, found text"},
      {R"({"spec": {"containers": {}}})", "spec.template.spec.containers: expected a list, found an object"},
      {R"({"spec": {"containers": []}})", "spec.template.spec.containers: there is none"},
      {R"({"spec": {"containers": [null]}})",
       "spec.template.spec.containers[0]: expected an object, found null"},
      {R"({"spec": {"containers": [{}, []]}})",
       "spec.template.spec.containers[1]: expected an object, found a list"},
      {R"({"spec": {"containers": [{"env": {}}]}})",
       "spec.template.spec.containers[0].env: expected a list, found an object"},
      {R"({"spec": {"containers": [{"env": [3]}]}})",
       "spec.template.spec.containers[0].env[0]: expected an object, found the number 3"},
      {R"({"spec": {"containers": [{"env": [{"value": "x"}]}]}})",
       "spec.template.spec.containers[0].env[0].name: missing"},
      {R"({"spec": {"containers": [{"volumeMounts": [{"name": "a"}]}]}})",
       "spec.template.spec.containers[0].volumeMounts[0].mountPath: missing"},
      {R"({"spec": {"containers": [{"volumeMounts": "x"}]}})",
       "spec.template.spec.containers[0].volumeMounts: expected a list, found text"},
      {R"({"spec": {"containers": [{"resources": []}]}})",
       "spec.template.spec.containers[0].resources: expected an object, found a list"},
      {R"({"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "one"}}}]}})",
       "spec.template.spec.containers[0].resources.limits[nvidia.com/gpu]: 'one' is not a quantity"},
      {R"({"spec": {"volumes": {}}})", "spec.template.spec.volumes: expected a list, found an object"},
      {R"({"spec": {"volumes": [{}]}})", "spec.template.spec.volumes[0].name: missing"},
      {R"({"spec": {"nodeSelector": "x"}})",
       "spec.template.spec.nodeSelector: expected an object, found text"},
      {R"({"spec": {"nodeSelector": {"a": 1}}})",
       "spec.template.spec.nodeSelector.a: expected text, found the number 1"},
      {R"({"metadata": 3})", "spec.template.metadata: expected an object, found the number 3"},
      {R"({"metadata": {"labels": {"a": 1}}})",
       "spec.template.metadata.labels.a: expected text, found the number 1"},
  };
  for (const Case& c : cases) {
    json pod_template = Parsed(kTemplate);
    pod_template.merge_patch(Parsed(c.change));
    const auto pod = BuildPod(JobOf(pod_template), SomeReplica(), Settings(R"({"limits": {"cpu": 1}})"));
    ASSERT_FALSE(pod.has_value()) << c.change;
    EXPECT_EQ(pod.error(), (Error{ErrorCode::kInvalid, c.expect})) << c.change;
  }
  EXPECT_EQ(BuildPod(JobOf(3), SomeReplica(), Settings()).error().message,
            "spec.template: expected an object, found the number 3");
}

TEST(PodHostname, IsALabelOfTheDns) {
  struct Case {
    std::string job;
    std::int64_t group;
    std::int64_t rank;
    std::string expect;
  };
  const std::string a59(59, 'a');
  const Case cases[] = {
      {"a", 0, 0, "a-0-0"},
      {"a.b-c", 12, 3, "a-b-c-12-3"},
      {a59, 0, 0, a59 + "-0-0"},
      {a59 + "b", 0, 0, a59 + "-0-0"},
      {a59 + "bcde", 10, 0, std::string(58, 'a') + "-10-0"},
      {std::string(57, 'a') + "-.bcd", 0, 0, std::string(57, 'a') + "-0-0"},
      {std::string(63, 'a'), INT64_MAX, INT64_MAX - 1,
       std::string(23, 'a') + "-9223372036854775807-9223372036854775806"},
  };
  for (const Case& c : cases) {
    const std::string hostname = PodHostname(JobOf(json::object(), c.job), c.group, c.rank);
    EXPECT_EQ(hostname, c.expect);
    EXPECT_LE(hostname.size(), 63U);
  }
}

TEST(MasterPort, IsAPortHoweverOftenAJobRestarts) {
  const auto port = [](std::int64_t group) {
    Replica replica = SomeReplica();
    replica.group = group;
    const auto pod = BuildPod(JobOf(Parsed(kTemplate)), replica, Settings());
    return Env(pod.value().value().at("spec").at("containers").at(0), "ADAPTDL_MASTER_PORT");
  };
  EXPECT_EQ(port(0), "47000");
  EXPECT_EQ(port(17999), "64999");
  EXPECT_EQ(port(18000), "47000");
  EXPECT_EQ(port(INT64_MAX), std::to_string(47000 + INT64_MAX % 18000));
}

TEST(ReplicaOf, ReadsWhatBuildPodWrote) {
  const auto document = BuildPod(JobOf(Parsed(kTemplate)), SomeReplica(), Settings()).value();
  const auto replica = ReplicaOf(FromJson<Pod>(document.value()).value());
  ASSERT_TRUE(replica.has_value());
  EXPECT_EQ(replica->group, 7);
  EXPECT_EQ(replica->rank, 2);
  EXPECT_EQ(replica->replicas, 4);
  EXPECT_EQ(replica->node, "node-5.example.com");
}

TEST(ReplicaOf, TakesNothingElse) {
  const Labels good = {
      {"adaptdl/group", "0"}, {"adaptdl/rank", "1"}, {"adaptdl/replicas", "2"}, {"adaptdl/node", "n"}};
  const auto is_one = [](const Labels& annotations) {
    Pod pod;
    pod.metadata.annotations = annotations;
    return ReplicaOf(pod).has_value();
  };
  EXPECT_TRUE(is_one(good));
  for (const auto& [key, value] : good) {
    Labels without = good;
    without.erase(key);
    EXPECT_FALSE(is_one(without)) << key;
    if (key == "adaptdl/node") continue;
    for (const char* bad :
         {"", " 1", "1 ", "+1", "-1", "-0", "01", "1.0", "1e0", "0x1", "one", "9223372036854775808"}) {
      Labels changed = good;
      changed[key] = bad;
      EXPECT_FALSE(is_one(changed)) << key << " " << bad;
    }
  }
  Labels changed = good;
  changed["adaptdl/node"] = "";
  EXPECT_FALSE(is_one(changed));
  changed = good;
  changed["adaptdl/rank"] = "2";
  EXPECT_FALSE(is_one(changed));
  changed["adaptdl/rank"] = "0";
  changed["adaptdl/replicas"] = "0";
  EXPECT_FALSE(is_one(changed));
}

// The published client sends no credentials of its own: they are in the address that it is given.
TEST(PodBuilder, AReplicasAddressOfTheSupervisorHoldsItsToken) {
  PodSettings settings = Settings();
  settings.token = [](const ReplicaIdentity& replica) {
    return replica.name_space + "." + replica.job + "." + replica.uid + "." + std::to_string(replica.group);
  };
  const auto url_in = [](const json& pod) {
    return Env(pod["spec"]["containers"][1], "ADAPTDL_SUPERVISOR_URL");
  };
  EXPECT_EQ(url_in(Built(Parsed(kTemplate), settings)),
            std::string("http://adaptdl-supervisor:8080/t/research.resnet.") + kUid + ".7");
  settings.supervisor_url = "";
  EXPECT_EQ(url_in(Built(Parsed(kTemplate), settings)), "");
}

}  // namespace
}  // namespace adaptdl
