#include "operator/pod_builder.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/container.h"
#include "api/json.h"
#include "api/json_patch.h"
#include "api/quantity.h"
#include "api/reader.h"
#include "api/resources.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

// The names by which the administrator knows his settings: those of the chart.
constexpr const char* kDefaultResources = "job.defaultResources";
constexpr const char* kPodPatch = "job.patch.pods";
constexpr const char* kContainerPatch = "job.patch.containers";

constexpr const char* kTemplate = "spec.template";
constexpr const char* kSharedMemory = "adaptdl-shm";

constexpr std::size_t kMaxHostname = 63;
constexpr std::int64_t kFirstPort = 47000;
constexpr std::int64_t kPorts = 18000;

struct DefaultResources {};

void Decode(const Reader& in, DefaultResources* /*out*/) {
  for (const auto& [key, member] : in.Members()) {
    if (key != "requests" && key != "limits") return member.Fail("unknown; there are requests and limits");
  }
  Quantities amounts;
  in.Optional("requests", &amounts);
  in.Optional("limits", &amounts);
}

// Null, as a chart gives for what is not set, counts as none.
Result<json> ParseSetting(std::string_view text, const char* name, const json& none) {
  if (text.empty()) return Result<json>(tl::in_place, none);
  Result<json> value = ParseJson(text);
  if (!value) return Invalid(std::string(name) + ": " + value.error().message);
  if (value->is_null()) *value = none;
  return value;
}

// A list of objects, where it is there, of which each has that text. What has no name cannot be told from
// what is ours.
void CheckEntries(const Reader& in, const char* list, const char* key) {
  const auto entries = in.Find(list);
  if (!entries) return;
  std::string text;
  for (const Reader& entry : entries->Elements()) entry.Required(key, &text);
}

// What BuildPod changes of a template is as it must be; the rest is Kubernetes' business.
struct Shape {};

void Decode(const Reader& in, Shape* /*out*/) {
  const auto spec = in.Find("spec");
  if (!spec) return in.Fail("spec", "missing");
  Labels selector;
  spec->Optional("nodeSelector", &selector);
  CheckEntries(*spec, "volumes", "name");
  const auto containers = spec->Find("containers");
  if (!containers) return spec->Fail("containers", "missing");
  const auto all = containers->Elements();
  if (all.empty()) containers->Fail("there is none");
  for (const Reader& container : all) {
    Container known;
    container.Read(&known);
    CheckEntries(container, "env", "name");
    CheckEntries(container, "volumeMounts", "name");
    CheckEntries(container, "volumeMounts", "mountPath");
  }
}

// To Kubernetes null is as good as absent ("resources:" with nothing behind it, in YAML).
void DropNulls(json* container) {
  const auto drop = [](json& object, const char* key) {
    const auto member = object.find(key);
    if (member != object.end() && member->is_null()) object.erase(member);
  };
  drop(*container, "resources");
  const auto resources = container->find("resources");
  if (resources == container->end()) return;
  drop(*resources, "requests");
  drop(*resources, "limits");
}

// The template's own part of a pod: its labels, its annotations, and its spec with the default resources.
Result<json> FromTemplate(const PodTemplate& pod_template, const json& default_resources) {
  const json& given = pod_template.value();
  if (const auto shape = FromJson<Shape>(given, kTemplate); !shape) return tl::unexpected(shape.error());
  const Result<Metadata> metadata = pod_template.ReadMetadata();
  if (!metadata) return tl::unexpected(metadata.error());
  json spec = given.at("spec");
  DropNulls(&spec["containers"][0]);
  return SetDefaultResources(std::move(spec), default_resources).map([&](json&& complete) {
    return json{
        {"metadata", Encode(Metadata{.labels = metadata->labels, .annotations = metadata->annotations})},
        {"spec", std::move(complete)}};
  });
}

// Puts the entries behind all others, of which those with the same name go.
void PutEntries(const json& entries, json* list) {
  if (list->is_null()) *list = json::array();
  auto& all = list->get_ref<json::array_t&>();
  std::erase_if(all, [&](const json& one) {
    return std::any_of(entries.begin(), entries.end(),
                       [&](const json& entry) { return entry.at("name") == one.at("name"); });
  });
  all.insert(all.end(), entries.begin(), entries.end());
}

