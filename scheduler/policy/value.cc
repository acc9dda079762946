#include "scheduler/policy/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace adaptdl {
namespace {

constexpr double kUsualRestart = 30;  // Seconds, until a job's own are known.
constexpr double kPaperFloor = 1e-3;
constexpr double kPaperLeastFactor = 1e-4;  // Of a restart: a job that came just now may use what is idle.
constexpr double kMostSpeedup = 1e6;  // Beyond it, or below its inverse, parameters are no measurements.
constexpr int kPaperNodes = 16;

// Our own objective; docs/benchmarks.md has what they are chosen by.
constexpr double kKnownHorizon =
    600;  // Seconds that a new place serves, at most: where the job's length is known...
constexpr double kUnknownHorizon = 150;  // ...and where it is not.
constexpr double kElasticity = 0.7;      // The typical speedup of k replicas is k to this power.
constexpr double kServiceWeight = -0.3;  // Power of the service had so far,
constexpr double kServiceFloor = 600;    // replica-seconds, which nobody is below.
constexpr double kOverdue =
    1.5;  // Times what it takes on a fair share: from there on a job weighs more and more.
constexpr double kLeastLength = 60;     // Seconds that are added, lest a short job seem late at once.
constexpr double kConcavity = 0.25;     // Of the utility where the length is not known: -speed^-this.
constexpr double kStarvedFloor = 0.05;  // Of the speed on a fair share.

// When the job would be done, if it had its fair share from now on, relative to having had it all the time.
double Lateness(const SnapshotJob& job, double seconds_left) {
  const double left = std::max(*job.total_progress - job.progress.value_or(0), 1e-6 * *job.total_progress);
  const double total = left > 0 ? seconds_left * (*job.total_progress / left) : 0;
  return std::min((job.age.value_or(0) + seconds_left) / (total + kLeastLength), 1e3);
}

}  // namespace

LazySpeedup::LazySpeedup(const SnapshotJob& job, Bounds bounds) : limits_(job.batch), bounds_(bounds) {
  if (!job.preemptible || !job.perf_params) return;
  auto model =
      GoodputModel::Create(*job.perf_params, job.grad_params.value_or(GradParams{0, 1}), job.init_batch_size);
  if (!model) return;
  model_ = *model;
  for (int replicas = 1; replicas <= kMostReplicas; replicas *= 2) {
    int fewest = replicas;
    if (Goodput(false, replicas) <= 0) continue;
    for (int k = replicas / 2 + 1; k < replicas; ++k) {
      if (Goodput(false, k) > 0) {
        fewest = k;
        break;
      }
    }
    base_ = Goodput(false, fewest) / fewest;
    return;
  }
  model_.reset();
}

double LazySpeedup::Goodput(bool several_nodes, int replicas) const {
  const Placement at{several_nodes ? 2 : 1, replicas};
  const auto best = model_->Best(at, limits_);
  if (!best || !std::isfinite(best->goodput)) return 0;
  // Strictly inside of its bounds the best was not clamped, and clamping only adds candidates.
  const bool at_bound = best->atomic_bsz == limits_.min_local_bsz.value_or(1) ||
                        best->atomic_bsz == limits_.max_local_bsz.value_or(
                                                limits_.max_batch_size.value_or(model_->init_batch_size()));
  return bounds_ == Bounds::kDrop && at_bound ? GoodputWithinBounds(at) : best->goodput;
}

// As GoodputModel::Best chooses, but for candidates that are out of bounds.
double LazySpeedup::GoodputWithinBounds(Placement at) const {
  constexpr int kCandidates = 50;
  constexpr double kTiny = 1e-8;
  const auto replicas = static_cast<double>(at.replicas);
  const auto init = static_cast<double>(model_->init_batch_size());
  const auto most = static_cast<double>(limits_.max_batch_size.value_or(model_->init_batch_size()));
  const auto low = static_cast<double>(limits_.min_local_bsz.value_or(1));
  const double high = limits_.max_local_bsz ? static_cast<double>(*limits_.max_local_bsz) : most;
  const double first = std::max(init, low * replicas);
  double best = 0;
  for (int i = 0; i < kCandidates; ++i) {
    const double local = first * std::pow(most / first, i / (kCandidates - 1.0)) / replicas;
    double steps = 0;
    double atomic = std::ceil(local - kTiny);
    if (limits_.gradient_accumulation) {
      steps = std::max(std::ceil(local / high - kTiny) - 1, 0.0);
      if (at.replicas == 1 && local > init + kTiny) steps = std::max(steps, 1.0);
      atomic = std::ceil(local / (steps + 1) - kTiny);
    } else if (at.replicas == 1) {
      atomic = init;
    }
    if (atomic < low || atomic > high || steps > static_cast<double>(kMaxSize)) continue;
    const auto goodput =
        model_->Evaluate(at, static_cast<std::int64_t>(atomic), static_cast<std::int64_t>(steps));
    if (goodput && std::isfinite(*goodput)) best = std::max(best, *goodput);
  }
  return best;
}

