// Replicas that wait for their peers' addresses. A poll costs no call to the cluster, no thread, and little
// memory: it is looked at again when its job or one of its pods changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/object.h"
#include "cluster/clock.h"
#include "runtime/metrics.h"
#include "runtime/watch_cache.h"
#include "supervisor/group_view.h"

namespace adaptdl {

// Which group is meant.
struct GroupId {
  Key job;
  std::int64_t group = 0;
  std::string uid = {};  // Of the job; empty: whichever has that name.

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads it.
  friend auto operator<=>(const GroupId&, const GroupId&) = default;
};

// Where jobs and pods are looked up; the latter by the index "job", see JobsOfPod.
struct SupervisorCaches {
  const WatchCache<Job>& jobs;
  const WatchCache<Pod>& pods;

  bool ready() const { return jobs.ready() && pods.ready(); }
  // The job that is meant, if it is there.
  std::shared_ptr<const Job> Find(const GroupId& id) const;
  // Pods that say they are of that job, as long as `keep` lives.
  std::vector<const Pod*> PodsOf(const Key& job, std::vector<std::shared_ptr<const Pod>>* keep) const;
};

struct DiscoveryAnswer {
  // Null: not within the time given, or the program is about to end. To be asked again.
  std::shared_ptr<const std::vector<std::string>> addresses;
  std::string why = {};  // Of the latter: what is missing.
};

// Left as it is it measures nothing.
struct DiscoveryMetrics {
  static Result<DiscoveryMetrics> Make(Metrics& metrics);

  Gauge polls;
  Histogram wait_seconds;  // By result: found, timeout, left.
};

// All on the clock's thread.
class Discovery {
 public:
  using PollId = std::uint64_t;  // Never 0.
  using Answered = std::function<void(const DiscoveryAnswer& answer)>;

  // Clock and caches outlive it.
  Discovery(Clock& clock, SupervisorCaches caches, DiscoveryMetrics metrics = {});
  Discovery(const Discovery&) = delete;
  Discovery& operator=(const Discovery&) = delete;

  // Calls `done` once: with the addresses as soon as the group is complete, without after `timeout`. Inside
  // this call where nothing is to be waited for; then the result is 0.
  PollId Ask(const GroupId& id, Duration timeout, Answered done);
  // Nobody waits for the answer any more.
  void Forget(PollId poll);

  // Something about that job, or all of them, may have changed.
  void Look(const Key& job);
  void LookAtAll();

  // Answers all who wait, and from now on everybody at once: "not yet".
  void Drain();

  std::size_t polls() const { return polls_.size(); }
  std::size_t PollsOf(const Key& job) const;
  void Measure() const;

 private:
  struct Poll {
    GroupId id;
    Instant begun;
    Answered done;
    Timer timer;
  };

  DiscoveryAnswer LookAt(const GroupId& id) const;
  void AnswerAll(const std::vector<PollId>& polls, const DiscoveryAnswer& answer);
  void Finish(PollId poll, const DiscoveryAnswer& answer);
  Poll Remove(PollId poll);

  Clock& clock_;
  const SupervisorCaches caches_;
  const DiscoveryMetrics metrics_;
  std::map<PollId, Poll> polls_;
  std::map<GroupId, std::set<PollId>> waiting_;
  PollId next_ = 1;
  bool draining_ = false;
};

}  // namespace adaptdl
