// What must hold of the jobs and pods in a cluster at every moment, and in the end, whatever goes wrong. It
// looks at what the API server holds, not at what anybody believes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "api/job.h"
#include "api/pod.h"
#include "cluster/clock.h"
#include "cluster/sim/sim_world.h"
#include "operator/pod_builder.h"

namespace adaptdl {

// The processes that are held to it: their names begin so.
inline constexpr std::string_view kOperatorPrefix = "operator";

class Invariants {
 public:
  using Violated = std::function<void(const std::string& what)>;

  // `world` outlives it. It watches from now on.
  Invariants(SimWorld& world, Violated violated);
  Invariants(const Invariants&) = delete;
  Invariants& operator=(const Invariants&) = delete;

  // Every job has ended, runs as it should, or says why it waits; there is nothing else. To be called when
  // for long enough nobody has changed anything any more.
  void CheckEnd();

 private:
  struct PodFacts {
    Replica replica;
    bool ended = false;
  };
  // Of one job, by its uid: pods may outlive it.
  struct JobFacts {
    std::map<std::string, PodFacts> pods;  // That are there, by name.
    std::set<std::int64_t> started;        // Ranks of the present group whose pods ever did,
    std::set<std::int64_t> succeeded;      // those that ended well,
    std::set<std::int64_t> failed;         // and those that failed by their own doing.
    Instant moved;                         // When it, or one of its pods, last changed by itself.
  };

  void OnChange(const Change& change);
  void OnJob(const Job* before, const Job* after);
  void OnNewStatus(const Job& before, const Job& after);
  void OnOperatorWrite(const Job& before, const Job& after);
  void OnNewGroup(const Job& before, const Job& after);
  void OnNewPhase(const Job& before, const Job& after);
  void CheckAttained(const Job& before, const Job& after);
  void OnJobGone(const Job& job);

  void OnPod(const Pod* before, const Pod* after);
  void OnNewPod(const Pod& pod, const Replica& replica);
  void OnPodTaken(const Pod& pod, const Replica& replica);
  void CheckGroups(const std::string& uid);

  void CheckEnd(const Job& job);
  void CheckEnded(const Job& job);
  void CheckRunning(const Job& job);
  void CheckWaiting(const Job& job);
  void CheckOrphans();

  bool ByOperator() const { return world_.writer().starts_with(kOperatorPrefix); }
  const Job* FindJob(const Pod& pod) const;
  void Fail(const Job& job, const std::string& what) const;

  SimWorld& world_;
  const Violated violated_;
  // How long after a decision its write may happen: its events are told before, and may take their time.
  const std::chrono::seconds slack_;
  std::map<std::string, JobFacts> jobs_;
  std::set<std::string> pod_names_;  // All there ever were.
  std::shared_ptr<void> listening_;
};

}  // namespace adaptdl