double LazySpeedup::operator()(bool several_nodes, int replicas) {
  if (!model_) return replicas;
  std::vector<double>& memo = memo_[several_nodes ? 1 : 0];
  const auto k = static_cast<std::size_t>(replicas);
  if (memo.size() <= k) memo.resize(std::max(k + 1, 2 * memo.size()), -1);
  if (memo[k] < 0) {
    const double goodput = replicas == 0 ? 0 : Goodput(several_nodes, replicas);
    memo[k] = goodput > 0 ? std::clamp(goodput / base_, 1 / kMostSpeedup, kMostSpeedup) : 0;
  }
  return memo[k];
}

Values::Values(const Problem& problem, const PolicyOptions& options)
    : objective_(options.objective), most_nodes_(std::numeric_limits<int>::max()) {
  jobs_.reserve(problem.jobs().size());
  const auto bounds =
      objective_ == Objective::kPaper ? LazySpeedup::Bounds::kDrop : LazySpeedup::Bounds::kClamp;
  for (const ProblemJob& job : problem.jobs()) jobs_.emplace_back(LazySpeedup(*job.job, bounds));
  switch (objective_) {
    case Objective::kRelease:
      SetRelease(problem);
      break;
    case Objective::kPaper:
      SetPaper(problem);
      break;
    case Objective::kCompletion:
      SetCompletion(problem, options);
      break;
  }
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    Job& job = jobs_[j];
    const ProblemJob& given = problem.jobs()[j];
    const int replicas = Replicas(given.base);
    job.kept = Utility(job, job.speedup(given.base.size() > 1, replicas));
    job.idle = Utility(job, 0);
  }
}

// The release counts as many copies of the template as there are nodes, in the resources and in the number of
// nodes.
void Values::SetRelease(const Problem& problem) {
  const Snapshot& snapshot = problem.snapshot();
  const auto nodes = static_cast<double>(snapshot.nodes.size());
  std::map<std::string_view, double> totals;
  for (const auto& [name, node] : snapshot.nodes) {
    for (const auto& [type, amount] : node.resources) totals[type] += static_cast<double>(amount);
  }
  if (snapshot.node_template) {
    for (const auto& [type, amount] : snapshot.node_template->resources)
      totals[type] += nodes * static_cast<double>(amount);
  }
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    double share = 0;
    for (const auto& [type, amount] : problem.jobs()[j].job->resources) {
      const auto total = totals.find(type);
      if (amount > 0 && total != totals.end() && total->second > 0)
        share = std::max(share, static_cast<double>(amount) / total->second);
    }
    jobs_[j].scale = share * nodes * (snapshot.node_template ? 2 : 1);
    jobs_[j].move_factor = 0.9;
  }
}

void Values::SetPaper(const Problem& problem) {
  const auto nodes = static_cast<double>(problem.nodes());
  const auto count = static_cast<double>(problem.jobs().size());
  most_nodes_ = kPaperNodes;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const ProblemJob& given = problem.jobs()[j];
    const double share = given.share > 0 ? given.share : 1;
    const double fair_replicas = std::min(std::ceil(1 / (share * count)), static_cast<double>(kMostReplicas));
    const bool several = std::ceil(nodes * share) > 1;
    double fair = jobs_[j].speedup(several, static_cast<int>(fair_replicas));
    if (!(fair > 0)) fair = 1;
    jobs_[j].scale = given.share * nodes / fair;
    const SnapshotJob& job = *given.job;
    if (job.age) {
      const double run = *job.age - kUsualRestart * static_cast<double>(job.restarts.value_or(0));
      jobs_[j].move_factor = std::max(run / (*job.age + kUsualRestart), kPaperLeastFactor);
    }
  }
}

