#include "goodput/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace adaptdl {
namespace {

constexpr double kTiny = 1e-8;   // Stands for "no time" and absorbs rounding in the ceilings.
constexpr int kCandidates = 50;  // Total batch sizes looked at for one placement.

// How much further one optimiser step gets than one at the initial batch size.
double Gain(const GradParams& grad, double scale) {
  const double denominator = grad.var / scale + grad.sqr;
  return denominator > 0 ? (grad.var + grad.sqr) / denominator : 1;
}

// Ceiling of a non-negative value below 2^53. std::ceil is a call on the x86-64 baseline, and this is the
// inner loop.
double Ceil(double value) {
  const auto whole = static_cast<double>(static_cast<std::int64_t>(value));
  return whole + (value > whole ? 1 : 0);
}

// The limits with their defaults filled in, as doubles for the inner loop.
struct Bounds {
  double max_batch_size;
  double min_local;
  double max_local;
  bool accumulation;
};

Result<Bounds> MakeBounds(const BatchLimits& limits, std::int64_t init_batch_size) {
  const std::int64_t max_batch = limits.max_batch_size.value_or(init_batch_size);
  const std::int64_t min_local = limits.min_local_bsz.value_or(1);
  const std::int64_t max_local = limits.max_local_bsz.value_or(max_batch);
  if (max_batch < init_batch_size || max_batch > kMaxSize) {
    return Invalid("maximum batch size " + std::to_string(max_batch) +
                   ": must be at least the initial batch size " + std::to_string(init_batch_size) +
                   " and at most 2^53");
  }
  if (min_local < 1 || max_local < min_local || max_local > kMaxSize) {
    return Invalid("local batch size bounds [" + std::to_string(min_local) + ", " +
                   std::to_string(max_local) + "]: need 1 <= minimum <= maximum <= 2^53");
  }
  return Bounds{static_cast<double>(max_batch), static_cast<double>(min_local),
                static_cast<double>(max_local), limits.gradient_accumulation};
}

Result<void> CheckPlacement(Placement at) {
  if (at.nodes < 1 || at.replicas < at.nodes || at.replicas > kMaxSize) {
    return Invalid(std::to_string(at.replicas) + " replicas on " + std::to_string(at.nodes) +
                   " nodes: need 1 <= nodes <= replicas");
  }
  return {};
}

// Splits a replica's share `local` of the total batch into (atomic batch size, accumulation steps).
std::pair<double, double> Split(double local, double replicas, double init_batch_size, const Bounds& bounds) {
  double steps = 0;
  double atomic = 0;
  if (bounds.accumulation) {
    steps = std::max(Ceil(std::max(local / bounds.max_local - kTiny, 0.0)) - 1, 0.0);
    // One replica needs two gradients in a step to tell signal from noise.
    if (replicas == 1 && local > init_batch_size + kTiny) steps = std::max(steps, 1.0);
    atomic = Ceil(std::max(local / (steps + 1) - kTiny, 0.0));
  } else {
    atomic = replicas == 1 ? init_batch_size : Ceil(std::max(local - kTiny, 0.0));
  }
  return {std::clamp(atomic, bounds.min_local, bounds.max_local), steps};
}

}  // namespace

double AccumTime(const PerfParams& perf, double atomic_bsz) {
  return perf.alpha_c + perf.beta_c * atomic_bsz;
}

double BeyondTwo(std::int64_t replicas) { return std::max(static_cast<double>(replicas) - 2, kTiny); }

double NetworkTime(const PerfParams& perf, Placement at) {
  const double beyond_two = BeyondTwo(at.replicas);
  if (at.nodes > 1) return perf.alpha_n + perf.beta_n * beyond_two;
  if (at.replicas > 1) return perf.alpha_r + perf.beta_r * beyond_two;
  return kTiny + kTiny * beyond_two;
}

double OptimTime(double gamma, double accum_time, double network_time) {
  const double larger = std::max(accum_time, network_time);
  const double smaller = std::min(accum_time, network_time);
  if (smaller <= 0) return larger;
  // Relative to the larger one, so that no power over- or underflows.
  return larger * std::exp(std::log1p(std::exp(gamma * std::log(smaller / larger))) / gamma);
}

Result<GoodputModel> GoodputModel::Create(const PerfParams& perf, const GradParams& grad,
                                          std::int64_t init_batch_size) {
  const std::array<std::pair<const char*, double>, 8> non_negative = {{{"alpha_c", perf.alpha_c},
                                                                       {"beta_c", perf.beta_c},
                                                                       {"alpha_n", perf.alpha_n},
                                                                       {"beta_n", perf.beta_n},
                                                                       {"alpha_r", perf.alpha_r},
                                                                       {"beta_r", perf.beta_r},
                                                                       {"sqr", grad.sqr},
                                                                       {"var", grad.var}}};
  for (const auto& [name, value] : non_negative) {
    if (!std::isfinite(value) || value < 0)
      return Invalid(std::string(name) + ": must be finite and not negative");
  }
  if (!std::isfinite(perf.gamma) || perf.gamma < 1) return Invalid("gamma: must be finite and at least 1");
  if (perf.alpha_c + perf.beta_c <= 0) return Invalid("alpha_c, beta_c: a step must take some time");
  if (init_batch_size < 1 || init_batch_size > kMaxSize) {
    return Invalid("initial batch size: must be between 1 and 2^53");
  }
  return GoodputModel(perf, grad, init_batch_size);
}