// The published client puts its paths behind this, and sends no credentials of its own.
std::string SupervisorUrl(const Job& job, const Replica& replica, const PodSettings& settings) {
  if (settings.supervisor_url.empty() || !settings.token) return settings.supervisor_url;
  return settings.supervisor_url + "/t/" +
         settings.token({job.metadata.name_space, job.metadata.name, job.metadata.uid, replica.group});
}

json Environment(const Job& job, const Replica& replica, const PodSettings& settings) {
  const auto entry = [](const char* name, const std::string& value) {
    return json{{"name", name}, {"value", value}};
  };
  // A job may be restarted more often than there are ports. Groups that far apart never run side by side.
  const std::int64_t port = kFirstPort + replica.group % kPorts;
  return json::array({entry("ADAPTDL_JOB_ID", job.metadata.name_space + "/" + job.metadata.name),
                      entry("ADAPTDL_MASTER_PORT", std::to_string(port)),
                      entry("ADAPTDL_NUM_NODES", std::to_string(replica.nodes)),
                      entry("ADAPTDL_NUM_RESTARTS", std::to_string(replica.group)),
                      entry("ADAPTDL_NUM_REPLICAS", std::to_string(replica.replicas)),
                      entry("ADAPTDL_REPLICA_RANK", std::to_string(replica.rank)),
                      entry("ADAPTDL_SUPERVISOR_URL", SupervisorUrl(job, replica, settings)),
                      entry("ADAPTDL_SCHED_VERSION", settings.version)});
}

void MountSharedMemory(json* container) {
  json& mounts = (*container)["volumeMounts"];
  if (mounts.is_null()) mounts = json::array();
  const bool mounted = std::any_of(mounts.begin(), mounts.end(), [](const json& mount) {
    const json& path = mount.at("mountPath");
    return path == "/dev/shm" || path == "/dev/shm/";
  });
  if (!mounted) mounts.push_back({{"name", kSharedMemory}, {"mountPath", "/dev/shm"}});
}

Result<void> AddToContainers(const json& environment, json* containers) {
  const auto known = FromJson<std::vector<Container>>(*containers, "spec.template.spec.containers");
  if (!known) return tl::unexpected(known.error());
  for (std::size_t i = 0; i < known->size(); ++i) {
    json& container = (*containers)[i];
    json entries = environment;
    const auto gpus = (*known)[i].limits.find("nvidia.com/gpu");
    if (gpus == (*known)[i].limits.end() || gpus->second <= Quantity()) {
      // Images for GPUs ask for all of them, and would get other jobs' too.
      entries.push_back({{"name", "NVIDIA_VISIBLE_DEVICES"}, {"value", "none"}});
    }
    PutEntries(entries, &container["env"]);
    MountSharedMemory(&container);
  }
  return {};
}

// What the pod is found by, as a merge patch.
json Identity(const Job& job, const Replica& replica) {
  const Metadata metadata = {
      .name = PodName(job, replica.group, replica.rank),
      .name_space = job.metadata.name_space,
      .labels = ReplicaLabels(job.metadata.name),
      .annotations = ReplicaAnnotations(replica),
      .owner = Owner{"adaptdl.petuum.com/v1", "AdaptDLJob", job.metadata.name, job.metadata.uid}};
  return {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", Encode(metadata)}};
}

// A patch may leave what is no pod any more. Kubernetes would refuse most of that, but without the patch's
// name.
Result<json> CheckPatched(json pod, const char* name) {
  if (const auto known = FromJson<Pod>(pod); !known) {
    return Invalid(std::string(name) + ": leaves a pod that is none: " + known.error().message);
  }
  return Result<json>(tl::in_place, std::move(pod));
}

Result<json> PatchPod(json pod, const json& patch, const json& identity) {
  if (patch.empty()) return Result<json>(tl::in_place, std::move(pod));
  return ApplyPatch(patch, std::move(pod), kPodPatch).and_then([&](json&& patched) {
    patched.merge_patch(identity);
    return CheckPatched(std::move(patched), kPodPatch);
  });
}

Result<json> PatchContainers(json pod, const json& patch) {
  if (patch.empty()) return Result<json>(tl::in_place, std::move(pod));
  for (json& container : pod["spec"]["containers"]) {
    Result<json> patched = ApplyPatch(patch, std::move(container), kContainerPatch);
    if (!patched) return patched;
    container = *std::move(patched);
  }
  return CheckPatched(std::move(pod), kContainerPatch);
}

}  // namespace