// Jobs whose remaining work is known are worth their speed times a weight by their rank, as in heSRPT (Berg
// et al., 2020), which is optimal for the mean completion time of jobs that scale alike: the i-th largest of
// them weighs (i^c - (i-1)^c)^(1/c), with c = 1 / (1 - elasticity). Those that did not tell count as longer
// the more they have had, and their utility is concave. A job of known length that is late gains weight until
// it runs. In both, speed is relative to that on a fair share.
void Values::SetCompletion(const Problem& problem, const PolicyOptions& options) {
  const auto count = static_cast<double>(problem.jobs().size());
  std::vector<std::pair<double, std::size_t>>
      by_length;  // Negative seconds on a fair share, so that the largest is first.
  double unknown_weights = 0;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const ProblemJob& given = problem.jobs()[j];
    const SnapshotJob& job = *given.job;
    Job& out = jobs_[j];
    const double fair_replicas = given.share > 0 ? std::ceil(1 / (given.share * count)) : 1;
    const int fair =
        static_cast<int>(std::clamp(fair_replicas, 1.0, static_cast<double>(std::max(given.max, 1))));
    double fair_speed = out.speedup(fair > given.node_fit, fair);
    if (!(fair_speed > 0)) fair_speed = 1;
    out.scale = 1 / fair_speed;
    const bool learned = options.use_restart_cost && job.restart_seconds;
    out.restart = given.had ? (learned ? *job.restart_seconds : kUsualRestart) : 0;
    const std::optional<double> base = out.speedup.base_goodput();
    if (options.use_remaining && job.total_progress && base) {
      const double left = std::max(*job.total_progress - job.progress.value_or(0), 0.0);
      out.work = left * static_cast<double>(job.init_batch_size) / *base;
      out.horizon = kKnownHorizon;
      out.linear = true;
      by_length.emplace_back(-out.work / fair_speed, j);
    } else {
      out.horizon = kUnknownHorizon;
      const double service = options.use_attained ? job.attained_service.value_or(0) : 0;
      out.weight = std::pow((service + kServiceFloor) / kServiceFloor, kServiceWeight);
      unknown_weights += out.weight;
    }
  }
  std::sort(by_length.begin(), by_length.end());
  constexpr double kPower = 1 / (1 - kElasticity);
  double known_weights = 0;
  for (std::size_t i = 0; i < by_length.size(); ++i) {
    const auto& [negative_length, j] = by_length[i];
    const auto rank = static_cast<double>(i + 1);
    double weight = std::pow(std::pow(rank, kPower) - std::pow(rank - 1, kPower), 1 / kPower);
    const double late = Lateness(*problem.jobs()[j].job, -negative_length) / kOverdue;
    if (late > 1) weight *= late * late;
    jobs_[j].weight = weight;
    known_weights += weight;
  }
  // Both kinds weigh 1 in the mean.
  for (Job& job : jobs_) {
    job.weight *= job.linear ? static_cast<double>(by_length.size()) / known_weights
                             : static_cast<double>(jobs_.size() - by_length.size()) / unknown_weights;
  }
}

double Values::Utility(const Job& job, double speedup) const {
  const double sigma = speedup * job.scale;
  switch (objective_) {
    case Objective::kRelease:
      return sigma;
    case Objective::kPaper:
      return -1 / (sigma + kPaperFloor);
    case Objective::kCompletion:
      // Both rise alike at the fair share, where sigma is 1.
      return job.weight * (job.linear ? sigma : -std::pow(sigma + kStarvedFloor, -kConcavity) / kConcavity);
  }
  return 0;
}

double Values::MoveFactor(const Job& job, double speedup) const {
  if (objective_ != Objective::kCompletion) return job.move_factor;
  if (job.restart <= 0 || !(speedup > 0)) return 1;
  const double serves = job.work >= 0 ? std::min(job.horizon, job.work / speedup) : job.horizon;
  return serves / (serves + job.restart);
}

double Values::Moved(std::size_t j, bool several_nodes, int replicas) {
  Job& job = jobs_[j];
  std::vector<double>& memo = job.moved[several_nodes ? 1 : 0];
  const auto k = static_cast<std::size_t>(replicas);
  if (memo.size() <= k)
    memo.resize(std::max(k + 1, 2 * memo.size()), std::numeric_limits<double>::quiet_NaN());
  if (std::isnan(memo[k])) {
    const double speedup = job.speedup(several_nodes, replicas);
    memo[k] = Utility(job, speedup * MoveFactor(job, speedup));
  }
  return memo[k];
}

double Values::Report(double sum) const {
  if (objective_ != Objective::kPaper || jobs_.empty()) return sum;
  return -static_cast<double>(jobs_.size()) / sum;
}

}  // namespace adaptdl
