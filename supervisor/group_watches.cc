#include "supervisor/group_watches.h"

#include <set>
#include <utility>
#include <vector>

namespace adaptdl {

GroupWatches::WatchId GroupWatches::Add(const GroupId& id, Ends ends) {
  if (const auto why = WhyEnds(id)) {
    ends(*why);
    return 0;
  }
  const WatchId watch = next_++;
  watching_[id].emplace(watch, std::move(ends));
  groups_.emplace(watch, id);
  return watch;
}

void GroupWatches::Remove(WatchId watch) {
  const auto group = groups_.find(watch);
  if (group == groups_.end()) return;
  const auto watching = watching_.find(group->second);
  watching->second.erase(watch);
  if (watching->second.empty()) watching_.erase(watching);
  groups_.erase(group);
}

std::optional<std::string> GroupWatches::WhyEnds(const GroupId& id) const {
  if (!caches_.ready()) return std::nullopt;
  const std::shared_ptr<const Job> job = caches_.jobs.Find(id.job);
  if (job == nullptr || (!id.uid.empty() && job->metadata.uid != id.uid)) return "Deleted";
  std::vector<std::shared_ptr<const Pod>> keep;
  return WhyGroupEnds(*job, caches_.PodsOf(id.job, &keep), id.group);
}

void GroupWatches::Look(const Key& job) {
  std::vector<std::pair<Ends, std::string>> told;
  for (auto at = watching_.lower_bound({.job = job, .group = INT64_MIN});
       at != watching_.end() && at->first.job == job;) {
    const auto why = WhyEnds(at->first);
    if (!why) {
      ++at;
      continue;
    }
    for (auto& [watch, ends] : at->second) {
      groups_.erase(watch);
      told.emplace_back(std::move(ends), *why);
    }
    at = watching_.erase(at);
  }
  for (const auto& [ends, why] : told) ends(why);
}

void GroupWatches::LookAtAll() {
  std::set<Key> jobs;
  for (const auto& [id, watches] : watching_) jobs.insert(id.job);
  for (const Key& job : jobs) Look(job);
}

std::size_t GroupWatches::WatchesOf(const Key& job) const {
  std::size_t count = 0;
  for (auto at = watching_.lower_bound({.job = job, .group = INT64_MIN});
       at != watching_.end() && at->first.job == job; ++at) {
    count += at->second.size();
  }
  return count;
}

}  // namespace adaptdl
