#include "tests/e2e/replica_watch.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace adaptdl {

namespace {

std::int64_t NumberIn(const Pod& pod, const char* annotation) {
  const auto found = pod.metadata.annotations.find(annotation);
  return found == pod.metadata.annotations.end() ? -1 : std::stoll(found->second);
}

std::string OwnerOf(const Pod& pod) { return pod.metadata.owner ? pod.metadata.owner->uid : ""; }

}  // namespace

std::int64_t GroupOf(const Pod& pod) { return NumberIn(pod, "adaptdl/group"); }
std::int64_t RankOf(const Pod& pod) { return NumberIn(pod, "adaptdl/rank"); }

// In one page: a list that came in parts would show pods of different moments side by side.
ReplicaWatch::ReplicaWatch(EventLoop& loop, Cluster& cluster, const std::string& name_space,
                           const Logger& log)
    : loop_(loop),
      reflector_(loop, cluster,
                 {.kind = Kind::kPod, .name_space = name_space, .labels = {{"adaptdl", "true"}}},
                 {.page = 100'000}, log, *this) {
  reflector_.Start();
}

std::vector<Pod> ReplicaWatch::Of(const Job& job) const {
  std::vector<Pod> found;
  for (const auto& [key, pod] : pods_) {
    if (OwnerOf(pod) == job.metadata.uid) found.push_back(pod);
  }
  std::sort(found.begin(), found.end(), [](const Pod& a, const Pod& b) { return RankOf(a) < RankOf(b); });
  return found;
}

void ReplicaWatch::Put(Object object) {
  auto& pod = std::get<Pod>(object);
  const Key key = KeyOf(pod.metadata);
  ++changes_;
  const auto& uid = made_.try_emplace(ToString(key), pod.metadata.uid).first->second;
  if (uid != pod.metadata.uid) violations_.insert(ToString(key) + " was made twice");
  for (const auto& [other, present] : pods_) {
    if (OwnerOf(present) != OwnerOf(pod) || GroupOf(present) == GroupOf(pod)) continue;
    suspicions_.emplace(other, ToString(other) + " was still there when there was " + ToString(key));
  }
  pods_.insert_or_assign(key, std::move(pod));
  if (suspicions_.empty()) return;
  loop_.Post([this] {
    for (auto& [other, suspicion] : suspicions_) violations_.insert(suspicion);
    suspicions_.clear();
  });
}

void ReplicaWatch::Remove(const Key& key) {
  ++changes_;
  pods_.erase(key);
}

void ReplicaWatch::KeepOnly(const std::set<Key>& keys) {
  ++changes_;
  std::erase_if(pods_, [&](const auto& entry) { return !keys.contains(entry.first); });
  std::erase_if(suspicions_, [&](const auto& entry) { return !keys.contains(entry.first); });
}

}  // namespace adaptdl
