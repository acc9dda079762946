#include "cluster/sim/sim_nodes.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "api/reader.h"
#include "api/resources.h"
#include "nlohmann/json.hpp"

namespace adaptdl {

using nlohmann::json;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kTerminated = 143;
constexpr int kKilled = 137;
constexpr const char* kHostname = "kubernetes.io/hostname";

// Seconds given by an annotation; nothing where there are none.
std::optional<Duration> Seconds(const Pod& pod, const char* annotation) {
  const auto found = pod.metadata.annotations.find(annotation);
  if (found == pod.metadata.annotations.end()) return std::nullopt;
  const Result<Quantity> value = Quantity::Parse(found->second);
  return milliseconds(value ? value->MilliUnits().value_or(0) : 0);
}

int Code(const Pod& pod, const char* annotation, int otherwise) {
  const auto found = pod.metadata.annotations.find(annotation);
  if (found == pod.metadata.annotations.end()) return otherwise;
  const std::string& text = found->second;
  int code = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), code);
  return code;
}

bool HasEnded(const Pod& pod) { return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed; }

json ConditionJson(const char* type, bool holds) {
  return {{"type", type}, {"status", holds ? "True" : "False"}};
}

// The part of a pod's status that follows from the state that all of its containers are in.
json StatusOf(const Pod& pod, std::string_view phase, const json& state) {
  const bool running = state.contains("running");
  json containers = json::array();
  for (const Container& container : pod.containers) {
    containers.push_back({{"name", container.name},
                          {"ready", running},
                          {"started", running},
                          {"restartCount", 0},
                          {"image", "played"},
                          {"imageID", ""},
                          {"state", state}});
  }
  return {{"phase", phase},
          {"conditions",
           {ConditionJson("Initialized", true), ConditionJson("Ready", running),
            ConditionJson("ContainersReady", running), ConditionJson("PodScheduled", true)}},
          {"containerStatuses", std::move(containers)}};
}

Result<Labels> SelectorOf(const json& pod) {
  const json& spec = pod["spec"];
  return spec.contains("nodeSelector") ? FromJson<Labels>(spec["nodeSelector"]) : Labels();
}

bool Fits(const Labels& selector, const Node& node, const Resources& requests, const Resources& taken) {
  if (node.unschedulable || !node.ready) return false;
  for (const auto& [key, value] : selector) {
    const auto label = node.metadata.labels.find(key);
    if (label == node.metadata.labels.end() || label->second != value) return false;
  }
  return std::all_of(requests.begin(), requests.end(), [&](const auto& wanted) {
    const auto& [resource, amount] = wanted;
    const auto has = node.allocatable.find(resource);
    const auto gone = taken.find(resource);
    const std::int64_t all =
        has == node.allocatable.end() ? 0 : Discretize(resource, has->second).value_or(0);
    return amount <= all - (gone == taken.end() ? 0 : gone->second);
  });
}

template <typename T>
std::vector<T> ListAll(const SimApiServer& server) {
  const Query query{.kind = kKindOf<T>, .name_space = "", .labels = {}};
  std::vector<T> all;
  Result<Page> page = server.List(query, 0, "");
  for (Object& object : page->objects) {
    if (auto* one = std::get_if<T>(&object)) all.push_back(std::move(*one));
  }
  return all;
}

}  // namespace

// What the kubelet of its node does with one pod.
struct SimNodes::Course {
  Key key;
  std::string uid;
  std::string node;
  Resources takes;  // Nothing any more once it has ended.
  bool running = false;
  bool lost = false;  // Its node is gone: only the collector is left.
  std::optional<Instant> stop_at;
  Timer next;
};

SimNodes::SimNodes(SimWorld& world) : world_(world) {
  listening_ = world_.Listen([this](const Change& change) { OnChange(change); });
  for (const Instant at : world_.faults().node_losses) {
    faults_.push_back(Later(at - world_.clock().Now(), [this] { LoseSomeNode(); }));
  }
}

SimNodes::~SimNodes() = default;

void SimNodes::Add(const std::string& name, const Labels& resources, Labels labels) {
  labels.try_emplace(kHostname, name);
  json amounts = {{"cpu", "64"}, {"memory", "256Gi"}, {"ephemeral-storage", "1Ti"}, {"pods", "110"}};
  for (const auto& [resource, amount] : resources) amounts[resource] = amount;
  added_[name] = Document({{"apiVersion", "v1"},
                           {"kind", "Node"},
                           {"metadata", {{"name", name}, {"labels", labels}}},
                           {"status",
                            {{"capacity", amounts},
                             {"allocatable", amounts},
                             {"conditions", json::array({ConditionJson("Ready", true)})}}}});
  Return(name);
}

void SimNodes::Return(const std::string& name) {
  const bool is_new = world_.server().Create(Kind::kNode, added_.at(name), world_.clock().Wall()).has_value();
  if (is_new) world_.Trace("node", name + " joins");
}

