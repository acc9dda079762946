#include "goodput/fit_problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "goodput/model.h"

namespace adaptdl {
namespace {

// Straight line a + b x through points with errors in proportion to y; both coefficients positive, whatever
// the points.
struct Line {
  double a, b;
};

class LineFit {
 public:
  void Add(double x, double y) {
    const double w = 1 / (y * y);
    w_ += w;
    x_ += w * x;
    y_ += w * y;
    xx_ += w * x * x;
    xy_ += w * x * y;
  }
  [[nodiscard]] bool empty() const { return w_ == 0; }

  // `flat`: the slope is known to be none.
  [[nodiscard]] Line Solve(bool flat) const {
    const double mean_y = y_ / w_;
    const double mean_x = std::max(x_ / w_, 1e-3);
    if (flat) return {mean_y, kLeastParameter};
    const double determinant = w_ * xx_ - x_ * x_;
    if (determinant <= 1e-12 * w_ * xx_)
      return {mean_y / 2, mean_y / 2 / mean_x};  // One x only: half and half.
    const double b = (w_ * xy_ - x_ * y_) / determinant;
    const double a = (y_ - b * x_) / w_;
    if (b <= 0) return {mean_y, 0.01 * mean_y / mean_x};
    if (a <= 0) return {0.01 * mean_y, mean_y / mean_x};
    return {a, b};
  }

