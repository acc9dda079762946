// json_make FILE: writes a PodList of about 5 MB as an API server would send it, with managed fields.
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using nlohmann::json;

json MakePod(int i) {
  const std::string n = std::to_string(i);
  json env = json::array(), conditions = json::array();
  for (const char* name :
       {"ADAPTDL_JOB_ID", "ADAPTDL_MASTER_PORT", "ADAPTDL_NUM_NODES", "ADAPTDL_NUM_RESTARTS",
        "ADAPTDL_NUM_REPLICAS", "ADAPTDL_REPLICA_RANK", "ADAPTDL_SUPERVISOR_URL"}) {
    env.push_back({{"name", name}, {"value", "value-of-" + n}});
  }
  for (const char* type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    conditions.push_back(
        {{"type", type}, {"status", "True"}, {"lastTransitionTime", "2026-11-16T00:00:00Z"}});
  }
  json mounts = json::array({{{"name", "adaptdl-shm"}, {"mountPath", "/dev/shm"}}});
  json resources = {{"limits", {{"nvidia.com/gpu", 1}, {"cpu", "4"}, {"memory", "16Gi"}}}};
  json managed = json::array();
  for (const char* manager : {"operator", "kubelet"}) {
    json fields = json::object();
    for (int f = 0; f < 24; ++f) {
      fields["f:field-" + std::to_string(f)] = {{".", json::object()}, {"f:value", json::object()}};
    }
    managed.push_back({{"manager", manager}, {"operation", "Update"}, {"fieldsV1", fields}});
  }
  return {
      {"metadata",
       {{"name", "job-" + n + "-0-0"},
        {"namespace", "default"},
        {"uid", "6f9619ff-8b86-d011-b42d-" + n},
        {"resourceVersion", n},
        {"labels", {{"adaptdl", "true"}, {"adaptdl/job", "job-" + n}}},
        {"annotations", {{"adaptdl/replicas", "1"}, {"adaptdl/group", "0"}, {"adaptdl/rank", "0"}}},
        {"ownerReferences", {{{"kind", "AdaptDLJob"}, {"name", "job-" + n}, {"controller", true}}}},
        {"managedFields", managed}}},
      {"spec",
       {{"nodeName", "node-" + std::to_string(i % 64)},
        {"containers",
         {{{"name", "main"}, {"env", env}, {"volumeMounts", mounts}, {"resources", resources}}}},
        {"restartPolicy", "Never"}}},
      {"status",
       {{"phase", "Running"}, {"podIP", "10.0.0." + std::to_string(i % 250)}, {"conditions", conditions}}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 2;
  }
  json items = json::array();
  for (int i = 0; i < 1600; ++i) {
    items.push_back(MakePod(i));
  }
  std::ofstream(argv[1]) << json{{"apiVersion", "v1"}, {"kind", "PodList"}, {"items", items}}.dump();
  return 0;
}
