#include "operator/lifecycle.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace adaptdl {

namespace {

using std::chrono::seconds;

// A replica that has been asked for shows up in the cache within moments. If not, somebody asks.
constexpr seconds kAskAgain{20};
// What passes by itself within this time is not worth a write.
constexpr seconds kPatience{5};
// A pod that neither starts nor says why is asked about after this time, and again after that one.
constexpr seconds kInquireAfter{30};
constexpr seconds kInquireAgain{120};
// A pod that takes longer than this to end is worth a word.
constexpr seconds kSlowStop{120};
constexpr int kMaxStartTimeouts = 3;

// A group that is lost within this time has got nowhere.
constexpr seconds kShortLife{60};

constexpr seconds kFirstDelay{10};
constexpr seconds kMaxDelay{300};

// Before the next group, after so many failures.
seconds Delay(std::int64_t failures) {
  seconds delay = kFirstDelay;
  for (std::int64_t i = 1; i < failures && delay < kMaxDelay; ++i) delay *= 2;
  return std::min(delay, kMaxDelay);
}

bool IsTerminal(const JobStatus& status) {
  return status.phase == JobPhase::kSucceeded || status.phase == JobPhase::kFailed;
}

std::string ReplicaNamed(std::int64_t rank) { return "replica " + std::to_string(rank); }

class JobLife {
 public:
  JobLife(const JobView& view, Time now)
      : view_(view),
        spec_(view.job.spec),
        memory_(view.memory),
        now_(std::chrono::floor<seconds>(now)),
        decision_{.status = view.job.status},
        status_(decision_.status) {
    for (const Pod* pod : view.pods) {
      const std::optional<Replica> replica = ReplicaOf(*pod);
      if (replica && status_.group && replica->group == *status_.group) {
        members_.emplace(replica->rank, pod);
        nodes_.emplace(replica->rank, replica->node);
      } else if (replica && replica->group > status_.group.value_or(-1)) {
        outdated_ = true;
      } else {
        strays_.push_back(pod);
      }
    }
  }

  Decision Run() && {
    if (view_.job.metadata.deletion_timestamp) return std::move(decision_);  // Its pods go with it.
    if (IsTerminal(status_)) {
      AfterTheEnd();
      return std::move(decision_);
    }
    // There is a group that the status does not know of yet. A newer one is on its way here.
    if (outdated_) return std::move(decision_);
    status_.observed_generation = view_.job.metadata.generation;
    NoteSuspension();
    if (!CheckEnd()) Advance();
    return std::move(decision_);
  }

 private:
  void Advance() {
    switch (status_.phase.value_or(JobPhase::kPending)) {
      case JobPhase::kPending:
        return Wait();
      case JobPhase::kStarting:
        return Start();
      case JobPhase::kRunning:
        return Keep();
      case JobPhase::kStopping:
        return Stop();
      case JobPhase::kSucceeded:
      case JobPhase::kFailed:
        return;
    }
  }

  // Looks again once `at` has come.
  void LookAt(Time at) {
    const seconds delay = std::max(std::chrono::ceil<seconds>(at - now_), seconds(1));
    if (!decision_.again_after || delay < *decision_.again_after) decision_.again_after = delay;
  }

  bool StatusChanges() const { return OperatorPatch(view_.job.status, status_).has_value(); }

  void SetRunning(bool running, std::string reason, std::string message) {
    SetCondition(&status_.conditions,
                 {.type = "Running",
                  .status = running ? "True" : "False",
                  .reason = std::move(reason),
                  .message = std::move(message)},
                 now_);
  }

  void NoteSuspension() {
    const bool was = FindCondition(status_.conditions, "Suspended") != nullptr;
    if (!spec_.suspend && !was) return;
    SetCondition(&status_.conditions,
                 {.type = "Suspended",
                  .status = spec_.suspend ? "True" : "False",
                  .reason = spec_.suspend ? "Suspended" : "Resumed",
                  .message = spec_.suspend ? "spec.suspend is set" : "spec.suspend is not set any more"},
                 now_);
  }

