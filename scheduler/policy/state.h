// One way to place every job that can be moved, always feasible, with its value kept up to date.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scheduler/policy/problem.h"
#include "scheduler/policy/value.h"

namespace adaptdl {

class State {
 public:
  // All jobs wait. Refers to both, which must outlive it.
  State(const Problem& problem, Values& values);

  [[nodiscard]] const Slots& slots(std::size_t job) const { return slots_[job]; }
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] double value(std::size_t job) const { return job_values_[job]; }
  [[nodiscard]] const std::vector<int>& jobs_on(int node) const {
    return on_[static_cast<std::size_t>(node)];
  }

  // How many more replicas of the job the node has room for, up to its most.
  [[nodiscard]] int Fit(std::size_t job, int node) const;
  // The nodes where a replica of some job may fit, in any order: in a full cluster these are few.
  [[nodiscard]] const std::vector<int>& open_nodes() const { return open_; }
  // Whether another job that spans nodes is on it.
  [[nodiscard]] bool Spanned(int node) const {
    return spanning_[static_cast<std::size_t>(node)] > 0 && !problem_->share_networks();
  }

  [[nodiscard]] bool Fits(std::size_t job, const Slots& slots) const;
  // The job waits, and the slots fit.
  void Place(std::size_t job, const Slots& slots);
  void Remove(std::size_t job);

 private:
  void Take(std::size_t job, const Slots& slots, int sign);
  void UpdateOpen(int node);

  const Problem* problem_;
  Values* values_;
  std::vector<std::int64_t> room_;
  std::vector<int> spanning_;
  std::vector<int> open_, open_index_;  // Where in open_ a node is; -1 where it is not.
  std::vector<std::vector<int>> on_;
  std::vector<Slots> slots_;
  std::vector<double> job_values_;
  double value_ = 0;
};

}  // namespace adaptdl