struct PodSettings::Parts {
  json default_resources;
  json pod_patch = json::array();
  json container_patch = json::array();
};

PodSettings::PodSettings() : parts_(std::make_shared<const Parts>()) {}

Result<PodSettings> PodSettings::Parse(std::string_view default_resources, std::string_view pod_patch,
                                       std::string_view container_patch) {
  Result<json> resources = ParseSetting(default_resources, kDefaultResources, nullptr);
  if (!resources) return tl::unexpected(resources.error());
  if (!resources->is_null()) {
    const auto known = FromJson<DefaultResources>(*resources, kDefaultResources);
    if (!known) return tl::unexpected(known.error());
  }
  const auto parse_patch = [](std::string_view text, const char* name) {
    return ParseSetting(text, name, json::array()).and_then([&](json&& patch) {
      return CheckPatch(patch, name).map([&] { return std::move(patch); });
    });
  };
  Result<json> pods = parse_patch(pod_patch, kPodPatch);
  if (!pods) return tl::unexpected(pods.error());
  Result<json> containers = parse_patch(container_patch, kContainerPatch);
  if (!containers) return tl::unexpected(containers.error());
  PodSettings settings;
  settings.parts_ =
      std::make_shared<const Parts>(Parts{*std::move(resources), *std::move(pods), *std::move(containers)});
  return settings;
}

const json& PodSettings::default_resources() const { return parts_->default_resources; }
const json& PodSettings::pod_patch() const { return parts_->pod_patch; }
const json& PodSettings::container_patch() const { return parts_->container_patch; }

std::string PodName(const Job& job, std::int64_t group, std::int64_t rank) {
  return job.metadata.name + "-" + job.metadata.uid + "-" + std::to_string(group) + "-" +
         std::to_string(rank);
}

std::string PodHostname(const Job& job, std::int64_t group, std::int64_t rank) {
  const std::string suffix = "-" + std::to_string(group) + "-" + std::to_string(rank);
  std::string name = job.metadata.name.substr(0, kMaxHostname - suffix.size());
  std::replace(name.begin(), name.end(), '.', '-');
  while (name.ends_with('-')) name.pop_back();
  return name + suffix;
}

Result<Document> BuildPod(const Job& job, const Replica& replica, const PodSettings& settings) {
  Result<json> pod = FromTemplate(job.spec.pod_template, settings.default_resources());
  if (!pod) return tl::unexpected(pod.error());
  const json identity = Identity(job, replica);
  pod->merge_patch(identity);
  json& spec = (*pod)["spec"];
  spec.merge_patch({{"hostname", PodHostname(job, replica.group, replica.rank)},
                    {"restartPolicy", "Never"},
                    {"nodeName", nullptr},  // It would go past the scheduler, and elsewhere.
                    {"nodeSelector", {{"kubernetes.io/hostname", replica.hostname}}}});
  PutEntries(json::array({{{"name", kSharedMemory}, {"emptyDir", {{"medium", "Memory"}}}}}),
             &spec["volumes"]);
  const json environment = Environment(job, replica, settings);
  if (Result<void> added = AddToContainers(environment, &spec["containers"]); !added) {
    return tl::unexpected(added.error());
  }
  return PatchPod(*std::move(pod), settings.pod_patch(), identity)
      .and_then(
          [&](json&& patched) { return PatchContainers(std::move(patched), settings.container_patch()); })
      .map([](json&& done) { return Document(std::move(done)); });
}

}  // namespace adaptdl