void SimNodes::Vanish(const std::string& name) {
  world_.Trace("node", name + " vanishes");
  (void)world_.server().Delete({.ref = {Kind::kNode, {"", name}}}, world_.clock().Wall());
}

std::vector<std::string> SimNodes::Present() const {
  std::vector<std::string> names;
  for (const Node& node : ListAll<Node>(world_.server())) names.push_back(node.metadata.name);
  return names;
}

void SimNodes::LoseSomeNode() {
  const std::vector<std::string> names = Present();
  if (names.empty() || !world_.FaultsActive()) return;
  const std::string& name = names[world_.rng().Below(names.size())];
  const Duration away = world_.rng().Between(seconds(20), seconds(200));
  Vanish(name);
  if (!added_.contains(name)) return;
  returns_[name] =
      Later(std::min(away, world_.faults().end - world_.clock().Now()), [this, name] { Return(name); });
}

void SimNodes::OnChange(const Change& change) {
  if (change.ref.kind == Kind::kNode) {
    ScheduleBinding();
    if (change.after != nullptr) return;
    for (auto& [uid, course] : courses_) {
      if (course.node == change.ref.key.name) CollectLost(course);
    }
  } else if (change.ref.kind == Kind::kPod && change.after == nullptr) {
    unbound_.erase(change.ref.key);
    courses_.erase(MetadataOf(change.before->object).uid);
    ScheduleBinding();
  } else if (change.ref.kind == Kind::kPod) {
    OnPod(change.ref.key, std::get<Pod>(change.after->object));
  }
}

void SimNodes::OnPod(const Key& key, const Pod& pod) {
  if (pod.node_name.empty()) {
    unbound_.insert(key);
    return ScheduleBinding();
  }
  unbound_.erase(key);
  const auto [found, is_new] = courses_.try_emplace(pod.metadata.uid);
  Course& course = found->second;
  if (is_new) {
    course.key = key;
    course.uid = pod.metadata.uid;
    course.node = pod.node_name;
    course.takes = PodRequests(pod.containers).value_or(Resources());
    if (!world_.server().Get({Kind::kNode, {"", pod.node_name}})) return CollectLost(course);
    if (!HasEnded(pod)) Begin(pod, course);
  }
  if (HasEnded(pod)) {
    course.takes.clear();
    ScheduleBinding();
  }
  if (pod.metadata.deletion_timestamp && !course.lost) Stop(pod, course);
}

void SimNodes::CollectLost(Course& course) {
  if (std::exchange(course.lost, true)) return;
  course.next = Later(world_.rng().Between(seconds(40), seconds(60)),
                      [this, &course] { ForceDelete(course, "pod-collector"); });
}

void SimNodes::ForceDelete(const Course& course, std::string_view who) {
  world_.Trace(who, "DELETE Pod " + ToString(course.key));
  const Precondition same{.uid = course.uid, .resource_version = {}};
  (void)world_.server().Delete({{Kind::kPod, course.key}, same, seconds(0)}, world_.clock().Wall());
}

void SimNodes::ScheduleBinding() {
  if (binding_ != nullptr || unbound_.empty()) return;
  binding_ = Later(world_.rng().Between(milliseconds(5), milliseconds(100)), [this] { BindWaiting(); });
}

void SimNodes::BindWaiting() {
  binding_ = nullptr;
  const std::vector<Node> nodes = ListAll<Node>(world_.server());
  std::map<std::string, Resources> taken;
  const auto take = [&](const std::string& node, const Resources& amounts) {
    for (const auto& [resource, amount] : amounts) taken[node][resource] += amount;
  };
  for (const auto& [uid, course] : courses_) take(course.node, course.takes);
  for (const Key& key : std::set<Key>(unbound_)) {
    const Result<StoredPtr> stored = world_.server().Get({Kind::kPod, key});
    if (!stored) continue;
    const Pod& pod = std::get<Pod>((*stored)->object);
    const Result<Labels> selector = SelectorOf((*stored)->document.value());
    const Result<Resources> requests = PodRequests(pod.containers);
    if (!selector || !requests || pod.metadata.deletion_timestamp) continue;
    const auto node = std::find_if(nodes.begin(), nodes.end(), [&](const Node& one) {
      return Fits(*selector, one, *requests, taken[one.metadata.name]);
    });
    if (node == nodes.end()) continue;
    const std::string& name = node->metadata.name;
    world_.Trace("kube-scheduler", "BIND Pod " + ToString(key) + " to " + name);
    if (world_.server().Bind(key, name, world_.clock().Wall())) take(name, *requests);
  }
}

