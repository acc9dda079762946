// An application made from formulas: step times by the goodput model, gradient noise that grows while it
// trains.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "simulator/application.h"

namespace adaptdl {

// Noise relative to the signal of the gradient (var / sqr at the initial batch size): how much a larger batch
// gains.
struct NoiseGrowth {
  double first = 1;  // In the first epoch, and, having grown geometrically, in the last one.
  double last = 1;
};

// Immutable: any number of threads may ask at once.
class SyntheticApplication final : public Application {
 public:
  SyntheticApplication(ApplicationSpec spec, const PerfParams& perf, const NoiseGrowth& noise)
      : spec_(std::move(spec)), perf_(perf), noise_(noise) {}

  [[nodiscard]] const ApplicationSpec& spec() const override { return spec_; }
  [[nodiscard]] StepTime Step(std::span<const int> placement, std::int64_t local_bsz) const override;
  [[nodiscard]] GradParams Gradient(double batch_size, int epoch) const override;
  [[nodiscard]] double Progress(int epoch) const override;

 private:
  ApplicationSpec spec_;
  PerfParams perf_;
  NoiseGrowth noise_;
};

}  // namespace adaptdl
