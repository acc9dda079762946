#include "tests/scenarios/scenario.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "cluster/sim/sim_nodes.h"
#include "cluster/sim/sim_world.h"
#include "nlohmann/json.hpp"
#include "runtime/reflector.h"
#include "tests/scenarios/echo.h"

namespace adaptdl {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kTrouble = minutes(10);  // How long jobs change and faults happen,
constexpr auto kSettle =
    minutes(12);  // and how long all has to be well after that: longer than a lost watch lasts.
constexpr int kJobs = 6;

std::uint64_t Fnv(std::uint64_t digest, std::string_view text) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

class Scenario {
 public:
  Scenario(std::uint64_t seed, const std::function<void(std::string_view)>& sink)
      : sink_(sink),
        random_(seed ^ 0x9e3779b97f4a7c15),
        world_({.seed = seed, .faults = FaultPlan::Draw(seed, kTrouble), .keep_trace = false}),
        nodes_(world_) {
    world_.SetSink([this](std::string_view line) { OnLine(line); });
    world_.Trace("world", world_.faults().ToString());
    for (int i = 0; i < 3; ++i) nodes_.Add("node-" + std::to_string(i));
    for (const char* name : {"echo-a", "echo-b"}) AddEcho(name, ++seed);
    NextChange();
  }

  ScenarioResult Run() {
    world_.clock().RunFor(kTrouble + kSettle);
    CheckEnd();
    return std::move(result_);
  }

 private:
  void OnLine(std::string_view line) {
    ++result_.lines;
    for (const char* mark : {"(fault", "(timeout", " CRASH"}) {
      if (line.find(mark) != std::string_view::npos) ++result_.faults;
    }
    result_.digest = Fnv(Fnv(result_.digest, line), "\n");
    if (sink_) sink_(line);
  }

  void Violated(const std::string& what) {
    const double now = std::chrono::duration<double>(world_.clock().Now().time_since_epoch()).count();
    result_.violations.push_back(std::to_string(now) + " " + what);
    world_.Trace("VIOLATION", what);
  }

  void AddEcho(const std::string& name, std::uint64_t seed) {
    world_.AddProcess(name, [this, name, seed](Clock& clock, Cluster& cluster) -> std::shared_ptr<void> {
      const int life = ++lives_[name];
      auto seen = std::make_shared<std::map<Ref, std::string>>();
      auto echo = std::make_shared<Echo>(
          clock, cluster, name + "-" + std::to_string(life), seed * 1000 + static_cast<std::uint64_t>(life),
          Echo::Observer{
              .changed = [this, name, seen](const Ref& ref, const Metadata*,
                                            const Metadata* after) { OnSeen(name, *seen, ref, after); },
              .acts = [this] { CheckLeaders(); }});
      echoes_[name] = echo;
      return echo;
    });
  }

  // A cache never goes back, not even after an object was deleted and made anew.
  void OnSeen(const std::string& name, std::map<Ref, std::string>& seen, const Ref& ref,
              const Metadata* after) {
    if (after == nullptr) return;
    std::string& last = seen[ref];
    if (!last.empty() && !IsOlderVersion(last, after->resource_version)) {
      Violated(name + " saw " + ToString(ref.key) + " go back from " + last + " to " +
               after->resource_version);
    }
    last = after->resource_version;
  }

  void CheckLeaders() {
    int leaders = 0;
    for (const auto& [name, echo] : echoes_) {
      const auto alive = echo.lock();
      leaders += alive != nullptr && alive->MayAct() ? 1 : 0;
    }
    if (leaders > 1) Violated("two of them lead");
  }

  // Somebody creates, changes or deletes a job every now and then.
  void NextChange() {
    change_ = world_.clock().After(random_.Between(seconds(0), seconds(8)), [this] {
      if (world_.clock().Now().time_since_epoch() >= kTrouble) return;
      const std::string name = "job-" + std::to_string(random_.Below(kJobs));
      const auto replicas = static_cast<std::int64_t>(random_.Below(4));
      const std::uint64_t what = random_.Below(10);
      const Ref ref{Kind::kJob, {"default", name}};
      const nlohmann::json spec = {{"minReplicas", replicas}, {"template", nlohmann::json::object()}};
      if (what < 4) {
        const nlohmann::json job = {{"apiVersion", "adaptdl.petuum.com/v1"},
                                    {"kind", "AdaptDLJob"},
                                    {"metadata", {{"name", name}, {"namespace", "default"}}},
                                    {"spec", spec}};
        world_.admin().Create(Kind::kJob, Document(job), [](const Result<Object>&) {});
      } else if (what < 9) {
        const nlohmann::json merge = {{"spec", spec}};
        world_.admin().Apply({.ref = ref, .part = Patch::Part::kMain, .merge = Document(merge)},
                             [](const Result<Object>&) {});
      } else {
        world_.admin().Delete({.ref = ref}, [](const Result<void>&) {});
      }
      NextChange();
    });
  }

  template <typename T>
  std::map<Key, T> AtServer() {
    std::map<Key, T> objects;
    const Page page = world_.server().List({.kind = kKindOf<T>}, 0, "").value();
    for (const Object& object : page.objects) objects.emplace(KeyOf(MetadataOf(object)), std::get<T>(object));
    return objects;
  }

  template <typename T>
  void CheckCache(const std::string& name, const WatchCache<T>& cache) {
    const std::map<Key, T> truth = AtServer<T>();
    if (cache.size() != truth.size()) {
      Violated(name + " knows " + std::to_string(cache.size()) + " " + std::string(ToString(kKindOf<T>)) +
               "s of " + std::to_string(truth.size()));
    }
    for (const auto& [key, object] : truth) {
      const auto found = cache.Find(key);
      if (found == nullptr || !(*found == object))
        Violated(name + " does not know " + ToString(key) + " as it is");
    }
  }

  void CheckEnd() {
    int leaders = 0;
    for (const auto& [name, weak] : echoes_) {
      const auto echo = weak.lock();
      if (echo == nullptr) {
        Violated(name + " does not run");
        continue;
      }
      leaders += echo->MayAct() ? 1 : 0;
      CheckCache(name, echo->jobs());
      CheckCache(name, echo->pods());
    }
    if (leaders != 1) Violated(std::to_string(leaders) + " of them lead");
    std::map<std::string, std::int64_t> pods;  // By the uid of their job.
    for (const auto& [key, pod] : AtServer<Pod>())
      ++pods[pod.metadata.owner ? pod.metadata.owner->uid : "nobody"];
    for (const auto& [key, job] : AtServer<Job>()) {
      if (job.status.replicas != job.spec.min_replicas) Violated(ToString(key) + " has a wrong status");
      if (pods[job.metadata.uid] != job.spec.min_replicas)
        Violated(ToString(key) + " has not the pods it should");
      pods.erase(job.metadata.uid);
    }
    for (const auto& [uid, count] : pods) Violated(std::to_string(count) + " pods of a job that is gone");
  }

  const std::function<void(std::string_view)>& sink_;
  ScenarioResult result_{.digest = 0xcbf29ce484222325};
  SimRandom random_;
  std::map<std::string, std::weak_ptr<Echo>> echoes_;
  std::map<std::string, int> lives_;
  SimWorld world_;
  SimNodes nodes_;
  Timer change_;
};

}  // namespace

ScenarioResult RunScenario(std::uint64_t seed, const std::function<void(std::string_view)>& sink) {
  return Scenario(seed, sink).Run();
}

}  // namespace adaptdl
