// A whole cluster in one thread and in virtual time: API server, clock, faults, and the processes of the
// control plane. The same seed and the same program give the same trace, byte for byte.
//
//   SimWorld world({.seed = 7, .faults = FaultPlan::Draw(7, 10min)});
//   SimNodes nodes(world);
//   nodes.Add("node-0", {{"nvidia.com/gpu", "4"}});
//   world.AddProcess("operator", [](Clock& clock, Cluster& cluster) {
//     return std::make_shared<Operator>(clock, cluster);
//   });
//   world.clock().RunFor(20min);
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cluster/cluster.h"
#include "cluster/sim/api_server.h"
#include "cluster/sim/fault_plan.h"
#include "cluster/sim/sim_random.h"
#include "cluster/sim/virtual_clock.h"

namespace adaptdl {

class SimCluster;
class SimWatch;
struct SimLife;

struct SimOptions {
  std::uint64_t seed = 1;
  FaultPlan faults = FaultPlan::None();
  SimApiServer::Options server = {};
  bool keep_trace = true;  // Otherwise only the sink gets it.
};

class SimWorld {
 public:
  // Makes a process anew. What it returns is the process: destroying it is its crash, or its end. Clock and
  // cluster live longer than it.
  using Factory = std::function<std::shared_ptr<void>(Clock& clock, Cluster& cluster)>;

  explicit SimWorld(SimOptions options = {});
  ~SimWorld();
  SimWorld(const SimWorld&) = delete;
  SimWorld& operator=(const SimWorld&) = delete;

  VirtualClock& clock() { return clock_; }
  SimApiServer& server() { return server_; }
  SimRandom& rng() { return rng_; }
  const FaultPlan& faults() const { return options_.faults; }
  // To look and to act from outside: no faults, but like every cluster it takes its time.
  Cluster& admin();

  // Starts the process, which from then on runs with the clock. `name` is new.
  void AddProcess(const std::string& name, Factory factory);
  // Destroys it; its timers, tasks and answers never come, but what it has sent arrives. Not from inside a
  // call by that process.
  void Crash(const std::string& name);
  // Makes it anew, where it does not run.
  void Restart(const std::string& name);
  bool IsRunning(const std::string& name) const;

  // Everything that happened, a line each: time, who, what, outcome.
  const std::string& trace() const { return trace_; }
  // Gets each line, without its end, from now on.
  void SetSink(std::function<void(std::string_view)> sink) { sink_ = std::move(sink); }
  void Trace(std::string_view who, std::string_view what);

  // Calls `listener` for every change, as it happens; it may schedule but not write. Until the handle goes.
  [[nodiscard]] std::shared_ptr<void> Listen(std::function<void(const Change&)> listener);

  // Who made the change that is being told: the name of a process, or empty where it was none.
  const std::string& writer() const { return writer_; }

  bool FaultsActive() const { return clock_.Now() < options_.faults.end; }
  // Whether a fault of that rate happens now.
  bool Fault(std::uint32_t per_million) {
    return per_million > 0 && FaultsActive() && rng_.Chance(per_million);
  }
  // The end of the outage that there is now, if there is one.
  std::optional<Instant> OutageEnd() const;

 private:
  friend class SimCluster;
  friend class SimWatch;
  struct Process;

  void OnChange(const Change& change);
  void ScheduleFaults();
  void ScheduleCollector();
  // Nothing that this process sends arrives, and nothing comes to it, for a while.
  void CutOff(const std::string& process);
  bool Reaches(const SimLife& life) const;
  void Start(Process& process);
  void Destroy(Process& process);
  // The process that has this life ends in this instant, but not inside this call, and comes back later.
  void CrashByFault(const SimLife& life);

  SimOptions options_;
  SimRandom rng_;
  SimApiServer server_;
  std::string trace_;
  std::function<void(std::string_view)> sink_;
  std::vector<std::weak_ptr<std::function<void(const Change&)>>> listeners_;
  bool collector_scheduled_ = false;
  std::string writer_;
  std::set<std::string> cut_off_;  // Processes.
  // By number, so that all are served in the order in which they began.
  std::array<std::map<std::uint64_t, SimWatch*>, std::size(kAllKinds)> watches_;
  std::uint64_t next_watch_ = 0;
  VirtualClock clock_;  // Goes before the above: what is left in it may hold watches.
  std::map<std::string, std::unique_ptr<Process>> processes_;
  std::unique_ptr<SimCluster> admin_;
};

}  // namespace adaptdl
