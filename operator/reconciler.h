// Carries out what is decided for a job, through the port.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "operator/lifecycle.h"
#include "operator/pod_builder.h"
#include "runtime/controller.h"
#include "runtime/log.h"
#include "runtime/metrics.h"
#include "runtime/rate_limit.h"
#include "runtime/watch_cache.h"

namespace adaptdl {

// Left as it is it measures nothing.
struct OperatorMetrics {
  static Result<OperatorMetrics> Make(Metrics& metrics);

  Counter submissions;
  Counter submissions_total;     // The same, under the name that AdaptDL's own library made of it.
  Histogram completion_seconds;  // From creation to end, by phase.
  Counter restarts;              // By reason.
};

// The nodes in the allocation of a job, as an index of jobs.
std::vector<std::string> NodesOfJob(const Job& job);

// All on the clock's thread.
class Reconciler {
 public:
  // What it looks at: pods with the index "job", see JobsOfPod. They outlive it.
  struct Caches {
    const WatchCache<Job>& jobs;
    const WatchCache<Pod>& pods;
    const WatchCache<Node>& nodes;
  };

  // `may_act` is asked before every write.
  Reconciler(Clock& clock, Cluster& cluster, Caches caches, PodSettings settings,
             std::function<bool()> may_act, Logger log, OperatorMetrics metrics = {});
  Reconciler(const Reconciler&) = delete;
  Reconciler& operator=(const Reconciler&) = delete;
  ~Reconciler();

  void Reconcile(const Key& key, Done<Outcome> done);

  // A job that nobody can do anything for. Says so in the log and in an event.
  void TellUnreadable(const Unreadable& job);

  // A pod has come into view.
  void Saw(const Pod& pod);
  // A job is gone, or another one has its name.
  void Forget(const std::string& uid);
  // Somebody else may act from now on: whatever was known beyond the caches no longer counts.
  void ForgetAll();

 private:
  struct Pass;
  using PassPtr = std::shared_ptr<Pass>;

  std::shared_ptr<const Job> Newest(const Key& key);
  JobView ViewOf(const Job& job);
  GroupMemory& MemoryOf(const Job& job);

  void Look(const PassPtr& pass);
  void Tell(const PassPtr& pass, std::size_t next);
  void Write(const PassPtr& pass);
  void OnWritten(const PassPtr& pass, const Result<Object>& result);
  void Act(const PassPtr& pass);
  void CreatePod(const PassPtr& pass, const Replica& replica);
  void RemovePod(const PassPtr& pass, const PodDeletion& deletion);
  void LookFor(const PassPtr& pass, std::int64_t rank);
  void Inquire(const PassPtr& pass, const Inquiry& inquiry);
  void DeleteJob(const PassPtr& pass);
  void OnActed(const PassPtr& pass, const Result<void>& result);
  void Record(const Job& before, const Job& after);

  Clock& clock_;
  Cluster& cluster_;
  const Caches caches_;
  const PodSettings settings_;
  const std::function<bool()> may_act_;
  const Logger log_;
  const OperatorMetrics metrics_;
  // The server reads through all events there are for each, and whole clusters may be slow to start.
  RateLimit inquiries_{0.5, 4};
  std::uint64_t term_ = 0;                       // Grows whenever somebody else may have acted.
  std::map<std::string, GroupMemory> memories_;  // By the uid of the job.
  std::map<std::string, std::shared_ptr<const Job>>
      written_;                        // Answers to our writes that the cache lags behind.
  std::shared_ptr<Reconciler*> self_;  // Emptied when this is destroyed, for answers that come later.
};

}  // namespace adaptdl
