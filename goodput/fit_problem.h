// The fit as a minimisation problem: its variables, their bounds and the objective with exact gradients.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "api/model.h"

namespace adaptdl {

// The parameters in the order of PerfParams.
enum Parameter : std::size_t { kAlphaC, kBetaC, kAlphaN, kBetaN, kAlphaR, kBetaR, kGamma, kParameters };
using ParameterVector = std::array<double, kParameters>;

ParameterVector ToVector(const PerfParams& params);
PerfParams FromVector(const ParameterVector& x);

inline constexpr double kLeastParameter = 1e-8;  // Lower bound of every alpha and beta.
inline constexpr double kMostGamma = 10;

// Copies what it needs of the observations.
class FitProblem {
 public:
  // The observations are valid (FitPerfParams checks them) and not empty.
  explicit FitProblem(std::span<const Observation> observations);

  // The objective at x. `smoothing` rounds off the kink that a root-mean-square error has where it reaches
  // zero: sqrt(mean + smoothing^2). Writes the gradient where asked for.
  double Evaluate(const ParameterVector& x, double smoothing, ParameterVector* gradient);

  // Variables that the observations say nothing about keep the value that start() gives them.
  [[nodiscard]] bool fixed(std::size_t parameter) const { return fixed_[parameter]; }

  // The start of the published system.
  [[nodiscard]] const ParameterVector& start() const { return start_; }

  // A start read off the data: straight lines through the step times, if the overlap were `gamma`.
  [[nodiscard]] ParameterVector DataStart(double gamma) const;

  // How large each parameter is if it alone explained the mean step time: a yardstick for the optimiser.
  [[nodiscard]] ParameterVector NaturalScale() const;

  // Fills in what follows from other parameters: the network between nodes, where none was seen.
  [[nodiscard]] ParameterVector Complete(ParameterVector x) const;

 private:
  enum Network : std::size_t { kNone, kBetweenNodes, kInsideNode };
  struct NetworkPoint {
    Network network;
    double beyond_two;  // Replicas past the second.
  };
  struct Point {
    std::size_t batch;    // Index into batch_sizes_.
    std::size_t network;  // Index into networks_.
    double accum_time, optim_time;
    double log_accum, log_optim;
  };

  std::vector<double> batch_sizes_;     // Each distinct one: their times need one logarithm in an evaluation.
  std::vector<NetworkPoint> networks_;  // Likewise.
  std::vector<Point> points_;
  std::array<bool, kParameters> fixed_{};
  ParameterVector start_;
  bool several_nodes_ = false;

  std::vector<double> accum_, log_accum_, network_, log_network_;  // Scratch of Evaluate.
};

}  // namespace adaptdl
