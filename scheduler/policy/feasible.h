// Whether a proposal keeps the rules, for tests: written from the rules alone, and with nothing of the
// allocator's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "scheduler/policy/policy.h"

namespace adaptdl {

__extension__ using Wide = __int128;  // Sums of amounts fit.

// The first rule that is broken, or "".
class RuleCheck {
 public:
  RuleCheck(const Snapshot& snapshot, const Proposal& proposal) : snapshot_(snapshot), proposal_(proposal) {}

  std::string operator()() {
    if (!std::isfinite(proposal_.objective)) return "the objective is not finite";
    if (proposal_.allocation.size() != snapshot_.jobs.size()) return "not one entry for each job";
    if (proposal_.reasons.size() != snapshot_.jobs.size()) return "not one reason for each job";
    for (const auto& [name, job] : snapshot_.jobs) {
      if (std::string broken = Job(name, job); !broken.empty()) return Printable(name, 40) + ": " + broken;
    }
    for (const auto& [name, node] : snapshot_.nodes) {
      if (std::string broken = Node(name, node); !broken.empty()) return Printable(name, 40) + ": " + broken;
    }
    return "";
  }

 private:
  using Amounts = std::map<std::string, Wide>;

  std::string Job(const std::string& name, const SnapshotJob& job) {
    const auto entry = proposal_.allocation.find(name);
    if (entry == proposal_.allocation.end()) return "no allocation";
    const auto reason = proposal_.reasons.find(name);
    if (reason == proposal_.reasons.end() || reason->second.empty()) return "no reason";
    if (reason->second.size() > 1000) return "a long reason";
    for (const char c : reason->second) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte == 0x7f) return "a control character in its reason";
    }
    const std::vector<std::string>& nodes = entry->second;
    const auto base = snapshot_.base_allocations.find(name);
    const bool pinned = !job.preemptible && base != snapshot_.base_allocations.end() && !base->second.empty();
    if (pinned && nodes != base->second) return "must not be moved, and was";
    std::map<std::string, std::int64_t> counts;
    for (const std::string& node : nodes) ++counts[node];
    for (const auto& [node, count] : counts) {
      if (!pinned && !snapshot_.nodes.contains(node)) return "on an unknown node";
      Amounts& taken = (pinned ? pinned_ : moved_)[node];
      for (const auto& [type, amount] : job.resources) taken[type] += Wide{amount} * count;
      if (counts.size() > 1) (pinned ? pinned_spanning_ : spanning_)[node]++;
    }
    if (pinned) return "";
    const auto replicas = static_cast<std::int64_t>(nodes.size());
    if (replicas > 0 && replicas < job.min_replicas) return "fewer than its least replicas";
    if (job.max_replicas && replicas > *job.max_replicas) return "more than its most replicas";
    return "";
  }

  std::string Node(const std::string& name, const SnapshotNode& node) {
    for (const auto& [type, amount] : moved_[name]) {
      if (amount == 0) continue;
      const auto has = node.resources.find(type);
      Wide room = has == node.resources.end() ? 0 : has->second;
      room -= pinned_[name][type];
      if (amount > room) return "too much of " + Printable(type, 40);
    }
    if (spanning_[name] + std::min(pinned_spanning_[name], 1) > 1) return "two jobs that span nodes";
    return "";
  }

  const Snapshot& snapshot_;
  const Proposal& proposal_;
  std::map<std::string, Amounts> moved_,
      pinned_;  // By node, what jobs that can be moved take, and the others.
  std::map<std::string, int> spanning_, pinned_spanning_;
};

inline std::string BrokenRule(const Snapshot& snapshot, const Proposal& proposal) {
  return RuleCheck(snapshot, proposal)();
}

}  // namespace adaptdl
