// How long a job would take by itself: the yardstick of fairness.
#pragma once

#include <map>
#include <vector>

#include "simulator/application.h"

namespace adaptdl {

// `replicas` on as few nodes as hold them.
std::vector<int> Packed(std::int64_t replicas, int gpus_per_node);

class AloneTime {
 public:
  // Keeps a reference to the application.
  AloneTime(const Application& application, int gpus_per_node)
      : application_(application), gpus_per_node_(gpus_per_node) {}

  // Seconds on that many GPUs, the batch size always being the best one; a part of a GPU is one for that part
  // of the time.
  double operator()(double gpus);

 private:
  double Compute(std::int64_t replicas) const;

  const Application& application_;
  int gpus_per_node_;
  std::map<std::int64_t, double> memo_;
};

}  // namespace adaptdl
