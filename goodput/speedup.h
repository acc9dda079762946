// Speedups of one job, computed once and then only looked up: an allocator asks millions of times in a round.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/model.h"

namespace adaptdl {

// Best goodput at a placement over best goodput on a single replica; 0 without replicas.
class SpeedupTable {
 public:
  // Filled for up to `max_replicas` replicas on any number of nodes. Invalid where the limits contradict each
  // other or a single replica cannot reach the initial batch size: there is nothing to compare with then.
  static Result<SpeedupTable> Build(const GoodputModel& model, const BatchLimits& limits,
                                    std::int64_t max_replicas);

  // A job about which nothing is known yet (or that is not elastic): its speedup is its number of replicas.
  static SpeedupTable Linear(std::int64_t max_replicas);

  // 0 <= nodes <= replicas <= max_replicas(), nodes == 0 exactly where replicas == 0.
  [[nodiscard]] double operator()(std::int64_t nodes, std::int64_t replicas) const {
    return values_[static_cast<std::size_t>((nodes > 1 ? stride_ : 0) + replicas)];
  }

  // The same, for arguments from outside: Invalid where they break the rule above.
  [[nodiscard]] Result<double> At(std::int64_t nodes, std::int64_t replicas) const;

  [[nodiscard]] std::int64_t max_replicas() const { return stride_ - 1; }
  [[nodiscard]] double base_goodput() const { return base_goodput_; }

 private:
  explicit SpeedupTable(std::int64_t max_replicas)
      : stride_(max_replicas + 1), values_(static_cast<std::size_t>(2 * stride_), 0.0) {}

  std::int64_t stride_;
  double base_goodput_ = 1;
  // The model tells one node from several, not how many: a row for one, then a row for more.
  std::vector<double> values_;
};

}  // namespace adaptdl
