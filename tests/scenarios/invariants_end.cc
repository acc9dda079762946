// What must hold in the end.
#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/scenarios/invariants.h"
#include "tests/scenarios/workload.h"

namespace adaptdl {

namespace {

using std::chrono::seconds;

// What is still on its way after this time will not come.
constexpr seconds kStill{60};

}  // namespace

void Invariants::CheckEnd() {
  const Result<Page> page = world_.server().List({.kind = Kind::kJob}, 0, "");
  for (const Object& object : page->objects) {
    if (const auto* job = std::get_if<Job>(&object)) CheckEnd(*job);
  }
  CheckOrphans();
}

void Invariants::CheckOrphans() {
  const Result<Page> page = world_.server().List({.kind = Kind::kPod}, 0, "");
  for (const Object& object : page->objects) {
    const Pod& pod = std::get<Pod>(object);
    if (FindJob(pod) == nullptr) violated_("pod " + pod.metadata.name + " has no job");
  }
}

void Invariants::CheckEnd(const Job& job) {
  if (HasEnded(job)) return CheckEnded(job);
  const bool still = world_.clock().Now() - jobs_[job.metadata.uid].moved >= kStill;
  if (!still) {
    if (!IsRestless(job)) Fail(job, "it has not come to rest");
    return;
  }
  if (job.status.observed_generation != job.metadata.generation) Fail(job, "its last change was not seen");
  const Condition* running = FindCondition(job.status.conditions, "Running");
  if (running == nullptr || running->reason.empty()) return Fail(job, "it does not say how it is");
  const bool runs = job.status.phase == JobPhase::kRunning;
  if ((running->status == "True") != runs) Fail(job, "its condition does not fit its phase");
  if (runs) return CheckRunning(job);
  CheckWaiting(job);
}

void Invariants::CheckEnded(const Job& job) {
  const auto& ttl = job.spec.ttl_seconds_after_finished;
  if (ttl && world_.clock().Wall() > *job.status.completion_timestamp + seconds(*ttl) + kStill) {
    Fail(job, "it should be gone");
  }
  if (!job.status.allocation.empty()) Fail(job, "it keeps its nodes");
  for (const auto& [name, pod] : jobs_[job.metadata.uid].pods) {
    if (!pod.ended) Fail(job, "its pod " + name + " is still there");
  }
}

// Exactly the replicas that it has been given nodes for, on those.
void Invariants::CheckRunning(const Job& job) {
  const auto& given = job.status.allocation;
  const auto& pods = jobs_[job.metadata.uid].pods;
  if (pods.size() != given.size()) Fail(job, "it has " + std::to_string(pods.size()) + " pods");
  for (const auto& [name, facts] : pods) {
    const Pod& pod =
        std::get<Pod>((*world_.server().Get({Kind::kPod, {job.metadata.name_space, name}}))->object);
    const auto rank = static_cast<std::size_t>(facts.replica.rank);
    if (rank >= given.size() || given[rank] != pod.node_name)
      Fail(job, "its pod " + name + " is on " + pod.node_name);
    if (pod.phase != PodPhase::kRunning) Fail(job, "its pod " + name + " does not run");
  }
  if (job.status.ready_replicas != std::ssize(pods))
    Fail(job, "its replicas are ready, but it does not say so");
}

void Invariants::CheckWaiting(const Job& job) {
  const Time now = world_.clock().Wall();
  if (job.status.phase == JobPhase::kPending) {
    if (!jobs_[job.metadata.uid].pods.empty()) Fail(job, "it waits, but has pods");
    const bool retries = job.status.retry_timestamp && now < *job.status.retry_timestamp;
    if (!job.spec.suspend && !retries) Fail(job, "it waits, but could start");
    return;
  }
  if (job.status.phase != JobPhase::kStarting) return Fail(job, "it is stuck");
  if (job.spec.suspend) Fail(job, "it starts, but is suspended");
  const seconds limit(job.spec.start_timeout_seconds);
  if (limit.count() > 0 && now > *job.status.group_timestamp + limit + kStill)
    Fail(job, "it starts for too long");
  if (FindCondition(job.status.conditions, "Running")->reason == "Starting") Fail(job, "it does not say why");
}

}  // namespace adaptdl
