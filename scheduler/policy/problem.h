// The snapshot as an allocator wants it: dense, by index, with what cannot change taken out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "api/snapshot.h"
#include "scheduler/policy/policy.h"

namespace adaptdl {

struct Slot {
  int node = 0;
  int count = 0;

  friend bool operator==(const Slot&, const Slot&) = default;
};

// Where a job's replicas are, by rising node; empty where it waits.
using Slots = std::vector<Slot>;

inline int Replicas(const Slots& slots) {
  int sum = 0;
  for (const Slot& slot : slots) sum += slot.count;
  return sum;
}

// No job gets more replicas than this, whatever it asks for: an answer lists every one of them.
inline constexpr std::int64_t kMostReplicas = 4096;

struct ProblemJob {
  const SnapshotJob* job = nullptr;
  const std::string* name = nullptr;
  int min = 1, max = 0;  // Replicas where it runs at all; max 0 where it can not.
  bool pinned = false;   // Keeps its base, which may name nodes that are gone.
  bool had = false;      // Has an allocation now.
  bool whole = true;     // ...and all of its nodes are still here.
  Slots base;            // The part of it on known nodes.
  int node_fit = 0;      // Most replicas that one node holds, were it empty but for pinned jobs.
  double share = 0;      // The largest share of any resource of the cluster that one replica takes.
};

class Problem {
 public:
  // Refers to the snapshot, which must outlive it. `extra` copies of the node template, without a name, come
  // after the real nodes. `use` (where not negative) leaves only so many real ones, but always those that
  // jobs must not be moved from.
  explicit Problem(const Snapshot& snapshot, int extra = 0, int use = -1);

  // Whether several jobs that span nodes may meet on one. Not unless set.
  [[nodiscard]] bool share_networks() const { return share_networks_; }
  void set_share_networks(bool share) { share_networks_ = share; }

  [[nodiscard]] int nodes() const { return static_cast<int>(node_names_.size()); }
  [[nodiscard]] int types() const { return types_; }
  [[nodiscard]] const std::vector<ProblemJob>& jobs() const { return jobs_; }
  [[nodiscard]] const std::string& node_name(int node) const {
    return *node_names_[static_cast<std::size_t>(node)];
  }

  // What is left for jobs that can be moved, and what a replica takes: `types()` amounts each.
  [[nodiscard]] const std::int64_t* capacity(int node) const { return capacity_.data() + Index(node); }
  [[nodiscard]] const std::int64_t* need(std::size_t job) const {
    return need_.data() + Index(static_cast<int>(job));
  }
  // The least that a replica of any job that can be moved takes.
  [[nodiscard]] std::int64_t least_need(std::size_t type) const { return least_need_[type]; }
  // A pinned job that spans nodes is on it.
  [[nodiscard]] bool taken(int node) const { return taken_[static_cast<std::size_t>(node)] != 0; }
  // Everything that the nodes have, pinned jobs or not.
  [[nodiscard]] double total(int type) const { return totals_[static_cast<std::size_t>(type)]; }
  [[nodiscard]] double node_total(int node, int type) const {
    return node_totals_[Index(node) + static_cast<std::size_t>(type)];
  }
  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }

 private:
  [[nodiscard]] std::size_t Index(int row) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(types_);
  }

  const Snapshot& snapshot_;
  int types_ = 0;
  bool share_networks_ = false;
  std::vector<const std::string*> node_names_;
  std::vector<std::int64_t> capacity_, need_, least_need_;
  std::vector<double> node_totals_, totals_;
  std::vector<char> taken_;
  std::vector<ProblemJob> jobs_;
};

}  // namespace adaptdl
