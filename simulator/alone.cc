#include "simulator/alone.h"

#include <algorithm>
#include <cmath>

#include "simulator/training.h"

namespace adaptdl {

std::vector<int> Packed(std::int64_t replicas, int gpus_per_node) {
  std::vector<int> out(static_cast<std::size_t>(replicas / gpus_per_node), gpus_per_node);
  if (replicas % gpus_per_node > 0) out.push_back(static_cast<int>(replicas % gpus_per_node));
  return out;
}

double AloneTime::operator()(double gpus) {
  const ApplicationSpec& spec = application_.spec();
  std::int64_t most = spec.max_batch_size / spec.min_local_bsz;
  if (spec.max_replicas) most = std::min(most, *spec.max_replicas);
  const auto replicas =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(gpus), 1, std::max<std::int64_t>(most, 1));
  const auto [found, added] = memo_.try_emplace(replicas, 0);
  if (added) found->second = Compute(replicas);
  return found->second / std::min(gpus, 1.0);
}

double AloneTime::Compute(std::int64_t replicas) const {
  const ApplicationSpec& spec = application_.spec();
  const std::vector<int> placement = Packed(replicas, gpus_per_node_);
  constexpr int kCandidates = 24;
  std::vector<BatchChoice> choices;
  const auto first = static_cast<double>(std::max(spec.init_batch_size, spec.min_local_bsz * replicas));
  const double ratio = static_cast<double>(spec.max_batch_size) / first;
  for (int i = 0; i < kCandidates && !spec.fixed_batch_size; ++i) {
    choices.push_back(SplitBatch(spec, replicas, first * std::pow(ratio, i / (kCandidates - 1.0))));
  }
  if (spec.fixed_batch_size)
    choices.push_back(SplitBatch(spec, replicas, static_cast<double>(*spec.fixed_batch_size)));
  double seconds = spec.restart_seconds;
  for (int epoch = 0; epoch < spec.epochs; ++epoch) {
    double rate = 0;
    for (const BatchChoice& choice : choices) {
      rate =
          std::max(rate, ProgressRate(application_, placement, choice.atomic_bsz, choice.accum_steps, epoch));
    }
    seconds += (application_.Progress(epoch + 1) - application_.Progress(epoch)) / rate;
  }
  return seconds;
}

}  // namespace adaptdl