 private:
  double w_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

}  // namespace

ParameterVector ToVector(const PerfParams& p) {
  return {p.alpha_c, p.beta_c, p.alpha_n, p.beta_n, p.alpha_r, p.beta_r, p.gamma};
}

PerfParams FromVector(const ParameterVector& x) {
  return {x[kAlphaC], x[kBetaC], x[kAlphaN], x[kBetaN], x[kAlphaR], x[kBetaR], x[kGamma]};
}

FitProblem::FitProblem(std::span<const Observation> observations)
    : start_{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001} {
  std::map<double, std::size_t> batch_index;
  std::map<std::pair<Network, double>, std::size_t> network_index;
  bool inside_node = false;
  bool beyond_two = false;
  double mean_accum = 0;
  for (const Observation& o : observations) {
    const auto bsz = static_cast<double>(o.atomic_bsz);
    const Network network = o.num_nodes > 1 ? kBetweenNodes : o.num_replicas > 1 ? kInsideNode : kNone;
    const auto batch = batch_index.try_emplace(bsz, batch_sizes_.size());
    if (batch.second) batch_sizes_.push_back(bsz);
    const auto where = network_index.try_emplace({network, BeyondTwo(o.num_replicas)}, networks_.size());
    if (where.second) networks_.push_back({network, BeyondTwo(o.num_replicas)});
    points_.push_back({batch.first->second, where.first->second, o.accum_step_time, o.optim_step_time,
                       std::log(o.accum_step_time), std::log(o.optim_step_time)});
    several_nodes_ |= network == kBetweenNodes;
    inside_node |= network == kInsideNode;
    beyond_two |= o.num_replicas > 2;
    mean_accum += o.accum_step_time / static_cast<double>(observations.size());
  }
  accum_.resize(batch_sizes_.size());
  log_accum_.resize(batch_sizes_.size());
  network_.resize(networks_.size());
  log_network_.resize(networks_.size());

  const auto fix = [this](Parameter parameter, double value) {
    fixed_[parameter] = true;
    start_[parameter] = value;
  };
  if (batch_sizes_.size() == 1) fix(kAlphaC, mean_accum / 2);
  if (!several_nodes_) fix(kAlphaN, kLeastParameter);
  if (!inside_node) fix(kAlphaR, kLeastParameter);
  if (!several_nodes_ || !beyond_two) fix(kBetaN, kLeastParameter);
  if (!inside_node || !beyond_two) fix(kBetaR, kLeastParameter);
}

double FitProblem::Evaluate(const ParameterVector& x, double smoothing, ParameterVector* gradient) {
  const double gamma = x[kGamma];
  for (std::size_t i = 0; i < batch_sizes_.size(); ++i) {
    accum_[i] = x[kAlphaC] + x[kBetaC] * batch_sizes_[i];
    log_accum_[i] = std::log(accum_[i]);
  }
  for (std::size_t i = 0; i < networks_.size(); ++i) {
    const auto& [network, beyond_two] = networks_[i];
    network_[i] =
        network == kNone ? NetworkTime({}, {1, 1}) : x[2 * network] + x[2 * network + 1] * beyond_two;
    log_network_[i] = std::log(network_[i]);
  }

  double accum_error = 0;
  double optim_error = 0;
  ParameterVector d_accum{};  // Half the gradients of the two sums of squares.
  ParameterVector d_optim{};
  for (const Point& point : points_) {
    const double bsz = batch_sizes_[point.batch];
    const double log_accum = log_accum_[point.batch];
    const double log_network = log_network_[point.network];
    const double off_accum = log_accum - point.log_accum;
    accum_error += off_accum * off_accum;

    // log of (accum^gamma + network^gamma)^(1/gamma), and the share of each side in it.
    const bool network_longer = log_network > log_accum;
    const double smaller = std::exp(-gamma * std::abs(log_network - log_accum));
    const double log_optim = std::max(log_accum, log_network) + std::log1p(smaller) / gamma;
    const double larger_share = 1 / (1 + smaller);
    const double network_share = network_longer ? larger_share : 1 - larger_share;
    const double accum_share = 1 - network_share;
    const double off_optim = log_optim - point.log_optim;
    optim_error += off_optim * off_optim;

    if (gradient == nullptr) continue;
    const double by_accum = 1 / accum_[point.batch];
    d_accum[kAlphaC] += off_accum * by_accum;
    d_accum[kBetaC] += off_accum * by_accum * bsz;
    d_optim[kAlphaC] += off_optim * accum_share * by_accum;
    d_optim[kBetaC] += off_optim * accum_share * by_accum * bsz;
    d_optim[kGamma] +=
        off_optim * (accum_share * log_accum + network_share * log_network - log_optim) / gamma;
    if (const auto& [network, beyond_two] = networks_[point.network]; network != kNone) {
      const double by_network = off_optim * network_share / network_[point.network];
      d_optim[2 * network] += by_network;
      d_optim[2 * network + 1] += by_network * beyond_two;
    }
  }

  const auto n = static_cast<double>(points_.size());
  const double accum_rmse = std::sqrt(accum_error / n + smoothing * smoothing);
  const double optim_rmse = std::sqrt(optim_error / n + smoothing * smoothing);
  // Where no second node was seen, the network between nodes follows the one inside: so does its penalty.
  const double ratio_r = x[kBetaR] / x[kAlphaR];
  const double ratio_n = several_nodes_ ? x[kBetaN] / x[kAlphaN] : ratio_r;
  if (gradient != nullptr) {
    for (std::size_t i = 0; i < kParameters; ++i) {
      (*gradient)[i] = (accum_rmse > 0 ? d_accum[i] / (n * accum_rmse) : 0) +
                       (optim_rmse > 0 ? d_optim[i] / (n * optim_rmse) : 0);
    }
    (*gradient)[kGamma] += 2e-3 * (gamma - 1);
    const double weight_r = several_nodes_ ? 2e-2 : 4e-2;
    (*gradient)[kBetaR] += weight_r * ratio_r / x[kAlphaR];
    (*gradient)[kAlphaR] -= weight_r * ratio_r * ratio_r / x[kAlphaR];
    if (several_nodes_) {
      (*gradient)[kBetaN] += 2e-2 * ratio_n / x[kAlphaN];
      (*gradient)[kAlphaN] -= 2e-2 * ratio_n * ratio_n / x[kAlphaN];
    }
  }
  return accum_rmse + optim_rmse + 1e-3 * (gamma - 1) * (gamma - 1) +
         1e-2 * (ratio_n * ratio_n + ratio_r * ratio_r);
}

ParameterVector FitProblem::DataStart(double gamma) const {
  ParameterVector x = start_;
  x[kGamma] = gamma;

  LineFit accum;
  for (const Point& point : points_) accum.Add(batch_sizes_[point.batch], point.accum_time);
  const Line compute = accum.Solve(false);
  x[kBetaC] = compute.b;
  if (!fixed_[kAlphaC]) x[kAlphaC] = compute.a;

  for (const Network network : {kBetweenNodes, kInsideNode}) {
    LineFit line;
    for (const Point& point : points_) {
      if (networks_[point.network].network != network) continue;
      const double compute_time = x[kAlphaC] + x[kBetaC] * batch_sizes_[point.batch];
      const double share = std::min(compute_time / point.optim_time, 1.0);
      // What compute leaves of the step; never quite nothing, so that the optimiser sees a slope.
      const double rest = std::pow(1 - std::pow(share, gamma), 1 / gamma);
      line.Add(networks_[point.network].beyond_two, point.optim_time * std::max(rest, 0.05));
    }
    if (line.empty()) continue;
    const Line solved = line.Solve(fixed_[2 * network + 1]);
    x[2 * network] = solved.a;
    x[2 * network + 1] = solved.b;
  }
  for (std::size_t i = 0; i < kParameters; ++i) {
    if (fixed_[i] || !std::isfinite(x[i])) x[i] = start_[i];
  }
  return x;
}

ParameterVector FitProblem::NaturalScale() const {
  const auto n = static_cast<double>(points_.size());
  double time = 0;
  double batch_size = 0;
  double beyond_two = 0;
  for (const Point& point : points_) {
    time += point.optim_time / n;
    batch_size += batch_sizes_[point.batch] / n;
    beyond_two += std::max(networks_[point.network].beyond_two, 1.0) / n;
  }
  return {time, time / batch_size, time, time / beyond_two, time, time / beyond_two, 1};
}

ParameterVector FitProblem::Complete(ParameterVector x) const {
  if (!several_nodes_) {
    x[kAlphaN] = std::max(x[kAlphaN], 1.1 * x[kAlphaR]);
    x[kBetaN] = std::max(x[kBetaN], 1.1 * x[kBetaR]);
  }
  return x;
}

}  // namespace adaptdl