  // Everything that ends a job, whatever its phase.
  bool CheckEnd() {
    if (spec_.active_deadline_seconds && status_.start_timestamp) {
      const Time deadline = *status_.start_timestamp + seconds(*spec_.active_deadline_seconds);
      if (now_ >= deadline) {
        End(JobPhase::kFailed, "DeadlineExceeded",
            "it did not end within the " + std::to_string(*spec_.active_deadline_seconds) +
                " seconds of spec.activeDeadlineSeconds");
        return true;
      }
      LookAt(deadline);
    }
    if (!status_.group || status_.phase == JobPhase::kPending) return false;
    const auto succeeded = std::count_if(members_.begin(), members_.end(), [](const auto& member) {
      return member.second->phase == PodPhase::kSucceeded;
    });
    if (succeeded > 0 && succeeded == status_.replicas) {
      End(JobPhase::kSucceeded, "", "");
      return true;
    }
    return CheckFailure();
  }

  // A replica that fails after it has lost a peer, or while its peers are told to stop, is no failure of its
  // own.
  bool CheckFailure() {
    if (memory_.refused_for_good && status_.phase == JobPhase::kStarting) {
      End(JobPhase::kFailed, "InvalidPod", memory_.refused);
      return true;
    }
    if (status_.phase == JobPhase::kStopping || FindLoss()) return false;
    for (const auto& [rank, pod] : members_) {
      if (pod->phase != PodPhase::kFailed || (spec_.preemptible && WasPreempted(*pod))) continue;
      const std::string how = ReplicaNamed(rank) + " on " + nodes_.at(rank) + ": " + HowItFailed(*pod);
      if (status_.failures >= spec_.backoff_limit) {
        End(JobPhase::kFailed, "PodFailure", how);
        return true;
      }
      ++status_.failures;
      const seconds delay = Delay(status_.failures);
      status_.retry_timestamp = now_ + delay;
      BeginStop("PodFailure", how + "; failure " + std::to_string(status_.failures) + " of " +
                                  std::to_string(spec_.backoff_limit) + " that are allowed, next try in " +
                                  std::to_string(delay.count()) + " s");
      return true;
    }
    return false;
  }

  void End(JobPhase phase, std::string reason, std::string message) {
    const bool failed = phase == JobPhase::kFailed;
    Account();
    status_.phase = phase;
    status_.replicas = 0;
    status_.ready_replicas = 0;
    status_.allocation.clear();
    status_.completion_timestamp = now_;
    status_.retry_timestamp.reset();
    if (failed) {
      decision_.events.push_back({true, reason, message});
      status_.reason = reason;
      status_.message = message;
    } else {
      status_.reason.reset();
      status_.message.reset();
    }
    SetRunning(false, failed ? reason : "Succeeded", message);
    SetCondition(&status_.conditions,
                 {.type = failed ? "Failed" : "Succeeded",
                  .status = "True",
                  .reason = failed ? std::move(reason) : "AllReplicasSucceeded",
                  .message = std::move(message)},
                 now_);
    decision_.again_after.reset();
  }

  void AfterTheEnd() {
    status_.allocation.clear();
    if (!status_.completion_timestamp) status_.completion_timestamp = now_;
    if (StatusChanges()) return;
    if (spec_.ttl_seconds_after_finished) {
      const Time end = *status_.completion_timestamp + seconds(*spec_.ttl_seconds_after_finished);
      if (now_ >= end) {
        decision_.delete_job = true;
        return;
      }
      LookAt(end);
    }
    for (const Pod* pod : view_.pods) {
      if (pod->phase != PodPhase::kFailed) Remove(*pod);  // Those that failed are left to be looked at.
    }
  }

