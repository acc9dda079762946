#include "goodput/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "goodput/fit_problem.h"
#include "goodput/model.h"
#include "nlopt.h"

namespace adaptdl {
namespace {

constexpr double kMostParameter = 1e12;

Result<void> Check(std::span<const Observation> observations) {
  if (observations.empty()) return Invalid("no observations: need at least one");
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const Observation& o = observations[i];
    const auto fail = [i](const std::string& what) { return Invalid("[" + std::to_string(i) + "]." + what); };
    if (o.num_nodes < 1) return fail("num_nodes: must be at least 1");
    if (o.num_replicas < o.num_nodes || o.num_replicas > kMaxSize) {
      return fail("num_replicas: must be at least num_nodes and at most 2^53");
    }
    if (o.atomic_bsz < 1 || o.atomic_bsz > kMaxSize) return fail("atomic_bsz: must be between 1 and 2^53");
    if (!std::isnormal(o.accum_step_time) || o.accum_step_time <= 0) {
      return fail("accum_step_time: must be positive and finite");
    }
    if (!std::isnormal(o.optim_step_time) || o.optim_step_time <= 0) {
      return fail("optim_step_time: must be positive and finite");
    }
  }
  return {};
}

// One run of the optimiser over the free parameters, in coordinates that suit it.
class Descent {
 public:
  // As logarithms: covers orders of magnitude, but is flat towards the lower bounds.
  static void OverMagnitudes(FitProblem& problem, ParameterVector& x, double smoothing, double tolerance,
                             int evaluations) {
    Descent(problem, x, smoothing, nullptr).Run(tolerance, evaluations);
  }

  // As multiples of `scale`: reaches the bounds and converges, from nearby.
  static void Nearby(FitProblem& problem, ParameterVector& x, double smoothing, double tolerance,
                     int evaluations) {
    ParameterVector scale = problem.NaturalScale();
    for (std::size_t i = 0; i < kGamma; ++i)
      scale[i] = std::min(std::max(0.01 * scale[i], x[i]), kMostParameter);
    Descent(problem, x, smoothing, &scale).Run(tolerance, evaluations);
  }

 private:
  Descent(FitProblem& problem, ParameterVector& x, double smoothing, const ParameterVector* scale)
      : problem_(problem), x_(x), smoothing_(smoothing), scale_(scale) {
    for (std::size_t i = 0; i < kParameters; ++i) {
      if (!problem.fixed(i)) free_.push_back(i);
    }
  }

  [[nodiscard]] double Encode(std::size_t parameter, double value) const {
    if (parameter == kGamma) return value;
    return scale_ != nullptr ? value / (*scale_)[parameter] : std::log(value);
  }
  [[nodiscard]] double Decode(std::size_t parameter, double coordinate) const {
    if (parameter == kGamma) return std::clamp(coordinate, 1.0, kMostGamma);
    const double value = scale_ != nullptr ? coordinate * (*scale_)[parameter] : std::exp(coordinate);
    return std::clamp(value, kLeastParameter, kMostParameter);
  }

  static double Objective(unsigned n, const double* coordinates, double* slope, void* self) {
    auto& descent = *static_cast<Descent*>(self);
    ParameterVector x = descent.x_;
    for (unsigned i = 0; i < n; ++i) x[descent.free_[i]] = descent.Decode(descent.free_[i], coordinates[i]);
    ParameterVector gradient{};
    const double value =
        descent.problem_.Evaluate(x, descent.smoothing_, slope != nullptr ? &gradient : nullptr);
    for (unsigned i = 0; slope != nullptr && i < n; ++i) {
      const std::size_t parameter = descent.free_[i];
      const double unit = parameter == kGamma         ? 1
                          : descent.scale_ != nullptr ? (*descent.scale_)[parameter]
                                                      : x[parameter];
      slope[i] = std::isfinite(gradient[parameter]) ? gradient[parameter] * unit : 0;
    }
    return std::isfinite(value) ? value : 1e300;
  }

