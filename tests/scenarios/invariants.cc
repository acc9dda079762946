#include "tests/scenarios/invariants.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"
#include "tests/scenarios/workload.h"

namespace adaptdl {

using nlohmann::json;

namespace {

using std::chrono::seconds;

JobPhase PhaseOf(const Job& job) { return job.status.phase.value_or(JobPhase::kPending); }

// Whether a job may go from one phase to the other; a new group may start in the same step as the last one's
// end.
bool Follows(JobPhase before, JobPhase after) {
  switch (before) {
    case JobPhase::kPending:
      return after == JobPhase::kStarting || after == JobPhase::kFailed;
    case JobPhase::kStarting:
      return after != JobPhase::kPending;
    case JobPhase::kRunning:
      return after != JobPhase::kPending && after != JobPhase::kStarting;
    case JobPhase::kStopping:
      return after != JobPhase::kRunning;
    case JobPhase::kSucceeded:
    case JobPhase::kFailed:
      return false;
  }
  return false;
}

std::string Described(const Job& job) {
  const JobStatus& status = job.status;
  std::string text = ToString(KeyOf(job.metadata)) + " " + std::string(ToString(PhaseOf(job)));
  if (status.group) text += " group " + std::to_string(*status.group);
  text += " replicas " + std::to_string(status.replicas) + " [";
  for (const std::string& node : status.allocation) text += (text.back() == '[' ? "" : " ") + node;
  text += "]";
  const Condition* running = FindCondition(status.conditions, "Running");
  if (running != nullptr) text += " " + running->reason + ": " + running->message;
  return text;
}

// What somebody else writes of a status, as it is stored.
json Foreign(const Job& job, const json& stored) {
  json foreign = {{"train", stored.value("/status/train"_json_pointer, json())}};
  for (const Condition& one : job.status.conditions) {
    if (one.type == "Running" || one.type == "Suspended" || one.type == "Succeeded" || one.type == "Failed")
      continue;
    foreign["conditions"].push_back(Encode(one));
  }
  return foreign;
}

// Nobody has told it to stop, or taken it away.
bool FailedItself(const Pod& pod) {
  return pod.phase == PodPhase::kFailed && !pod.metadata.deletion_timestamp && pod.reason.empty();
}

template <typename T>
const T* In(const StoredPtr& stored) {
  return stored == nullptr ? nullptr : std::get_if<T>(&stored->object);
}

}  // namespace

Invariants::Invariants(SimWorld& world, Violated violated)
    : world_(world),
      violated_(std::move(violated)),
      slack_(world.faults().timeout_done + world.faults().timeout_not_done > 0 ? 70 : 2) {
  listening_ = world_.Listen([this](const Change& change) { OnChange(change); });
}

void Invariants::Fail(const Job& job, const std::string& what) const {
  violated_(Described(job) + ": " + what);
}

const Job* Invariants::FindJob(const Pod& pod) const {
  if (!pod.metadata.owner) return nullptr;
  const Result<StoredPtr> stored =
      world_.server().Get({Kind::kJob, {pod.metadata.name_space, pod.metadata.owner->name}});
  if (!stored) return nullptr;
  const Job* job = In<Job>(*stored);
  return job != nullptr && job->metadata.uid == pod.metadata.owner->uid ? job : nullptr;
}

void Invariants::OnChange(const Change& change) {
  if (change.ref.kind == Kind::kPod) return OnPod(In<Pod>(change.before), In<Pod>(change.after));
  if (change.ref.kind != Kind::kJob) return;
  const Job* before = In<Job>(change.before);
  const Job* after = In<Job>(change.after);
  OnJob(before, after);
  if (!ByOperator() || before == nullptr || after == nullptr) return;
  if (Foreign(*before, change.before->document.value()) != Foreign(*after, change.after->document.value())) {
    Fail(*after, world_.writer() + " writes what is not its own");
  }
}

void Invariants::OnJob(const Job* before, const Job* after) {
  if (after == nullptr) return OnJobGone(*before);
  if (before != nullptr) return OnNewStatus(*before, *after);
  jobs_[after->metadata.uid].moved = world_.clock().Now();
}

void Invariants::OnJobGone(const Job& job) {
  world_.Trace("job", ToString(KeyOf(job.metadata)) + " is gone");
  if (!ByOperator()) return;
  const auto& after = job.spec.ttl_seconds_after_finished;
  if (!HasEnded(job) || !after) return Fail(job, "deleted without need");
  if (world_.clock().Wall() < *job.status.completion_timestamp + seconds(*after)) {
    Fail(job, "deleted too early");
  }
}

void Invariants::OnNewStatus(const Job& before, const Job& after) {
  if (before.status == after.status) return;
  if (const std::string is = Described(after); is != Described(before)) world_.Trace("job", is);
  if (!ByOperator()) return;
  JobFacts& facts = jobs_[after.metadata.uid];
  facts.moved = world_.clock().Now();
  OnOperatorWrite(before, after);
  if (before.status.group != after.status.group) {
    facts.started.clear();
    facts.succeeded.clear();
    facts.failed.clear();
    OnNewGroup(before, after);
  }
  if (before.status.phase != after.status.phase) OnNewPhase(before, after);
  CheckAttained(before, after);
}

void Invariants::OnOperatorWrite(const Job& before, const Job& after) {
  const auto& given = after.status.allocation;
  if (given != before.status.allocation && !(given.empty() && HasEnded(after))) {
    Fail(after, "the operator changes an allocation");
  }
  const JobStatus& was = before.status;
  const JobStatus& is = after.status;
  if (HasEnded(before) && (was.reason != is.reason || was.completion_timestamp != is.completion_timestamp ||
                           was.replicas != is.replicas || was.failures != is.failures)) {
    Fail(after, "it changes after its end");
  }
  const bool failed = is.failures > was.failures || (is.reason == "PodFailure" && was.reason != is.reason);
  if (failed && jobs_[after.metadata.uid].failed.empty()) Fail(after, "no replica failed by its own doing");
  if (is.failures > after.spec.backoff_limit) Fail(after, "more failures than there may be");
  if (is.observed_generation < was.observed_generation) Fail(after, "observedGeneration goes back");
}

void Invariants::OnNewGroup(const Job& before, const Job& after) {
  const JobStatus& was = before.status;
  const JobStatus& is = after.status;
  if (!is.group || *is.group != was.group.value_or(-1) + 1) {
    return Fail(after, "its group was " + std::to_string(was.group.value_or(-1)) + " before");
  }
  if (is.phase != JobPhase::kStarting) Fail(after, "a group begins, but the job does not start");
  if (before.spec.suspend) Fail(after, "a group begins, but the job is suspended");
  if (was.retry_timestamp && world_.clock().Wall() < *was.retry_timestamp)
    Fail(after, "it was to wait longer");
  if (is.replicas < 1 || is.replicas != static_cast<std::int64_t>(was.allocation.size())) {
    Fail(after, "not as many replicas as it has been given nodes");
  }
  for (const auto& [name, pod] : jobs_[after.metadata.uid].pods) {
    if (!pod.ended) Fail(after, "a group begins, but pod " + name + " may still run");
  }
}

void Invariants::OnNewPhase(const Job& before, const Job& after) {
  const JobStatus& is = after.status;
  const JobFacts& facts = jobs_[after.metadata.uid];
  if (before.status.phase && !Follows(PhaseOf(before), PhaseOf(after))) {
    Fail(after, "after " + std::string(ToString(PhaseOf(before))));
  }
  const auto all = [&](const std::set<std::int64_t>& ranks) {
    return std::ssize(ranks) == before.status.replicas && before.status.replicas > 0;
  };
  if (is.phase == JobPhase::kStarting && before.status.group == is.group) {
    Fail(after, "it starts without a new group");
  }
  if (is.phase == JobPhase::kRunning && !all(facts.started))
    Fail(after, "not all of its replicas have started");
  if (is.phase == JobPhase::kSucceeded && !all(facts.succeeded))
    Fail(after, "not all of its replicas succeeded");
  if (!HasEnded(after)) return;
  if (!is.allocation.empty() || !is.completion_timestamp || is.replicas != 0)
    Fail(after, "it has not ended cleanly");
  if (is.phase == JobPhase::kFailed && is.reason.value_or("").empty()) Fail(after, "it does not say why");
}

// Against the server's own time, as far as it is known when a decision was made.
void Invariants::CheckAttained(const Job& before, const Job& after) {
  const JobStatus& was = before.status;
  const JobStatus& is = after.status;
  const Time now = world_.clock().Wall();
  if ((is.phase == JobPhase::kRunning) != is.running_timestamp.has_value()) {
    Fail(after, "runningTimestamp does not fit its phase");
  }
  if (is.running_timestamp && !was.running_timestamp &&
      (*is.running_timestamp > now || *is.running_timestamp + slack_ < now)) {
    Fail(after, "runningTimestamp is not now");
  }
  const std::int64_t gained = is.attained_replica_seconds - was.attained_replica_seconds;
  std::int64_t most = 0;
  std::int64_t least = 0;
  if (was.running_timestamp && !is.running_timestamp) {
    const auto ran = std::chrono::floor<seconds>(now - *was.running_timestamp);
    most = was.replicas * ran.count();
    least = was.replicas * std::max<std::int64_t>((ran - slack_).count(), 0);
  }
  if (gained < least || gained > most) {
    Fail(after, "attained " + std::to_string(gained) + " replica-seconds more, not " + std::to_string(least) +
                    " to " + std::to_string(most));
  }
}

void Invariants::OnPod(const Pod* before, const Pod* after) {
  const Pod& pod = after != nullptr ? *after : *before;
  const std::optional<Replica> replica = ReplicaOf(pod);
  if (!replica || !pod.metadata.owner) return violated_("pod " + pod.metadata.name + " is of no job");
  JobFacts& facts = jobs_[pod.metadata.owner->uid];
  facts.moved = world_.clock().Now();
  if (before == nullptr) OnNewPod(*after, *replica);
  const bool was_deleted = before != nullptr && before->metadata.deletion_timestamp;
  if (!was_deleted && (after == nullptr || after->metadata.deletion_timestamp)) OnPodTaken(pod, *replica);
  if (after == nullptr) {
    facts.pods.erase(pod.metadata.name);
    return;
  }
  facts.pods[pod.metadata.name] = {*replica, HasEnded(*after)};
  const Job* job = FindJob(pod);
  if (job != nullptr && job->status.group == replica->group) {
    if (after->phase != PodPhase::kPending) facts.started.insert(replica->rank);
    if (after->phase == PodPhase::kSucceeded) facts.succeeded.insert(replica->rank);
    if (FailedItself(*after)) facts.failed.insert(replica->rank);
  }
  CheckGroups(pod.metadata.owner->uid);
}

void Invariants::OnNewPod(const Pod& pod, const Replica& replica) {
  if (!pod_names_.insert(pod.metadata.name).second) violated_("pod " + pod.metadata.name + " is made again");
  const Job* job = FindJob(pod);
  if (job == nullptr) return;  // It went while this was on its way; so will the pod.
  const JobStatus& status = job->status;
  if (status.phase != JobPhase::kStarting || status.group != replica.group ||
      replica.replicas != status.replicas || replica.rank >= status.replicas) {
    Fail(*job, "pod " + pod.metadata.name + " is made");
  }
}

// The operator stops a group before it takes its pods.
void Invariants::OnPodTaken(const Pod& pod, const Replica& replica) {
  if (!ByOperator()) return;
  const Job* job = FindJob(pod);
  if (job == nullptr || job->status.group > replica.group) return;
  const JobPhase phase = PhaseOf(*job);
  if (job->status.group < replica.group || phase == JobPhase::kStarting || phase == JobPhase::kRunning) {
    Fail(*job, world_.writer() + " deletes pod " + pod.metadata.name);
  }
}

void Invariants::CheckGroups(const std::string& uid) {
  const PodFacts* first = nullptr;
  std::int64_t count = 0;
  for (const auto& [name, pod] : jobs_[uid].pods) {
    if (pod.ended) continue;
    ++count;
    if (first == nullptr) first = &pod;
    if (pod.replica.group != first->replica.group) {
      violated_("pod " + name + " may run, as may one of group " + std::to_string(first->replica.group));
    }
    if (count > pod.replica.replicas) {
      violated_("pod " + name + " is one more than the " + std::to_string(pod.replica.replicas) +
                " of its group");
    }
  }
}

}  // namespace adaptdl
