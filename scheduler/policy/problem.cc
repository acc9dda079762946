#include "scheduler/policy/problem.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace adaptdl {
namespace {

// How many replicas would fit, were the amounts for them alone.
std::int64_t Fit(const std::int64_t* room, const std::int64_t* need, int types) {
  std::int64_t fit = kMostReplicas;
  for (int t = 0; t < types; ++t) {
    if (need[t] > 0) fit = std::min(fit, std::max<std::int64_t>(room[t], 0) / need[t]);
  }
  return fit;
}

// Takes so many times `need` out of `room`, which may end below zero but never overflows.
void Take(std::int64_t* room, const std::int64_t* need, int types, std::int64_t count) {
  for (int t = 0; t < types; ++t) {
    std::int64_t amount = 0;
    if (__builtin_mul_overflow(need[t], count, &amount) ||
        __builtin_sub_overflow(room[t], amount, &room[t])) {
      room[t] = std::numeric_limits<std::int64_t>::min();
    }
  }
}

}  // namespace

Problem::Problem(const Snapshot& snapshot, int extra, int use) : snapshot_(snapshot) {
  // Only what jobs ask for can run out.
  std::map<std::string_view, int> types;
  for (const auto& [name, job] : snapshot.jobs) {
    for (const auto& [type, amount] : job.resources) {
      if (amount > 0) types.emplace(type, 0);
    }
  }
  for (auto& [type, index] : types) index = types_++;

  std::set<std::string_view> held;  // Nodes of jobs that must not be moved are there at any size.
  for (const auto& [name, job] : snapshot.jobs) {
    const auto base = snapshot.base_allocations.find(name);
    if (!job.preemptible && base != snapshot.base_allocations.end())
      held.insert(base->second.begin(), base->second.end());
  }
  std::map<std::string_view, int> used;
  for (const auto& [name, base] : snapshot.base_allocations) {
    for (const std::string& node : base) ++used[node];
  }
  std::vector<std::pair<const std::string*, const SnapshotNode*>> chosen;
  for (const auto& [name, node] : snapshot.nodes) chosen.emplace_back(&name, &node);
  if (use >= 0 && chosen.size() > static_cast<std::size_t>(use)) {  // The idle ones go.
    std::stable_sort(chosen.begin(), chosen.end(), [&](const auto& a, const auto& b) {
      return std::pair(held.contains(*a.first), used[*a.first]) >
             std::pair(held.contains(*b.first), used[*b.first]);
    });
    const auto kept = std::count_if(chosen.begin(), chosen.end(),
                                    [&](const auto& node) { return held.contains(*node.first); });
    chosen.resize(std::max(static_cast<std::size_t>(use), static_cast<std::size_t>(kept)));
    std::sort(chosen.begin(), chosen.end(), [](const auto& a, const auto& b) { return *a.first < *b.first; });
  }
  const auto real = static_cast<int>(chosen.size());
  static const std::string kVirtual;
  for (int i = 0; i < extra && snapshot.node_template; ++i)
    chosen.emplace_back(&kVirtual, &*snapshot.node_template);

  const auto row = [&](const Resources& resources, std::vector<std::int64_t>& table) {
    table.resize(table.size() + static_cast<std::size_t>(types_), 0);
    for (const auto& [type, amount] : resources) {
      if (const auto found = types.find(type); found != types.end()) {
        table[table.size() - static_cast<std::size_t>(types_ - found->second)] = amount;
      }
    }
  };
  std::map<std::string_view, int> index;
  totals_.assign(static_cast<std::size_t>(types_), 0);
  for (const auto& [name, node] : chosen) {
    if (nodes() < real) index.emplace(*name, nodes());
    node_names_.push_back(name);
    row(node->resources, capacity_);
  }
  node_totals_.assign(capacity_.begin(), capacity_.end());
  taken_.assign(node_names_.size(), 0);
  for (std::size_t i = 0; i < node_totals_.size(); ++i)
    totals_[i % static_cast<std::size_t>(types_)] += node_totals_[i];

  for (const auto& [name, job] : snapshot.jobs) {
    ProblemJob& out = jobs_.emplace_back();
    out.job = &job;
    out.name = &name;
    row(job.resources, need_);
    const std::int64_t* need = this->need(jobs_.size() - 1);
    for (int t = 0; t < types_; ++t) {
      if (need[t] > 0 && total(t) > 0)
        out.share = std::max(out.share, static_cast<double>(need[t]) / total(t));
    }
    if (const auto base = snapshot.base_allocations.find(name); base != snapshot.base_allocations.end()) {
      out.had = !base->second.empty();
      std::map<int, int> counts;
      for (const std::string& node : base->second) {
        const auto known = index.find(node);
        if (known == index.end()) {
          out.whole = false;
        } else {
          ++counts[known->second];
        }
      }
      for (const auto& [node, count] : counts) out.base.push_back({node, count});
    }
    out.pinned = !job.preemptible && out.had;
    if (!out.pinned) continue;
    for (const Slot& slot : out.base) {
      Take(capacity_.data() + Index(slot.node), need, types_, slot.count);
      if (out.base.size() > 1 || !out.whole) taken_[static_cast<std::size_t>(slot.node)] = 1;
    }
  }

  least_need_.assign(static_cast<std::size_t>(types_), std::numeric_limits<std::int64_t>::max());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    ProblemJob& out = jobs_[j];
    std::int64_t room = 0;  // In the whole cluster, were it empty but for pinned jobs.
    for (int n = 0; n < nodes(); ++n) {
      const std::int64_t fit = Fit(capacity(n), need(j), types_);
      room = std::min(room + fit, kMostReplicas);
      out.node_fit = std::max(out.node_fit, static_cast<int>(fit));
    }
    const std::int64_t least = std::max<std::int64_t>(out.job->min_replicas, 1);
    const std::int64_t most = std::min({out.job->max_replicas.value_or(kMostReplicas), room, kMostReplicas});
    out.min = static_cast<int>(std::min(least, kMostReplicas + 1));
    out.max = most >= least ? static_cast<int>(most) : 0;
    if (out.pinned || out.max == 0) continue;
    for (std::size_t t = 0; t < least_need_.size(); ++t)
      least_need_[t] = std::min(least_need_[t], need(j)[t]);
  }
}

}  // namespace adaptdl
