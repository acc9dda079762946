// An application as it was measured: step times by placement and local batch size, gradient statistics and
// progress by epoch and batch size.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/result.h"
#include "simulator/application.h"
#include "simulator/interpolation.h"

namespace adaptdl {

// Immutable: any number of threads may ask at once.
class TracedApplication final : public Application {
 public:
  // Reads the files of one application; `directory` ends with its name. Errors name the file and the line.
  static Result<std::unique_ptr<const TracedApplication>> Load(const std::string& directory);

  [[nodiscard]] const ApplicationSpec& spec() const override { return spec_; }
  [[nodiscard]] StepTime Step(std::span<const int> placement, std::int64_t local_bsz) const override;
  [[nodiscard]] GradParams Gradient(double batch_size, int epoch) const override;
  [[nodiscard]] double Progress(int epoch) const override;

  // By local batch size, for one placement.
  using Curve = std::map<std::int64_t, StepTime>;
  // By placement: digits, the smallest rotation.
  using Placements = std::map<std::string, Curve, std::less<>>;
  struct Epoch {
    double progress = 0;
    GradParams gradient;
  };
  // By total batch size.
  using Validations = std::map<std::int64_t, std::vector<Epoch>>;

 private:
  TracedApplication(const std::string& name, Placements placements, StepInterpolation others,
                    Validations validations);

  ApplicationSpec spec_;
  Placements placements_;
  std::size_t most_nodes_ = 0;  // Of a measured placement.
  StepInterpolation others_;    // For placements that were not measured.
  Validations validations_;
  std::vector<double> progress_;  // By epochs done.
};

}  // namespace adaptdl