double GoodputModel::Throughput(Placement at, std::int64_t atomic_bsz, std::int64_t accum_steps) const {
  const auto bsz = static_cast<double>(atomic_bsz);
  const auto steps = static_cast<double>(accum_steps);
  const double accum_time = AccumTime(perf_, bsz);
  const double step_time = steps * accum_time + OptimTime(perf_.gamma, accum_time, NetworkTime(perf_, at));
  return static_cast<double>(at.replicas) * bsz * (steps + 1) / step_time;
}

double GoodputModel::Efficiency(double batch_size) const {
  const double scale = batch_size / static_cast<double>(init_batch_size_);
  return Gain(grad_, scale) / scale;
}

Result<double> GoodputModel::Evaluate(Placement at, std::int64_t atomic_bsz, std::int64_t accum_steps) const {
  if (auto ok = CheckPlacement(at); !ok) return tl::unexpected(ok.error());
  if (atomic_bsz < 1 || accum_steps < 0) return Invalid("batch size below 1 or accumulation steps below 0");
  const double batch_size = static_cast<double>(at.replicas) * static_cast<double>(atomic_bsz) *
                            (static_cast<double>(accum_steps) + 1);
  if (batch_size < static_cast<double>(init_batch_size_)) {
    return Invalid("goodput is defined from the initial batch size " + std::to_string(init_batch_size_) +
                   " on");
  }
  return Throughput(at, atomic_bsz, accum_steps) * Efficiency(batch_size);
}

Result<BatchConfig> GoodputModel::Best(Placement at, const BatchLimits& limits) const {
  if (auto ok = CheckPlacement(at); !ok) return tl::unexpected(ok.error());
  const Result<Bounds> checked = MakeBounds(limits, init_batch_size_);
  if (!checked) return tl::unexpected(checked.error());
  const Bounds& bounds = *checked;
  const auto replicas = static_cast<double>(at.replicas);
  const auto init = static_cast<double>(init_batch_size_);
  if (replicas * bounds.min_local > static_cast<double>(kMaxSize)) {
    return Invalid(std::to_string(at.replicas) + " replicas of at least " +
                   std::to_string(*limits.min_local_bsz) + " samples: more than 2^53 in all");
  }
  if (!bounds.accumulation && replicas * bounds.max_local < init) {
    return Invalid(std::to_string(at.replicas) + " replicas of at most " +
                   std::to_string(*limits.max_local_bsz) + " samples do not reach the initial batch size " +
                   std::to_string(init_batch_size_));
  }

  // Goodput is init * gain / step_time. Only the overlap of the step time needs logarithms, and it is at
  // least the larger of both times and at least 2^(1/gamma - 1) of their sum (power means), so most
  // candidates are ruled out by a bound.
  const double network_time = NetworkTime(perf_, at);
  const double overlap = std::exp2(1 / perf_.gamma - 1);
  struct Candidate {
    double atomic, steps, gain, accum_time, bound;
  };
  std::array<Candidate, kCandidates>
      candidates;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled below
  std::size_t count = 0;
  std::size_t promising = 0;
  const double first = std::max(init, bounds.min_local * replicas);
  const double ratio = std::pow(bounds.max_batch_size / first, 1.0 / (kCandidates - 1));
  double batch_size = first;
  for (int i = 0; i < kCandidates; ++i, batch_size *= ratio) {
    if (i == kCandidates - 1) batch_size = bounds.max_batch_size;
    const auto [atomic, steps] = Split(batch_size / replicas, replicas, init, bounds);
    if (count > 0 && candidates[count - 1].atomic == atomic && candidates[count - 1].steps == steps) continue;
    const double accum_time = AccumTime(perf_, atomic);
    const double gain = Gain(grad_, replicas * atomic * (steps + 1) / init);
    const double least =
        steps * accum_time + std::max({accum_time, network_time, overlap * (accum_time + network_time)});
    candidates[count] = {atomic, steps, gain, accum_time, gain / least};
    if (candidates[count].bound > candidates[promising].bound) promising = count;
    ++count;
  }

  const auto rate = [&](const Candidate& c) {
    return c.gain / (c.steps * c.accum_time + OptimTime(perf_.gamma, c.accum_time, network_time));
  };
  std::size_t best = promising;
  double best_rate = rate(candidates[promising]);
  constexpr double kRounding = 1 + 1e-12;  // A bound is only as exact as its arithmetic.
  for (std::size_t i = 0; i < count; ++i) {
    if (i == promising || candidates[i].bound * kRounding < best_rate) continue;
    const double candidate_rate = rate(candidates[i]);
    // Of equals the smallest batch wins, whatever the order of looking.
    if (candidate_rate > best_rate || (candidate_rate == best_rate && i < best)) {
      best = i;
      best_rate = candidate_rate;
    }
  }
  return BatchConfig{static_cast<std::int64_t>(candidates[best].atomic),
                     static_cast<std::int64_t>(candidates[best].steps), init * best_rate};
}

}  // namespace adaptdl
