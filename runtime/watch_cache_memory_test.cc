// What a cache of many pods costs.
#include <malloc.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/json.h"
#include "api/trim.h"
#include "cluster/sim/virtual_clock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "runtime/watch_cache.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ADAPTDL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ADAPTDL_SANITIZED 1
#endif
#endif

namespace adaptdl {
namespace {

constexpr std::size_t kPods = 10'000;

// A replica of a training job, as an API server gives it (with the mutations of a mesh and a network plugin).
// "#" stands for its number, "@" for that of its job.
constexpr const char* kPod = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "imagenet-resnet50-@-5b1c8c8e-42f0-4c2f-9f3f-8a5a5c1d3f9b-7-#", "namespace": "research-vision",
    "uid": "0f8fad5b-d9cb-469f-a165-70867#", "resourceVersion": "98123#",
    "creationTimestamp": "2026-05-04T12:13:14Z",
    "labels": {
      "adaptdl": "true", "adaptdl/job": "imagenet-resnet50-@", "petuum.com/nodegroup": "all",
      "app.kubernetes.io/name": "imagenet-resnet50", "app.kubernetes.io/part-of": "vision-experiments",
      "team": "research-vision", "cost-center": "rv-4711-training",
      "topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": "eu-central-1b"},
    "annotations": {
      "adaptdl/group": "7", "adaptdl/rank": "#", "adaptdl/replicas": "16", "adaptdl/node": "ip-10-12-33-#.eu-central-1.compute.internal",
      "cni.projectcalico.org/containerID": "3d1f0ae1c9f1f3f0a1b54bb7ed26fd7d61fb3bbd6f0f4b1a9a0f4a3e0f1a2b#",
      "cni.projectcalico.org/podIP": "10.12.#/32", "cni.projectcalico.org/podIPs": "10.12.#/32",
      "k8s.v1.cni.cncf.io/network-status": "[{\"name\":\"k8s-pod-network\",\"ips\":[\"10.12.#\"],\"default\":true,\"dns\":{}}]",
      "kubernetes.io/limit-ranger": "LimitRanger plugin set: ephemeral-storage request for container main",
      "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
    "ownerReferences": [{"apiVersion": "adaptdl.petuum.com/v1", "kind": "AdaptDLJob", "controller": true,
      "blockOwnerDeletion": true, "name": "imagenet-resnet50-@", "uid": "7c9e6679-7425-40de-944b-e07fc1f9@"}],
    "managedFields": [
      {"manager": "adaptdl-operator", "operation": "Update", "apiVersion": "v1", "time": "2026-05-04T12:13:14Z",
       "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:adaptdl/job": {}, "f:adaptdl/group": {},
       "f:adaptdl/rank": {}}, "f:ownerReferences": {".": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"main\"}": {".": {},
       "f:env": {}, "f:image": {}, "f:resources": {}}}, "f:nodeName": {}, "f:restartPolicy": {}}}},
      {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "2026-05-04T12:13:20Z", "subresource": "status",
       "fieldsType": "FieldsV1", "fieldsV1": {"f:status": {"f:conditions": {"k:{\"type\":\"Ready\"}": {".": {}, "f:status": {}}},
       "f:containerStatuses": {}, "f:hostIP": {}, "f:phase": {}, "f:podIP": {}}}}]},
  "spec": {
    "nodeName": "ip-10-12-33-#.eu-central-1.compute.internal", "restartPolicy": "Never", "schedulerName": "default-scheduler",
    "serviceAccountName": "default", "terminationGracePeriodSeconds": 30, "priority": 0, "dnsPolicy": "ClusterFirst",
    "volumes": [{"name": "checkpoint", "persistentVolumeClaim": {"claimName": "imagenet-resnet50-checkpoints"}},
      {"name": "shm", "emptyDir": {"medium": "Memory"}},
      {"name": "kube-api-access-x7x9z", "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken":
       {"expirationSeconds": 3607, "path": "token"}}, {"configMap": {"name": "kube-root-ca.crt"}}]}}],
    "containers": [
      {"name": "main", "image": "registry.example.org/vision/imagenet-resnet50:2026-05-03", "command": ["python3", "main.py"],
       "env": [{"name": "ADAPTDL_JOB_ID", "value": "research-vision/imagenet-resnet50-@"}, {"name": "ADAPTDL_NUM_REPLICAS", "value": "16"},
        {"name": "ADAPTDL_REPLICA_RANK", "value": "#"}, {"name": "ADAPTDL_CHECKPOINT_PATH", "value": "/checkpoint"},
        {"name": "NCCL_SOCKET_IFNAME", "value": "eth0"}],
       "resources": {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1", "ephemeral-storage": "20Gi"},
        "requests": {"cpu": "4", "memory": "32Gi", "nvidia.com/gpu": "1", "ephemeral-storage": "10Gi"}},
       "volumeMounts": [{"name": "checkpoint", "mountPath": "/checkpoint"}, {"name": "shm", "mountPath": "/dev/shm"}]},
      {"name": "istio-proxy", "image": "docker.io/istio/proxyv2:1.24.0",
       "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}}}]},
  "status": {
    "phase": "Running", "hostIP": "10.12.33.4", "podIP": "10.12.#", "podIPs": [{"ip": "10.12.#"}], "qosClass": "Burstable",
    "startTime": "2026-05-04T12:13:14Z",
    "conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"},
      {"type": "ContainersReady", "status": "True"}, {"type": "PodScheduled", "status": "True"}],
    "containerStatuses": [
      {"name": "main", "ready": true, "restartCount": 0, "started": true, "containerID": "containerd://0a1b2c3d4e5f#",
       "image": "registry.example.org/vision/imagenet-resnet50:2026-05-03", "imageID": "sha256:0a1b2c3d",
       "state": {"running": {"startedAt": "2026-05-04T12:13:20Z"}}},
      {"name": "istio-proxy", "ready": true, "restartCount": 0, "state": {"running": {"startedAt": "2026-05-04T12:13:19Z"}}}]}})";

