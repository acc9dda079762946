#include "tests/scenarios/workload.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kJobs = 4;
constexpr std::uint64_t kMostReplicas = 3;
constexpr const char* kNamespace = "default";
// A condition of the scheduler's own, which everybody else is to leave alone.
constexpr const char* kCondition = "Scheduled";

template <typename T>
std::vector<T> ListAll(const SimApiServer& server) {
  std::vector<T> all;
  Result<Page> page = server.List({.kind = kKindOf<T>}, 0, "");
  for (Object& object : page->objects) {
    if (auto* one = std::get_if<T>(&object)) all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace

bool HasEnded(const Job& job) {
  return job.status.phase == JobPhase::kSucceeded || job.status.phase == JobPhase::kFailed;
}

bool IsRestless(const Job& job) {
  const Result<Metadata> metadata = job.spec.pod_template.ReadMetadata();
  if (!metadata) return false;
  const Labels& course = metadata->annotations;
  const auto exit = course.find("played/exit");
  return course.contains("played/evict") ||
         (job.spec.preemptible && exit != course.end() && exit->second == "143");
}

Workload::Workload(SimWorld& world, const SimNodes& nodes, std::uint64_t seed, Instant calm)
    : world_(world), nodes_(nodes), random_(seed ^ 0x9e3779b97f4a7c15), calm_(calm) {
  for (std::uint64_t i = 0; i < kJobs / 2; ++i) CreateJob("job-" + std::to_string(i));
  NextWish();
  NextRound();
  NextReport();
}

bool Workload::Calm() const { return world_.clock().Now() >= calm_; }

std::string Workload::Seconds(std::uint64_t least, std::uint64_t most) {
  return std::to_string(least + random_.Below(most - least + 1));
}

void Workload::NextWish() {
  wish_ = world_.clock().After(random_.Between(milliseconds(0), seconds(6)), [this] {
    if (Calm()) return;
    Wish();
    NextWish();
  });
}

void Workload::Wish() {
  const std::string name = "job-" + std::to_string(random_.Below(kJobs));
  const std::uint64_t what = random_.Below(20);
  if (what < 8) return CreateJob(name);
  if (what < 11) return DeleteJob(name, OneOf(2));
  if (what < 15) return TakePod();
  const Result<StoredPtr> stored = world_.server().Get({Kind::kJob, {kNamespace, name}});
  if (stored) ChangeSpec(std::get<Job>((*stored)->object));
}

void Workload::CreateJob(const std::string& name) {
  world_.admin().Create(Kind::kJob, Document(DrawJob(name)), [](const Result<Object>&) {});
}

json Workload::DrawJob(const std::string& name) {
  json spec = {{"minReplicas", random_.Below(2)}};
  json annotations = DrawCourse(spec);
  if (OneOf(3)) annotations["played/grace"] = Seconds(1, 20);
  if (OneOf(20)) annotations["played/grace"] = "60";  // Longer than it is given.
  if (OneOf(6)) annotations["played/term"] = OneOf(2) ? "0" : "1";
  if (OneOf(2)) spec["backoffLimit"] = 1 + random_.Below(2);
  if (OneOf(6)) spec["preemptible"] = false;
  if (OneOf(3)) spec["ttlSecondsAfterFinished"] = random_.Below(60);
  if (OneOf(5)) spec["activeDeadlineSeconds"] = 30 + random_.Below(120);
  if (OneOf(10)) spec["suspend"] = true;
  json container = {{"name", "main"}, {"image", "played"}};
  json containers = json::array({container});
  if (OneOf(20)) containers[0].erase("image");  // The server does not take it.
  if (OneOf(20)) containers = json::array();    // Nobody can make a pod of it.
  spec["template"] = {{"metadata", {{"annotations", annotations}}}, {"spec", {{"containers", containers}}}};
  return {{"apiVersion", "adaptdl.petuum.com/v1"},
          {"kind", "AdaptDLJob"},
          {"metadata", {{"name", name}, {"namespace", kNamespace}}},
          {"spec", std::move(spec)}};
}

// What becomes of each of its replicas, as annotations for SimNodes.
json Workload::DrawCourse(json& spec) {
  const std::uint64_t kind = random_.Below(10);
  if (kind < 2) return json::object();  // They run for ever.
  if (kind < 5) return {{"played/run", Seconds(5, 60)}};
  if (kind < 7) return {{"played/run", Seconds(5, 40)}, {"played/exit", OneOf(4) ? "143" : "1"}};
  if (kind == 7) return {{"played/evict", Seconds(10, 60)}};
  spec["startTimeoutSeconds"] = OneOf(4) ? 0 : 10 + random_.Below(20);
  if (kind == 8) return {{"played/stuck", "ImagePullBackOff"}};
  return {{"played/start", Seconds(5, 25)}};
}

void Workload::DeleteJob(const std::string& name, bool and_anew) {
  world_.admin().Delete({.ref = {Kind::kJob, {kNamespace, name}}},
                        [this, name, and_anew](const Result<void>&) {
                          if (and_anew) CreateJob(name);
                        });
}

void Workload::ChangeSpec(const Job& job) {
  const std::int64_t least = job.spec.min_replicas == 0 ? 1 : 0;
  json spec = {{"minReplicas", least}, {"maxReplicas", least + 1 + static_cast<int>(random_.Below(4))}};
  if (OneOf(2)) spec = {{"suspend", !job.spec.suspend}};
  Write(job, false, {{"spec", std::move(spec)}});
}

// Somebody evicts a replica or drains a node, or force-deletes what does not seem to end.
void Workload::TakePod() {
  const std::vector<Pod> pods = ListAll<Pod>(world_.server());
  if (pods.empty()) return;
  const Pod& pod = pods[random_.Below(pods.size())];
  const std::uint64_t how = random_.Below(4);
  if (how > 0 || pod.node_name.empty()) return DeletePod(pod, how == 1);
  for (const Pod& other : pods) {
    if (other.node_name == pod.node_name) DeletePod(other, false);
  }
}

void Workload::DeletePod(const Pod& pod, bool at_once) {
  Deletion deletion{.ref = {Kind::kPod, KeyOf(pod.metadata)}, .precondition = {.uid = pod.metadata.uid}};
  if (at_once) deletion.grace = seconds(0);
  world_.admin().Delete(deletion, [](const Result<void>&) {});
}

void Workload::NextRound() {
  round_ = world_.clock().After(random_.Between(milliseconds(100), seconds(6)), [this] {
    Round();
    NextRound();
  });
}

void Workload::Round() {
  for (const Job& job : ListAll<Job>(world_.server())) {
    if (!Calm()) {
      if (OneOf(2)) Reconsider(job);
    } else if (WaitsForNodes(job)) {
      Allocate(job, DrawNodes());
    }
  }
}

bool Workload::WaitsForNodes(const Job& job) const {
  if (HasEnded(job) || job.spec.suspend) return false;
  const std::vector<std::string> present = nodes_.Present();
  const auto& given = job.status.allocation;
  return given.empty() || !std::all_of(given.begin(), given.end(), [&](const std::string& node) {
           return std::find(present.begin(), present.end(), node) != present.end();
         });
}

void Workload::Reconsider(const Job& job) {
  if (HasEnded(job)) {
    if (OneOf(20)) Allocate(job, DrawNodes());  // It has not heard of that yet.
    return;
  }
  if (job.status.allocation.empty()) {
    if (!job.spec.suspend || OneOf(4)) Allocate(job, DrawNodes());
    return;
  }
  if (!OneOf(5)) return;
  std::vector<std::string> nodes = job.status.allocation;
  switch (random_.Below(5)) {
    case 0:
      nodes.clear();
      break;
    case 1:
      nodes.back() = "node-gone";
      break;
    case 2:
      nodes.push_back(nodes.back());
      break;
    default:
      nodes = DrawNodes();
  }
  Allocate(job, std::move(nodes));
}

// Under the version that was looked at, as conditions are replaced as a whole.
void Workload::Allocate(const Job& job, std::vector<std::string> nodes) {
  json status = {{"allocation", nodes}};
  if (OneOf(3)) {
    std::vector<Condition> conditions = job.status.conditions;
    SetCondition(&conditions, {.type = kCondition, .status = nodes.empty() ? "False" : "True"},
                 std::chrono::floor<seconds>(world_.clock().Wall()));
    status["conditions"] = json::array();
    for (const Condition& one : conditions) status["conditions"].push_back(Encode(one));
  }
  Write(job, true, {{"status", std::move(status)}}, job.metadata.resource_version);
}

std::vector<std::string> Workload::DrawNodes() {
  const std::vector<std::string> present = nodes_.Present();
  std::vector<std::string> nodes;
  if (present.empty()) return nodes;
  for (std::uint64_t i = random_.Below(kMostReplicas); i < kMostReplicas; ++i) {
    nodes.push_back(present[random_.Below(present.size())]);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

void Workload::NextReport() {
  report_ = world_.clock().After(random_.Between(seconds(1), seconds(20)), [this] {
    const std::vector<Job> jobs = ListAll<Job>(world_.server());
    if (!jobs.empty()) {
      const json train = {{"initBatchSize", 1 + random_.Below(1000)}};
      Write(jobs[random_.Below(jobs.size())], true, {{"status", {{"train", train}}}});
    }
    NextReport();
  });
}

void Workload::Write(const Job& job, bool status, json merge, const std::string& resource_version) {
  world_.admin().Apply({.ref = {Kind::kJob, KeyOf(job.metadata)},
                        .part = status ? Patch::Part::kStatus : Patch::Part::kMain,
                        .merge = Document(std::move(merge)),
                        .resource_version = resource_version},
                       [](const Result<Object>&) {});
}

}  // namespace adaptdl
