// The smallest controller that has everything a real one has: it keeps as many pods for each job as
// spec.minReplicas says, and tells the number in status.replicas.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/controller.h"
#include "runtime/leader_election.h"
#include "runtime/log.h"
#include "runtime/watch_cache.h"

namespace adaptdl {

class Echo {
 public:
  // What a test looks at.
  struct Observer {
    // Its caches showed another state of an object, with these resource versions; null: none before, or none
    // now.
    std::function<void(const Ref& ref, const Metadata* before, const Metadata* after)> changed;
    // It is about to write.
    std::function<void()> acts;
  };

  Echo(Clock& clock, Cluster& cluster, const std::string& identity, std::uint64_t seed, Observer observer);

  bool MayAct() const { return election_.MayAct(); }
  const WatchCache<Job>& jobs() const { return jobs_; }
  const WatchCache<Pod>& pods() const { return pods_; }

 private:
  void Reconcile(const Key& key, const Done<Outcome>& done);
  Document PodOf(const Job& job, const std::string& name) const;

  Cluster& cluster_;
  Observer observer_;
  Logger log_;
  WatchCache<Job> jobs_;
  WatchCache<Pod> pods_;
  LeaderElection election_;
  Controller controller_;
};

}  // namespace adaptdl
