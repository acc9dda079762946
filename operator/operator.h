// The operator: from an AdaptDLJob to its pods. Everything it needs on any cluster, on one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "operator/pod_builder.h"
#include "operator/reconciler.h"
#include "runtime/controller.h"
#include "runtime/leader_election.h"
#include "runtime/log.h"
#include "runtime/watch_cache.h"

namespace adaptdl {

struct OperatorOptions {
  LeaderElectionOptions election;
  PodSettings pods = {};
  std::string name_space = {};   // Whose jobs; empty: of every namespace.
  std::size_t concurrency = 32;  // Jobs in work at the same time.
  std::uint64_t seed = 0;
};

// All on the clock's thread.
class Operator {
 public:
  // The options are valid. Clock and cluster outlive it. It begins at once.
  Operator(Clock& clock, Cluster& cluster, const OperatorOptions& options, const Logger& log,
           const OperatorMetrics& metrics = {}, const ControllerMetrics& controller_metrics = {});
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;

  // Whether this instance is the one that acts, at this moment.
  bool MayAct() const { return election_.MayAct(); }
  // All caches have been filled.
  bool ready() const { return jobs_.ready() && pods_.ready() && nodes_.ready(); }
  // The same with a word: what keeps them from being filled, where that is known.
  Result<void> Readiness() const;

  const WatchCache<Job>& jobs() const { return jobs_; }
  const WatchCache<Pod>& pods() const { return pods_; }
  const WatchCache<Node>& nodes() const { return nodes_; }

  // Brings gauges up to date.
  void Measure() const { controller_.Measure(); }

  // Finishes what is in work, takes up nothing more, gives the lease back, and calls `done`. Called once.
  void Stop(std::function<void()> done);

 private:
  void OnJob(const Key& key, const Job* before, const Job* after);
  void OnPod(const Pod* before, const Pod* after);
  void OnNode(const Key& key, const Node* before, const Node* after);
  void OnUnreadable(const Unreadable& job);
  void OnLeading();

  WatchCache<Job> jobs_;
  WatchCache<Pod> pods_;
  WatchCache<Node> nodes_;
  LeaderElection election_;
  Reconciler reconciler_;
  Controller controller_;
};

}  // namespace adaptdl
