// A job with a realistic template, and a replica of it, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "api/job.h"
#include "api/json.h"
#include "nlohmann/json.hpp"
#include "operator/pod_builder.h"

namespace adaptdl {

inline constexpr const char* kUid = "5b1c8c8e-42f0-4c2f-9f3f-8a5a5c1d3f9b";

// As users write them: a trainer on GPUs, and a sidecar that copies logs.
inline constexpr const char* kTemplate = R"({
  "metadata": {
    "name": "theirs", "namespace": "elsewhere", "generateName": "x-", "uid": "u", "finalizers": ["a/b"],
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u", "controller": true}],
    "labels": {"team": "vision", "adaptdl/job": "another"},
    "annotations": {"sidecar.istio.io/inject": "false", "adaptdl/rank": "99"}},
  "spec": {
    "hostname": "mine", "restartPolicy": "Always", "nodeName": "n9", "serviceAccountName": "trainer",
    "nodeSelector": {"disk": "ssd", "kubernetes.io/hostname": "n9"},
    "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
    "initContainers": [{"name": "fetch", "image": "fetch:1"}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}},
                {"name": "adaptdl-shm", "emptyDir": {"sizeLimit": "1Gi"}}],
    "containers": [
      {"name": "main", "image": "resnet:1", "command": ["python3", "main.py"],
       "env": [{"name": "BATCH", "value": "256"}, {"name": "ADAPTDL_NUM_REPLICAS", "value": "1"},
               {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
               {"name": "NVIDIA_VISIBLE_DEVICES", "value": "0"}],
       "volumeMounts": [{"name": "data", "mountPath": "/data"}],
       "resources": {"requests": {"cpu": 4}, "limits": {"nvidia.com/gpu": 1}}},
      {"name": "logs", "image": "logs:1",
       "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}, {"name": "TO", "value": "s3"}],
       "volumeMounts": [{"name": "data", "mountPath": "/dev/shm/"}]}]}})";

inline Job JobOf(const nlohmann::json& pod_template, const std::string& name = "resnet") {
  Job job;
  job.metadata = {.name = name, .name_space = "research", .uid = kUid};
  job.spec.pod_template = PodTemplate(pod_template);
  return job;
}

inline Replica SomeReplica() {
  Replica replica;
  replica.group = 7;
  replica.rank = 2;
  replica.replicas = 4;
  replica.nodes = 3;
  replica.node = "node-5.example.com";
  replica.hostname = "node-5";
  return replica;
}

inline PodSettings Settings(const char* resources = "", const char* pod_patch = "",
                            const char* container_patch = "") {
  Result<PodSettings> settings = PodSettings::Parse(resources, pod_patch, container_patch);
  EXPECT_TRUE(settings.has_value()) << settings.error().message;
  settings->supervisor_url = "http://adaptdl-supervisor:8080";
  settings->version = "0.3.0";
  return *settings;
}

inline nlohmann::json Built(const nlohmann::json& pod_template, const PodSettings& settings) {
  const Result<Document> pod = BuildPod(JobOf(pod_template), SomeReplica(), settings);
  EXPECT_TRUE(pod.has_value()) << pod.error().message;
  return pod.value().value();
}

inline nlohmann::json Parsed(const char* text) { return ParseJson(text).value(); }

}  // namespace adaptdl
