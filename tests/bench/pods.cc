#include "tests/bench/pods.h"

#include "nlohmann/json.hpp"

namespace adaptdl {

std::string PodJson(const std::string& name_space, int number) {
  using nlohmann::json;
  const std::string job = "job-" + std::to_string(number / 8);
  const std::string rank = std::to_string(number % 8);
  json environment = json::array();
  for (const char* name :
       {"ADAPTDL_JOB_ID", "ADAPTDL_MASTER_PORT", "ADAPTDL_NUM_NODES", "ADAPTDL_NUM_RESTARTS",
        "ADAPTDL_NUM_REPLICAS", "ADAPTDL_REPLICA_RANK", "ADAPTDL_SUPERVISOR_URL", "ADAPTDL_SCHED_VERSION"}) {
    environment.push_back({{"name", name}, {"value", "a value of some length for " + job}});
  }
  const json container = {
      {"name", "main"},
      {"image", "registry.example/team/training:1"},
      {"command", {"python3", "-m", "training", "--epochs", "90"}},
      {"env", environment},
      {"resources", {{"limits", {{"nvidia.com/gpu", "1"}, {"cpu", "4"}, {"memory", "16Gi"}}}}},
      {"volumeMounts",
       {{{"name", "data"}, {"mountPath", "/data"}}, {{"name", "adaptdl-shm"}, {"mountPath", "/dev/shm"}}}}};
  const json pod = {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", job + "-0a1b2c3d-4e5f-6789-abcd-ef0123456789-3-" + rank},
        {"namespace", name_space},
        {"labels", {{"adaptdl", "true"}, {"adaptdl/job", job}, {"petuum.com/nodegroup", "all"}}},
        {"annotations",
         {{"adaptdl/replicas", "8"},
          {"adaptdl/group", "3"},
          {"adaptdl/rank", rank},
          {"adaptdl/node", "node-17"}}}}},
      {"spec",
       {{"restartPolicy", "Never"},
        {"automountServiceAccountToken", false},
        {"hostname", job + "-3-" + rank},
        {"nodeSelector", {{"kubernetes.io/hostname", "nowhere"}}},
        {"containers", {container}},
        {"volumes",
         {{{"name", "data"}, {"hostPath", {{"path", "/data"}}}},
          {{"name", "adaptdl-shm"}, {"emptyDir", {{"medium", "Memory"}}}}}}}}};
  return pod.dump();
}

}  // namespace adaptdl
