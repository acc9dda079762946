#include "goodput/speedup.h"

#include <string>

namespace adaptdl {

Result<SpeedupTable> SpeedupTable::Build(const GoodputModel& model, const BatchLimits& limits,
                                         std::int64_t max_replicas) {
  if (max_replicas < 1) return Invalid("speedup table: needs at least one replica");
  SpeedupTable table(max_replicas);
  for (std::int64_t nodes = 1; nodes <= 2; ++nodes) {
    for (std::int64_t replicas = nodes; replicas <= max_replicas; ++replicas) {
      const Result<BatchConfig> best = model.Best({nodes, replicas}, limits);
      if (!best) return tl::unexpected(best.error());
      table.values_[static_cast<std::size_t>((nodes - 1) * table.stride_ + replicas)] = best->goodput;
    }
  }
  table.base_goodput_ = table.values_[1];
  if (!(table.base_goodput_ > 0))
    return Invalid("speedup table: the goodput of one replica is too small to compare with");
  for (double& value : table.values_) value /= table.base_goodput_;
  return table;
}

SpeedupTable SpeedupTable::Linear(std::int64_t max_replicas) {
  SpeedupTable table(max_replicas);
  for (std::int64_t replicas = 1; replicas <= max_replicas; ++replicas) {
    table.values_[static_cast<std::size_t>(replicas)] = static_cast<double>(replicas);
    if (replicas > 1)
      table.values_[static_cast<std::size_t>(table.stride_ + replicas)] = static_cast<double>(replicas);
  }
  return table;
}

Result<double> SpeedupTable::At(std::int64_t nodes, std::int64_t replicas) const {
  if (nodes < 0 || replicas < nodes || (nodes == 0) != (replicas == 0) || replicas > max_replicas()) {
    return Invalid("speedup of " + std::to_string(replicas) + " replicas on " + std::to_string(nodes) +
                   " nodes: need 1 <= nodes <= replicas <= " + std::to_string(max_replicas()) +
                   ", or none of both");
  }
  return (*this)(nodes, replicas);
}

}  // namespace adaptdl