  void Wait() {
    status_.phase = JobPhase::kPending;
    status_.replicas = 0;
    status_.ready_replicas = 0;
    if (!strays_.empty() || !members_.empty()) {
      if (!StatusChanges()) RemoveAll();
      return;
    }
    if (spec_.suspend) return SetRunning(false, "Suspended", "spec.suspend is set");
    if (status_.retry_timestamp && now_ < *status_.retry_timestamp) return LookAt(*status_.retry_timestamp);
    if (status_.allocation.empty()) return SetRunning(false, "Pending", "it waits for an allocation");
    for (const std::string& node : status_.allocation) {
      if (view_.hostnames.contains(node)) continue;
      return SetRunning(false, "NodeGone", "its allocation has node " + node + ", which is not there");
    }
    status_.phase = JobPhase::kStarting;
    status_.group = status_.group ? *status_.group + 1 : 0;
    status_.replicas = static_cast<std::int64_t>(status_.allocation.size());
    status_.group_timestamp = now_;
    if (!status_.start_timestamp) status_.start_timestamp = now_;
    status_.retry_timestamp.reset();
    SetRunning(false, "Starting", "");
  }

  void Start() {
    if (const auto reason = WhyRestart()) return BeginStop(reason->first, reason->second);
    if (Complete() && NonePending()) {
      status_.phase = JobPhase::kRunning;
      status_.running_timestamp = now_;
      status_.start_timeouts = 0;
      status_.ready_replicas = CountReady();
      return SetRunning(true, "Running", "");
    }
    const Time begun = status_.group_timestamp.value_or(now_);
    std::string why;
    if (now_ < begun + kPatience) {
      LookAt(begun + kPatience);
    } else {
      status_.ready_replicas = CountReady();
      why = NoteBlockage();
      if (why.empty()) Inquire(begun);
    }
    if (spec_.start_timeout_seconds > 0) {
      const Time timeout = begun + seconds(spec_.start_timeout_seconds);
      if (now_ >= timeout) return GiveUpStart(why);
      LookAt(timeout);
    }
    if (!StatusChanges()) MakeReplicas();
  }

  void GiveUpStart(const std::string& why) {
    ++status_.start_timeouts;
    const std::string message = "group " + std::to_string(*status_.group) + " did not run within the " +
                                std::to_string(spec_.start_timeout_seconds) +
                                " seconds of spec.startTimeoutSeconds" + (why.empty() ? "" : "; " + why);
    if (status_.start_timeouts >= kMaxStartTimeouts) return End(JobPhase::kFailed, "StartTimeout", message);
    status_.retry_timestamp = now_ + Delay(status_.start_timeouts);
    BeginStop("StartTimeout", message);
  }

  void Keep() {
    if (const auto reason = WhyRestart()) return BeginStop(reason->first, reason->second);
    status_.ready_replicas = CountReady();
    AskForMissing();
  }

  void Stop() {
    if (RemoveAll()) return;
    if (!members_.empty() || !strays_.empty()) return NoteSlowStop();
    // What never came into view may be there all the same; asking for its deletion tells.
    for (std::int64_t rank = 0; rank < status_.replicas; ++rank) {
      if (memory_.seen.contains(rank) || memory_.gone.contains(rank)) continue;
      if (Asked(rank)) continue;
      decision_.remove.push_back({PodName(view_.job, *status_.group, rank), "", rank});
    }
    if (!decision_.remove.empty() || !AllGone()) return;
    Wait();
  }

  // All ranks have been accounted for.
  bool AllGone() const {
    for (std::int64_t rank = 0; rank < status_.replicas; ++rank) {
      if (!memory_.seen.contains(rank) && !memory_.gone.contains(rank)) return false;
    }
    return true;
  }

  void BeginStop(const std::string& reason, const std::string& message) {
    Account();
    status_.phase = JobPhase::kStopping;
    status_.restart_reason = reason;
    if (reason != "Reallocated" && reason != "Suspended") {
      decision_.events.push_back({reason == "PodFailure" || reason == "StartTimeout", reason, message});
      // What comes back to the same trouble at once is not to go round and round.
      const bool soon = now_ < status_.group_timestamp.value_or(now_) + kShortLife;
      if (soon && !status_.retry_timestamp) status_.retry_timestamp = now_ + kFirstDelay;
    }
    SetRunning(false, reason, message);
    decision_.again_after.reset();
  }

  void Account() {
    if (status_.running_timestamp) {
      const auto ran = std::chrono::floor<seconds>(now_ - *status_.running_timestamp);
      status_.attained_replica_seconds += status_.replicas * std::max<std::int64_t>(ran.count(), 0);
    }
    status_.running_timestamp.reset();
  }