void SimNodes::Begin(const Pod& pod, Course& course) {
  const Duration start =
      Seconds(pod, "played/start").value_or(world_.rng().Between(milliseconds(50), milliseconds(800)));
  const auto stuck = pod.metadata.annotations.find("played/stuck");
  if (stuck == pod.metadata.annotations.end()) {
    course.next = Later(start, [this, pod] { Run(pod); });
    return;
  }
  course.next = Later(start, [this, pod, reason = stuck->second] {
    const json state = {{"waiting", {{"reason", reason}, {"message", "played: it never starts"}}}};
    WriteStatus(pod, "waits", StatusOf(pod, "Pending", state));
  });
}

void SimNodes::Run(const Pod& pod) {
  Course& course = courses_.at(pod.metadata.uid);
  course.running = true;
  const int address = ++addresses_;
  const std::string ip = "10." + std::to_string(address >> 16) + "." + std::to_string(address >> 8 & 255) +
                         "." + std::to_string(address & 255);
  const std::string now = FormatTime(std::chrono::floor<seconds>(world_.clock().Wall()));
  json status = StatusOf(pod, "Running", {{"running", {{"startedAt", now}}}});
  status["startTime"] = now;
  status["podIP"] = ip;
  status["podIPs"] = json::array({{{"ip", ip}}});
  WriteStatus(pod, "runs", std::move(status));
  const std::optional<Duration> run = Seconds(pod, "played/run");
  if (const std::optional<Duration> evict = Seconds(pod, "played/evict")) {
    course.next = Later(*evict, [this, pod] { Evict(pod); });
  } else if (run) {
    course.next = Later(*run, [this, pod] { End(pod, Code(pod, "played/exit", 0)); });
  }
}

void SimNodes::End(const Pod& pod, int code) {
  courses_.at(pod.metadata.uid).running = false;
  const json terminated = {{"exitCode", code}, {"reason", code == 0 ? "Completed" : "Error"}};
  WriteStatus(pod, "ends with " + std::to_string(code),
              StatusOf(pod, code == 0 ? "Succeeded" : "Failed", {{"terminated", terminated}}));
}

void SimNodes::Evict(const Pod& pod) {
  courses_.at(pod.metadata.uid).running = false;
  const json terminated = {{"exitCode", kKilled}, {"reason", "Error"}};
  json status = StatusOf(pod, "Failed", {{"terminated", terminated}});
  status["reason"] = "Evicted";
  status["message"] = "The node was low on resource: memory. ";
  WriteStatus(pod, "is evicted", std::move(status));
}

// Told to stop, a pod takes its time, but not more than it is given; a second request may give it less.
void SimNodes::Stop(const Pod& pod, Course& course) {
  const Instant now = world_.clock().Now();
  // The time stamp is cut to a whole second.
  const Duration left = *pod.metadata.deletion_timestamp + seconds(1) - world_.clock().Wall();
  const Instant killed_at = now + std::max(left, Duration::zero());
  if (course.stop_at && *course.stop_at <= killed_at) return;
  const Duration wanted = Seconds(pod, "played/grace").value_or(milliseconds(0));
  const Instant ends_at = course.stop_at.value_or(now + wanted);
  const bool killed = killed_at < ends_at;
  course.stop_at = std::min(ends_at, killed_at);
  course.next = Later(*course.stop_at - now, [this, pod, killed] {
    Course& ended = courses_.at(pod.metadata.uid);
    if (ended.running) End(pod, killed ? kKilled : Code(pod, "played/term", kTerminated));
    ended.next = Later(world_.rng().Between(milliseconds(10), milliseconds(500)),
                       [this, &ended] { ForceDelete(ended, "kubelet " + ended.node); });
  });
}

void SimNodes::WriteStatus(const Pod& pod, std::string_view what, json status) {
  const Ref ref{Kind::kPod, KeyOf(pod.metadata)};
  world_.Trace("kubelet " + pod.node_name, "Pod " + ToString(ref.key) + " " + std::string(what));
  const Result<StoredPtr> now = world_.server().Get(ref);
  if (!now || MetadataOf((*now)->object).uid != pod.metadata.uid) return;  // Another pod of that name.
  json merge = {{"status", std::move(status)}};
  (void)world_.server().Apply({.ref = ref, .part = Patch::Part::kStatus, .merge = Document(std::move(merge))},
                              world_.clock().Wall());
}

Timer SimNodes::Later(Duration delay, Step step) {
  auto timer = std::make_shared<Step>(std::move(step));
  Wait(delay, timer);
  return timer;
}

void SimNodes::Wait(Duration delay, const std::weak_ptr<Step>& step) {
  // If the step is still there so is this object, which holds all of them.
  world_.clock().Schedule(delay, [this, step] {
    const std::shared_ptr<Step> run = step.lock();
    if (run == nullptr) return;
    const std::optional<Instant> outage = world_.OutageEnd();
    if (!outage) return (*run)();
    Wait(*outage - world_.clock().Now() + world_.rng().Between(milliseconds(1), seconds(1)), step);
  });
}

}  // namespace adaptdl
