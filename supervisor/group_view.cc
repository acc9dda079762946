#include "supervisor/group_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "api/replica.h"

namespace adaptdl {

namespace {

bool HasEnded(const Job& job) {
  return job.status.phase == JobPhase::kSucceeded || job.status.phase == JobPhase::kFailed;
}

bool IsLeaving(const Pod& pod) { return HasEnded(pod) || pod.metadata.deletion_timestamp; }

using Member = std::pair<Replica, const Pod*>;

// The pods of the group that this very job controls.
std::vector<Member> Members(const Job& job, const std::vector<const Pod*>& pods, std::int64_t group) {
  std::vector<Member> members;
  for (const Pod* pod : pods) {
    if (!pod->metadata.owner || pod->metadata.owner->uid != job.metadata.uid) continue;
    const std::optional<Replica> replica = ReplicaOf(*pod);
    if (replica && replica->group == group) members.emplace_back(*replica, pod);
  }
  return members;
}

GroupView Forming(std::string why) { return {.state = GroupView::State::kForming, .why = std::move(why)}; }
GroupView Over(std::string why) { return {.state = GroupView::State::kOver, .why = std::move(why)}; }

}  // namespace

GroupView LookAtGroup(const Job* job, const std::vector<const Pod*>& pods, std::int64_t group) {
  if (job == nullptr) return Forming("there is no such job yet");
  if (job->metadata.deletion_timestamp) return Over("the job is being deleted");
  if (HasEnded(*job)) return Over("the job has ended");
  if (job->status.group > group) {
    return Over("group " + std::to_string(*job->status.group) + " has taken its place");
  }
  const std::vector<Member> members = Members(*job, pods, group);
  if (members.empty()) return Forming("none of its replicas is there yet");
  const std::int64_t replicas = members.front().first.replicas;
  std::map<std::int64_t, std::vector<const Pod*>> by_rank;
  for (const auto& [replica, pod] : members) {
    if (replica.replicas != replicas) return Forming("its pods do not agree on the number of replicas");
    by_rank[replica.rank].push_back(pod);
  }
  GroupView view{.state = GroupView::State::kComplete};
  for (auto& [rank, candidates] : by_rank) {
    if (candidates.size() > 1) std::erase_if(candidates, [](const Pod* pod) { return IsLeaving(*pod); });
    if (candidates.size() != 1) return Forming("rank " + std::to_string(rank) + " has more than one pod");
    if (!candidates.front()->ip.empty()) view.addresses.push_back(candidates.front()->ip);
  }
  if (static_cast<std::int64_t>(view.addresses.size()) < replicas) {
    return Forming(std::to_string(view.addresses.size()) + " of its " + std::to_string(replicas) +
                   " replicas have an address");
  }
  return view;
}

std::optional<std::string> WhyGroupEnds(const Job& job, const std::vector<const Pod*>& pods,
                                        std::int64_t group) {
  const JobStatus& status = job.status;
  if (job.metadata.deletion_timestamp) return "Deleted";
  if (HasEnded(job)) return std::string(ToString(*status.phase));
  if (!status.group || *status.group < group) return std::nullopt;  // It has not come into view yet.
  if (*status.group > group || status.phase == JobPhase::kPending) return "Replaced";
  if (status.phase == JobPhase::kStopping) return status.restart_reason.value_or("Stopping");
  if (job.spec.suspend) return "Suspended";
  if (static_cast<std::int64_t>(status.allocation.size()) != status.replicas) return "Reallocated";
  for (const auto& [replica, pod] : Members(job, pods, group)) {
    const auto rank = static_cast<std::size_t>(replica.rank);
    if (rank >= status.allocation.size() || status.allocation[rank] != replica.node) return "Reallocated";
  }
  return std::nullopt;
}

}  // namespace adaptdl