  using Reason = std::pair<std::string, std::string>;

  // Why the present group has to make room for another one.
  std::optional<Reason> WhyRestart() const {
    if (spec_.suspend) return Reason("Suspended", "spec.suspend is set");
    if (static_cast<std::int64_t>(status_.allocation.size()) != status_.replicas) return Reallocated();
    for (const auto& [rank, node] : nodes_) {
      if (rank >= status_.replicas || status_.allocation[static_cast<std::size_t>(rank)] != node) {
        return Reallocated();
      }
    }
    if (auto loss = FindLoss()) return loss;
    for (const auto& [rank, pod] : members_) {
      if (!WasPreempted(*pod)) continue;
      return Reason("Preempted", ReplicaNamed(rank) + " on " + nodes_.at(rank) + ": " + HowItFailed(*pod));
    }
    return std::nullopt;
  }

  Reason Reallocated() const {
    const auto replicas = static_cast<std::int64_t>(status_.allocation.size());
    if (replicas == status_.replicas) return {"Reallocated", "to other nodes"};
    return {"Reallocated",
            "from " + std::to_string(status_.replicas) + " to " + std::to_string(replicas) + " replicas"};
  }

  // A replica that is or will be gone without the job's own doing.
  std::optional<Reason> FindLoss() const {
    for (const auto& [rank, pod] : members_) {
      if (const auto why = WhyLost(*pod)) {
        const std::string more = pod->message.empty() ? "" : ": " + pod->message;
        return Reason(*why, ReplicaNamed(rank) + " on " + nodes_.at(rank) + ": " + *why + more);
      }
    }
    for (std::int64_t rank = 0; rank < status_.replicas; ++rank) {
      if (members_.contains(rank)) continue;
      if (memory_.seen.contains(rank)) return Reason("PodDeleted", ReplicaNamed(rank) + ": its pod is gone");
      if (memory_.gone.contains(rank)) return Reason("PodMissing", ReplicaNamed(rank) + ": it has no pod");
    }
    return std::nullopt;
  }

  bool NonePending() const {
    return std::none_of(members_.begin(), members_.end(),
                        [](const auto& member) { return member.second->phase == PodPhase::kPending; });
  }

  bool Complete() const { return static_cast<std::int64_t>(members_.size()) >= status_.replicas; }

  std::int64_t CountReady() const {
    return std::count_if(members_.begin(), members_.end(),
                         [](const auto& member) { return IsReady(*member.second); });
  }

  // Asked a moment ago; an answer, or the pod, may still come.
  bool Asked(std::int64_t rank) {
    const auto asked = memory_.asked.find(rank);
    if (asked == memory_.asked.end() || now_ >= asked->second + kAskAgain) return false;
    LookAt(asked->second + kAskAgain);
    return true;
  }

  // Pods that there should be.
  void MakeReplicas() {
    // What came too late goes first.
    for (const Pod* pod : strays_) Remove(*pod);
    if (!strays_.empty()) return;
    if (!memory_.begun) return AskForMissing();
    const std::set<std::string> nodes(status_.allocation.begin(), status_.allocation.end());
    for (std::int64_t rank = 0; rank < status_.replicas; ++rank) {
      if (members_.contains(rank) || memory_.asked.contains(rank)) continue;
      const std::string& node = status_.allocation[static_cast<std::size_t>(rank)];
      const auto hostname = view_.hostnames.find(node);
      if (hostname == view_.hostnames.end()) {
        decision_.create.clear();
        return BeginStop("NodeGone", "node " + node + " is not there any more");
      }
      decision_.create.push_back({.group = *status_.group,
                                  .rank = rank,
                                  .replicas = status_.replicas,
                                  .nodes = static_cast<std::int64_t>(nodes.size()),
                                  .node = node,
                                  .hostname = hostname->second});
    }
    if (decision_.create.empty()) AskForMissing();
  }

