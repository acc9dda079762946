// How good the fit is: its objective against the best of 200 random starts, and against other optimisers of
// NLopt from the published start. Prints tables; docs/benchmarks.md keeps them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <limits>
#include <random>
#include <vector>

#include "goodput/fit.h"
#include "goodput/fit_problem.h"
#include "nlopt.h"
#include "tests/bench/problems.h"

namespace adaptdl {
namespace {

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double Objective(unsigned, const double* x, double* slope, void* data) {
  ParameterVector parameters;
  std::copy_n(x, kParameters, parameters.begin());
  ParameterVector gradient{};
  const double value =
      static_cast<FitProblem*>(data)->Evaluate(parameters, 0, slope != nullptr ? &gradient : nullptr);
  if (slope != nullptr) std::copy(gradient.begin(), gradient.end(), slope);
  return std::isfinite(value) ? value : 1e300;
}

// One plain run over all parameters, without scaling or smoothing: what one gets out of the box.
double Minimise(FitProblem& problem, ParameterVector x, nlopt_algorithm algorithm) {
  ParameterVector lower;
  ParameterVector upper;
  for (std::size_t i = 0; i < kParameters; ++i) {
    lower[i] = problem.fixed(i) ? problem.start()[i] : i == kGamma ? 1 : kLeastParameter;
    upper[i] = problem.fixed(i) ? problem.start()[i] : i == kGamma ? kMostGamma : 1e12;
    x[i] = std::clamp(x[i], lower[i], upper[i]);
  }
  nlopt_opt optimiser = nlopt_create(algorithm, kParameters);
  nlopt_set_lower_bounds(optimiser, lower.data());
  nlopt_set_upper_bounds(optimiser, upper.data());
  nlopt_set_min_objective(optimiser, Objective, &problem);
  nlopt_set_ftol_rel(optimiser, 1e-12);
  nlopt_set_maxeval(optimiser, 1000);
  double value = 0;
  nlopt_optimize(optimiser, x.data(), &value);
  nlopt_destroy(optimiser);
  return problem.Evaluate(x, 0, nullptr);
}

double BestOfRandomStarts(FitProblem& problem, std::mt19937_64& random, int starts) {
  std::uniform_real_distribution<double> exponent(-7, 1);
  std::uniform_real_distribution<double> unit(0, 1);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < starts; ++i) {
    ParameterVector x;
    for (std::size_t k = 0; k < kGamma; ++k) x[k] = std::pow(10, exponent(random));
    x[kGamma] = 1 + 9 * unit(random) * unit(random);
    best = std::min(best, Minimise(problem, x, NLOPT_LD_SLSQP));
  }
  return best;
}

struct Row {
  const char* name;
  nlopt_algorithm algorithm;
  double seconds = 0;
  std::vector<double> gaps = {};
};

void Print(const char* name, double milliseconds, std::vector<double> gaps) {
  std::sort(gaps.begin(), gaps.end());
  const auto above = [&](double limit) {
    return static_cast<int>(gaps.end() - std::upper_bound(gaps.begin(), gaps.end(), limit));
  };
  std::printf("| %-28s | %8.3f | %5d | %5d | %9.2e |\n", name, milliseconds, above(1e-6), above(1e-3),
              gaps.back());
}

void Run() {
  std::vector<std::vector<Observation>> problems = GoldenProblems();
  const auto synthetic = SyntheticProblems(300, 1);
  problems.insert(problems.end(), synthetic.begin(), synthetic.end());

  std::mt19937_64 random(1);
  std::vector<double> ours_gaps;
  double ours_seconds = 0;
  std::array<Row, 5> rows = {{{"SLSQP, published start", NLOPT_LD_SLSQP},
                              {"L-BFGS, published start", NLOPT_LD_LBFGS},
                              {"MMA, published start", NLOPT_LD_MMA},
                              {"TNEWTON, published start", NLOPT_LD_TNEWTON_PRECOND_RESTART},
                              {"BOBYQA, published start", NLOPT_LN_BOBYQA}}};
  for (const auto& observations : problems) {
    const double start = CpuSeconds();
    const double ours = FitPerfParams(observations).value().objective;
    ours_seconds += CpuSeconds() - start;
    FitProblem problem(observations);
    std::vector<double> found;
    for (Row& row : rows) {
      const double before = CpuSeconds();
      found.push_back(Minimise(problem, problem.start(), row.algorithm));
      row.seconds += CpuSeconds() - before;
    }
    // The published fit and ours are judged after completion; the plain runs minimise the very same quantity.
    const double best = std::min(
        {BestOfRandomStarts(problem, random, 200), ours, *std::min_element(found.begin(), found.end())});
    ours_gaps.push_back(ours - best);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].gaps.push_back(found[i] - best);
  }

  const auto n = static_cast<double>(problems.size());
  std::printf(
      "%zu problems; a gap is the objective above the best of 200 random starts, this row and the others\n\n",
      problems.size());
  std::printf("| %-28s | %8s | %5s | %5s | %9s |\n", "fit", "CPU ms", ">1e-6", ">1e-3", "worst gap");
  std::printf("| --- | --- | --- | --- | --- |\n");
  Print("ours (SLSQP, 4 starts)", 1e3 * ours_seconds / n, ours_gaps);
  for (const Row& row : rows) Print(row.name, 1e3 * row.seconds / n, row.gaps);
}

}  // namespace
}  // namespace adaptdl

int main() { adaptdl::Run(); }
