// What a placement of one job is worth under an objective. Every objective here is a sum over jobs, so that a
// move needs only the values of the jobs that it moves.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "goodput/model.h"
#include "scheduler/policy/problem.h"

namespace adaptdl {

// Speedup over one replica, computed when first asked for: an allocator looks at a small part of all
// placements.
class LazySpeedup {
 public:
  // What becomes of a batch size that splits into local ones outside of their bounds.
  enum class Bounds { kClamp, kDrop };

  explicit LazySpeedup(const SnapshotJob& job, Bounds bounds = Bounds::kClamp);

  // 0 for no replicas. A job that has not reported, or that is not elastic, has as much as it has replicas.
  // Where one replica cannot reach the initial batch size, the fewest that can count as their number, and
  // fewer as nothing.
  double operator()(bool several_nodes, int replicas);

  // Useful samples a second on one replica; absent where nothing is known.
  [[nodiscard]] std::optional<double> base_goodput() const {
    return model_ ? std::optional(base_) : std::nullopt;
  }

 private:
  [[nodiscard]] double Goodput(bool several_nodes, int replicas) const;
  [[nodiscard]] double GoodputWithinBounds(Placement at) const;

  std::optional<GoodputModel> model_;
  BatchLimits limits_;
  Bounds bounds_;
  double base_ = 1;
  std::vector<double> memo_[2];  // Of one node, of several; negative where not yet known.
};

class Values {
 public:
  Values(const Problem& problem, const PolicyOptions& options);

  // Of a placement that differs from the present one.
  double Moved(std::size_t job, bool several_nodes, int replicas);
  // Of the present one; of having nothing.
  [[nodiscard]] double Kept(std::size_t job) const { return jobs_[job].kept; }
  [[nodiscard]] double Idle(std::size_t job) const { return jobs_[job].idle; }
  // Most nodes that one job may span.
  [[nodiscard]] int most_nodes() const { return most_nodes_; }

  // Whether the job's place among the others follows from what it still needs.
  [[nodiscard]] bool by_length(std::size_t job) const { return jobs_[job].linear; }

  double Speedup(std::size_t job, bool several_nodes, int replicas) {
    return jobs_[job].speedup(several_nodes, replicas);
  }

  // The objective as it was published, from the sum over jobs.
  [[nodiscard]] double Report(double sum) const;

 private:
  struct Job {
    explicit Job(LazySpeedup of) : speedup(std::move(of)) {}

    LazySpeedup speedup;
    double scale = 1;  // Of the speedup, before anything else.
    // A job that is moved keeps this part of its speedup; for our own objective that follows from the seconds
    // that a restart takes, and from how long the new place will serve: `horizon`, or what the job still
    // needs if that is less.
    double move_factor = 1;
    double restart = 0, horizon = 1;
    double work = -1;  // Seconds on one replica; negative where not known.
    double weight = 1;
    bool linear = false;  // Worth in proportion to its speed.
    double kept = 0, idle = 0;
    std::vector<double> moved[2];  // Memo; NaN where not yet known.
  };
  [[nodiscard]] double Utility(const Job& job, double speedup) const;
  [[nodiscard]] double MoveFactor(const Job& job, double speedup) const;
  void SetRelease(const Problem& problem);
  void SetPaper(const Problem& problem);
  void SetCompletion(const Problem& problem, const PolicyOptions& options);

  Objective objective_;
  int most_nodes_;
  std::vector<Job> jobs_;
};

}  // namespace adaptdl
