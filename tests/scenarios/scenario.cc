#include "tests/scenarios/scenario.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "cluster/sim/sim_nodes.h"
#include "cluster/sim/sim_world.h"
#include "operator/operator.h"
#include "tests/scenarios/invariants.h"
#include "tests/scenarios/workload.h"

namespace adaptdl {

namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr auto kTrouble = minutes(3);  // How long jobs change and faults happen,
constexpr auto kSettle = minutes(4);   // and after how long all has to be well again.
constexpr FaultFamily kFamilies[] = {FaultFamily::kCrashes, FaultFamily::kUnobserved, FaultFamily::kStale,
                                     FaultFamily::kAll};

std::uint64_t Fnv(std::uint64_t digest, std::string_view text) {
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return digest;
}

class Scenario {
 public:
  Scenario(std::uint64_t seed, FaultFamily family, const std::function<void(std::string_view)>& sink)
      : sink_(sink),
        random_(seed ^ 0x5ca1ab1e),
        world_({.seed = seed, .faults = FaultPlan::Draw(seed, kTrouble, family), .keep_trace = false}),
        nodes_(world_),
        invariants_(world_, [this](const std::string& what) { Violated(what); }) {
    world_.SetSink([this](std::string_view line) { OnLine(line); });
    world_.Trace("world", "seed " + std::to_string(seed) + ", faults: " + world_.faults().ToString());
    listening_ = world_.Listen([this](const Change&) { CheckLeaders(); });
    for (int i = 0; i < 4; ++i) nodes_.Add("node-" + std::to_string(i));
    for (const char* name : {"operator-a", "operator-b"}) AddOperator(name, ++seed);
    workload_ = std::make_unique<Workload>(world_, nodes_, seed, Instant(kTrouble));
    NextUpgrade();
  }

  ScenarioResult Run() {
    world_.clock().RunFor(kTrouble + kSettle);
    CheckEnd();
    return std::move(result_);
  }

 private:
  void OnLine(std::string_view line) {
    ++result_.lines;
    result_.digest = Fnv(Fnv(result_.digest, line), "\n");
    if (sink_) sink_(line);
  }

  void Violated(const std::string& what) {
    const double now = std::chrono::duration<double>(world_.clock().Now().time_since_epoch()).count();
    result_.violations.push_back(std::to_string(now) + " " + what);
    world_.Trace("VIOLATION", what);
  }

  void AddOperator(const std::string& name, std::uint64_t seed) {
    world_.AddProcess(name, [this, name, seed](Clock& clock, Cluster& cluster) -> std::shared_ptr<void> {
      const int life = ++lives_[name];
      const std::string identity = name + "-" + std::to_string(life);
      const std::uint64_t own = seed * 1000 + static_cast<std::uint64_t>(life);
      const Logger quiet("operator", {.level = LogLevel::kError, .sink = [](std::string_view) {}});
      auto made = std::make_shared<Operator>(
          clock, cluster,
          OperatorOptions{.election = {.lease = {"adaptdl", "operator"}, .identity = identity, .seed = own},
                          .seed = own},
          quiet);
      operators_[name] = made;
      return made;
    });
  }

  // One of them is stopped in good order and started anew, as when it is upgraded.
  void NextUpgrade() {
    upgrade_ = world_.clock().After(random_.Between(seconds(5), seconds(60)), [this] {
      if (!world_.FaultsActive()) return;
      const std::string name = random_.Below(2) == 0 ? "operator-a" : "operator-b";
      if (world_.IsRunning(name)) Upgrade(name, operators_[name].lock());
      NextUpgrade();
    });
  }

  void Upgrade(const std::string& name, const std::shared_ptr<Operator>& running) {
    const int life = lives_[name];
    if (std::exchange(stopped_[name], life) == life) return;  // It is about to stop.
    world_.Trace(name, "STOP");
    running->Stop([this, name, life] {
      // Not from inside: this destroys it.
      world_.clock().Schedule(seconds(0), [this, name, life] {
        if (life == lives_[name]) world_.Crash(name);
      });
      world_.clock().Schedule(random_.Between(seconds(0), seconds(20)),
                              [this, name] { world_.Restart(name); });
    });
  }

  void CheckLeaders() {
    int leaders = 0;
    for (const auto& [name, weak] : operators_) {
      const auto one = weak.lock();
      leaders += one != nullptr && one->MayAct() ? 1 : 0;
    }
    if (leaders > 1) Violated("two of them lead");
  }

  void CheckEnd() {
    invariants_.CheckEnd();
    int leaders = 0;
    for (const auto& [name, weak] : operators_) {
      const auto one = weak.lock();
      if (one == nullptr) {
        Violated(name + " does not run");
        continue;
      }
      leaders += one->MayAct() ? 1 : 0;
      CheckCache(name, one->jobs());
      CheckCache(name, one->pods());
      CheckCache(name, one->nodes());
    }
    if (leaders != 1) Violated(std::to_string(leaders) + " of them lead");
  }

  // Restless jobs go on, so that there is always something on its way; but for a moment all is known.
  template <typename T>
  void CheckCache(const std::string& name, const WatchCache<T>& cache) {
    if (world_.clock().RunUntil([&] { return IsComplete(cache); }, seconds(10))) return;
    Violated(name + " does not know every " + std::string(ToString(kKindOf<T>)) + " as it is");
  }

  template <typename T>
  bool IsComplete(const WatchCache<T>& cache) {
    const Page truth = world_.server().List({.kind = kKindOf<T>}, 0, "").value();
    return cache.size() == truth.objects.size() &&
           std::all_of(truth.objects.begin(), truth.objects.end(), [&](const Object& object) {
             const Metadata& metadata = MetadataOf(object);
             const auto found = cache.Find(KeyOf(metadata));
             return found != nullptr && found->metadata.resource_version == metadata.resource_version;
           });
  }

  const std::function<void(std::string_view)>& sink_;
  ScenarioResult result_{.digest = 0xcbf29ce484222325};
  SimRandom random_;
  std::map<std::string, std::weak_ptr<Operator>> operators_;
  std::map<std::string, int> lives_;
  std::map<std::string, int> stopped_;  // The life that was last told to stop.
  SimWorld world_;
  SimNodes nodes_;
  Invariants invariants_;
  std::shared_ptr<void> listening_;
  std::unique_ptr<Workload> workload_;
  Timer upgrade_;
};

}  // namespace

ScenarioResult RunScenario(std::uint64_t seed, const std::function<void(std::string_view)>& sink,
                           std::optional<FaultFamily> family) {
  return Scenario(seed, family.value_or(kFamilies[seed % std::size(kFamilies)]), sink).Run();
}

}  // namespace adaptdl