  // Leaves in x_ what the optimiser found; a failure (it may say so when steps get too small) leaves its last
  // point.
  void Run(double tolerance, int evaluations) {
    std::vector<double> coordinates;
    std::vector<double> lower;
    std::vector<double> upper;
    for (const std::size_t parameter : free_) {
      const bool gamma = parameter == kGamma;
      lower.push_back(Encode(parameter, gamma ? 1 : kLeastParameter));
      upper.push_back(Encode(parameter, gamma ? kMostGamma : kMostParameter));
      coordinates.push_back(std::clamp(Encode(parameter, x_[parameter]), lower.back(), upper.back()));
    }
    const std::unique_ptr<nlopt_opt_s, void (*)(nlopt_opt)> optimiser(
        nlopt_create(NLOPT_LD_SLSQP, static_cast<unsigned>(free_.size())), nlopt_destroy);
    nlopt_set_lower_bounds(optimiser.get(), lower.data());
    nlopt_set_upper_bounds(optimiser.get(), upper.data());
    nlopt_set_min_objective(optimiser.get(), Objective, this);
    nlopt_set_ftol_rel(optimiser.get(), tolerance);
    nlopt_set_ftol_abs(optimiser.get(), tolerance);
    nlopt_set_maxeval(optimiser.get(), evaluations);
    double value = 0;
    nlopt_optimize(optimiser.get(), coordinates.data(), &value);
    for (std::size_t i = 0; i < free_.size(); ++i) x_[free_[i]] = Decode(free_[i], coordinates[i]);
  }

  FitProblem& problem_;
  ParameterVector& x_;
  double smoothing_;
  const ParameterVector* scale_;
  std::vector<std::size_t> free_;
};

struct Solution {
  ParameterVector x;
  double objective;
};

}  // namespace

Result<Fit> FitPerfParams(std::span<const Observation> observations) {
  if (auto ok = Check(observations); !ok) return tl::unexpected(ok.error());
  FitProblem problem(observations);

  // The objective has several valleys, and kinks where one of its two errors vanishes. Four starts go down
  // its smoothed form; the best of them go on; the smoothing is then taken back step by step.
  // tests/bench/fit_quality shows that more starts do not find more.
  std::array<Solution, 4> solutions = {{{problem.DataStart(1.05), 0},
                                        {problem.DataStart(1.5), 0},
                                        {problem.DataStart(3), 0},
                                        {problem.start(), 0}}};
  for (Solution& solution : solutions) {
    Descent::OverMagnitudes(problem, solution.x, 1e-3, 1e-7, 80);
    solution.objective = problem.Evaluate(solution.x, 1e-3, nullptr);
  }
  const auto by_objective = [](const Solution& a, const Solution& b) { return a.objective < b.objective; };
  std::stable_sort(solutions.begin(), solutions.end(), by_objective);
  const std::span<Solution> favourites = std::span(solutions).first(3);
  for (Solution& solution : favourites) {
    Descent::Nearby(problem, solution.x, 1e-4, 1e-10, 120);
    solution.objective = problem.Evaluate(solution.x, 0, nullptr);
  }
  Solution best = *std::min_element(favourites.begin(), favourites.end(), by_objective);
  ParameterVector x = best.x;
  for (const double smoothing : {3e-5, 1e-5, 3e-6, 1e-6, 1e-7}) {
    Descent::Nearby(problem, x, smoothing, 1e-13, 200);
    if (const double objective = problem.Evaluate(x, 0, nullptr); objective < best.objective)
      best = {x, objective};
  }

  const PerfParams params = FromVector(problem.Complete(best.x));
  const Result<double> objective = FitObjective(params, observations);
  if (!objective || !std::isfinite(*objective)) {
    return Fail(ErrorCode::kInternal, "the fit found no finite parameters for these observations");
  }
  return Fit{params, *objective};
}

Result<double> FitObjective(const PerfParams& params, std::span<const Observation> observations) {
  if (auto ok = Check(observations); !ok) return tl::unexpected(ok.error());
  double accum_error = 0;
  double optim_error = 0;
  for (const Observation& o : observations) {
    const double accum = AccumTime(params, static_cast<double>(o.atomic_bsz));
    const double optim = OptimTime(params.gamma, accum, NetworkTime(params, {o.num_nodes, o.num_replicas}));
    accum_error += std::pow(std::log(accum) - std::log(o.accum_step_time), 2);
    optim_error += std::pow(std::log(optim) - std::log(o.optim_step_time), 2);
  }
  const auto n = static_cast<double>(observations.size());
  return std::sqrt(accum_error / n) + std::sqrt(optim_error / n) + 1e-3 * std::pow(params.gamma - 1, 2) +
         1e-2 * (std::pow(params.beta_n / params.alpha_n, 2) + std::pow(params.beta_r / params.alpha_r, 2));
}

}  // namespace adaptdl
