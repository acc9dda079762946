// The replicas of jobs as they come and go, and whether what is promised of them holds at every moment.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/object.h"
#include "api/pod.h"
#include "cluster/cluster.h"
#include "runtime/event_loop.h"
#include "runtime/log.h"
#include "runtime/reflector.h"

namespace adaptdl {

// All on the loop's thread.
class ReplicaWatch final : private Reflector::Sink {
 public:
  ReplicaWatch(EventLoop& loop, Cluster& cluster, const std::string& name_space, const Logger& log);

  // Those of a job, by rank. All of one group, or there is a violation.
  std::vector<Pod> Of(const Job& job) const;
  std::size_t size() const { return pods_.size(); }
  // Changes seen so far.
  std::int64_t changes() const { return changes_; }

  // Where a job had pods of two groups at the same time, or a replica was made twice.
  const std::set<std::string>& violations() const { return violations_; }

 private:
  void Put(Object object) override;
  void Remove(const Key& key) override;
  void KeepOnly(const std::set<Key>& keys) override;
  void Ready() override {}

  EventLoop& loop_;
  std::map<Key, Pod> pods_;
  std::map<std::string, std::string> made_;  // Every pod there ever was: its uid by its name.
  // By the pod of which a list, not complete yet, may say that it was gone before.
  std::multimap<Key, std::string> suspicions_;
  std::set<std::string> violations_;
  std::int64_t changes_ = 0;
  Reflector reflector_;  // The last member: it is the first to go, and calls into the others.
};

// -1 where it has none.
std::int64_t GroupOf(const Pod& pod);
std::int64_t RankOf(const Pod& pod);

}  // namespace adaptdl