  // Pods that should be there and are not in view.
  void AskForMissing() {
    for (std::int64_t rank = 0; rank < status_.replicas; ++rank) {
      if (!members_.contains(rank) && !Asked(rank)) decision_.look_for.push_back(rank);
    }
  }

  void Remove(const Pod& pod) {
    if (pod.metadata.deletion_timestamp) return;
    const auto asked = memory_.removed.find(pod.metadata.uid);
    if (asked != memory_.removed.end() && now_ < asked->second + kAskAgain) {
      return LookAt(asked->second + kAskAgain);  // The cache has not seen it yet.
    }
    decision_.remove.push_back({pod.metadata.name, pod.metadata.uid});
  }

  // First those that run, then, when all have ended, the rest: until then they may show that the job has
  // ended. Whether anything is left to be asked for.
  bool RemoveAll() {
    const auto add = [&](bool ended) {
      for (const Pod* pod : strays_) {
        if (HasEnded(*pod) == ended) Remove(*pod);
      }
      for (const auto& [rank, pod] : members_) {
        if (HasEnded(*pod) == ended) Remove(*pod);
      }
    };
    add(false);
    const auto runs = [](const auto& member) { return !HasEnded(*member.second); };
    if (std::none_of(members_.begin(), members_.end(), runs)) add(true);
    return !decision_.remove.empty();
  }

  // What keeps the group from starting, told once in the condition and as an event.
  std::string NoteBlockage() {
    if (!memory_.refused.empty()) return TellBlockage("PodRefused", memory_.refused);
    for (const auto& [rank, pod] : members_) {
      auto blockage = WhyBlocked(*pod);
      const auto told = memory_.told.find(rank);
      if (!blockage && pod->phase == PodPhase::kPending && told != memory_.told.end())
        blockage = told->second;
      if (!blockage) continue;
      return TellBlockage(blockage->reason, ReplicaNamed(rank) + " on " + nodes_.at(rank) + ": " +
                                                blockage->reason +
                                                (blockage->message.empty() ? "" : ": " + blockage->message));
    }
    return "";
  }

  // Of volumes that cannot be mounted, and a few other things, a pod itself says nothing.
  void Inquire(Time begun) {
    const Time next = memory_.inquired ? *memory_.inquired + kInquireAgain : begun + kInquireAfter;
    const auto silent = std::find_if(members_.begin(), members_.end(), [](const auto& member) {
      return member.second->phase == PodPhase::kPending && !member.second->node_name.empty();
    });
    if (silent == members_.end()) return;
    if (now_ < next) return LookAt(next);
    decision_.inquire = {silent->first, silent->second->metadata.uid};
  }

  // The first words for a reason stay: later ones differ by a number or a time, and each would be a write.
  std::string TellBlockage(const std::string& reason, const std::string& message) {
    const Condition* told = FindCondition(status_.conditions, "Running");
    if (told != nullptr && told->reason == reason) return told->message;
    SetRunning(false, reason, message);
    decision_.events.push_back({true, reason, message});
    return message;
  }

  void NoteSlowStop() {
    const Condition* running = FindCondition(status_.conditions, "Running");
    if (running == nullptr || !running->last_transition_time) return;
    const Time slow = *running->last_transition_time + kSlowStop;
    if (now_ < slow) return LookAt(slow);
    const Pod& pod = members_.empty() ? *strays_.front() : *members_.begin()->second;
    SetRunning(false, "Stopping",
               "pod " + pod.metadata.name + " on " + (pod.node_name.empty() ? "no node" : pod.node_name) +
                   " has not ended yet; if that node is lost, delete it from the cluster");
  }

  const JobView& view_;
  const JobSpec& spec_;
  const GroupMemory& memory_;
  const Time now_;
  Decision decision_;
  JobStatus& status_;
  std::map<std::int64_t, const Pod*> members_;  // Of the present group, by rank,
  std::map<std::int64_t, std::string> nodes_;   // and where they were to run.
  std::vector<const Pod*> strays_;              // Of groups before it, or of none.
  bool outdated_ = false;
};

}  // namespace

Decision Decide(const JobView& view, Time now) { return JobLife(view, now).Run(); }

}  // namespace adaptdl