Object PodOf(std::size_t number) {
  std::string text;
  for (const char* c = kPod; *c != '\0'; ++c) {
    if (*c == '#') {
      text += std::to_string(number);
    } else if (*c == '@') {
      text += std::to_string(number / 16);
    } else {
      text += *c;
    }
  }
  return DecodeObject(Kind::kPod, ParseJson(text).value()).value();
}

// Keeps nothing itself: each page is read anew, as if it came over the wire.
class ManyPods final : public Cluster {
 public:
  explicit ManyPods(Clock& clock) : clock_(clock) {}

  void List(const Query&, std::size_t limit, const std::string& token, Done<Page> done) override {
    clock_.Post([=, done = std::move(done)] {
      const std::size_t begin = token.empty() ? 0 : std::stoul(token);
      const std::size_t end = std::min(begin + limit, kPods);
      Page page{.resource_version = "1000000000", .next = end < kPods ? std::to_string(end) : ""};
      for (std::size_t i = begin; i < end; ++i) page.objects.push_back(PodOf(i));
      done(std::move(page));
    });
  }
  std::unique_ptr<Watch> WatchFrom(const Query&, const std::string&, WatchHandler) override {
    return std::make_unique<Watch>();
  }
  void Get(const Ref&, Done<Object>) override { FAIL(); }
  void Create(Kind, const Document&, Done<Object>) override { FAIL(); }
  void Apply(const Patch&, Done<Object>) override { FAIL(); }
  void Delete(const Deletion&, Done<void>) override { FAIL(); }
  void CheckTemplate(const std::string&, const PodTemplate&, Done<void>) override { FAIL(); }

 private:
  Clock& clock_;
};

std::size_t Allocated() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(WatchCacheMemory, TenThousandPodsFitInto40Megabytes) {
#ifdef ADAPTDL_SANITIZED
  GTEST_SKIP() << "a sanitizer has an allocator of its own";
#endif
  VirtualClock clock;
  ManyPods cluster(clock);
  const std::size_t before = Allocated();
  WatchCache<Pod> pods(
      clock, cluster, {}, Logger("test"),
      {.indexes = {{"job", [](const Pod& pod) { return std::vector{pod.metadata.labels.at("adaptdl/job")}; }},
                   {"node", [](const Pod& pod) { return std::vector{pod.node_name}; }}},
       .trim = Trim});
  pods.Start();
  clock.RunFor(Duration::zero());
  const std::size_t cost = Allocated() - before;
  EXPECT_EQ(pods.size(), kPods);
  EXPECT_EQ(pods.Indexed("job", "imagenet-resnet50-3").size(), 16u);
  EXPECT_LE(cost, 40'000'000u);
  std::cout << "bytes for each pod: " << cost / kPods << "\n";
}

}  // namespace
}  // namespace adaptdl
