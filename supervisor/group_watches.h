// Replicas that want to be told at once when their group is about to end, so that a checkpoint can begin
// before anybody is stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "supervisor/discovery.h"

namespace adaptdl {

// All on the clock's thread.
class GroupWatches {
 public:
  using WatchId = std::uint64_t;  // Never 0.
  // Why the group ends, in one word. The last thing that is told.
  using Ends = std::function<void(const std::string& reason)>;

  // The caches outlive it.
  explicit GroupWatches(SupervisorCaches caches) : caches_(caches) {}
  GroupWatches(const GroupWatches&) = delete;
  GroupWatches& operator=(const GroupWatches&) = delete;

  // Calls `ends` once, when the group has to end; inside this call where that is so already, and then the
  // result is 0.
  WatchId Add(const GroupId& id, Ends ends);
  void Remove(WatchId watch);

  // Something about that job, or all of them, may have changed.
  void Look(const Key& job);
  void LookAtAll();

  std::size_t size() const { return groups_.size(); }
  std::size_t WatchesOf(const Key& job) const;

 private:
  // Nothing as long as it goes on, as far as is known.
  std::optional<std::string> WhyEnds(const GroupId& id) const;

  const SupervisorCaches caches_;
  std::map<GroupId, std::map<WatchId, Ends>> watching_;
  std::map<WatchId, GroupId> groups_;
  WatchId next_ = 1;
};

}  // namespace adaptdl
