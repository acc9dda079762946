#include "scheduler/policy/value.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace adaptdl {
namespace {

constexpr double kUsualRestart = 30;  // Seconds, until a job's own are known.
constexpr double kPaperFloor = 1e-3;
constexpr int kPaperNodes = 16;

double Env(const char* name, double fallback) {
  const char* v = std::getenv(name);
  return v ? std::atof(v) : fallback;
}

}  // namespace

LazySpeedup::LazySpeedup(const SnapshotJob& job) : limits_(job.batch) {
  if (!job.preemptible || !job.perf_params) return;
  auto model = GoodputModel::Create(*job.perf_params, job.grad_params.value_or(GradParams{0, 1}), job.init_batch_size);
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
  const auto best = model_->Best({several_nodes ? 2 : 1, replicas}, limits_);
  return best ? best->goodput : 0;
}

double LazySpeedup::operator()(bool several_nodes, int replicas) {
  if (!model_) return replicas;
  std::vector<double>& memo = memo_[several_nodes ? 1 : 0];
  const auto k = static_cast<std::size_t>(replicas);
  if (memo.size() <= k) memo.resize(std::max(k + 1, 2 * memo.size()), -1);
  if (memo[k] < 0) memo[k] = replicas == 0 ? 0 : Goodput(several_nodes, replicas) / base_;
  return memo[k];
}

Values::Values(const Problem& problem, const PolicyOptions& options)
    : objective_(options.objective), most_nodes_(std::numeric_limits<int>::max()) {
  jobs_.reserve(problem.jobs().size());
  for (const ProblemJob& job : problem.jobs()) jobs_.push_back({LazySpeedup(*job.job)});
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

// The release counts as many copies of the template as there are nodes, in the resources and in the number of nodes.
void Values::SetRelease(const Problem& problem) {
  const Snapshot& snapshot = problem.snapshot();
  const auto nodes = static_cast<double>(snapshot.nodes.size());
  std::map<std::string_view, double> totals;
  for (const auto& [name, node] : snapshot.nodes) {
    for (const auto& [type, amount] : node.resources) totals[type] += static_cast<double>(amount);
  }
  if (snapshot.node_template) {
    for (const auto& [type, amount] : snapshot.node_template->resources) totals[type] += nodes * static_cast<double>(amount);
  }
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    double share = 0;
    for (const auto& [type, amount] : problem.jobs()[j].job->resources) {
      const auto total = totals.find(type);
      if (amount > 0 && total != totals.end() && total->second > 0) share = std::max(share, static_cast<double>(amount) / total->second);
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
      jobs_[j].move_factor = std::max(*job.age - kUsualRestart * static_cast<double>(job.restarts.value_or(0)), 0.0) / (*job.age + kUsualRestart);
    }
  }
}

void Values::SetCompletion(const Problem& problem, const PolicyOptions& options) {
  static const double horizon = Env("H", 600), service = Env("S", 1), s0 = Env("S0", 600), P = Env("P", 0.7), hmin = Env("HM", 30), norm = Env("N", 1), hrem = Env("HR", 1);
  const auto count = static_cast<double>(problem.jobs().size());
  std::vector<std::pair<double, std::size_t>> sizes;
  std::vector<double> lens(jobs_.size());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const ProblemJob& given = problem.jobs()[j];
    const SnapshotJob& job = *given.job;
    Job& out = jobs_[j];
    const double share = given.share > 0 ? given.share : 1;
    double ref = std::max(1.0, std::min(std::pow(count, -norm) / share, static_cast<double>(std::max(given.max, 1))));
    double fair = out.speedup(ref > 4, static_cast<int>(std::ceil(ref)));
    if (!(fair > 0)) fair = 1;
    out.scale = 1 / fair;
    const double restart = options.use_restart_cost && job.restart_seconds ? *job.restart_seconds : kUsualRestart;
    double remaining = -1;
    if (options.use_remaining && job.total_progress && job.progress) {
      if (const auto base = out.speedup.base_goodput()) {
        remaining = std::max(*job.total_progress - *job.progress, 0.0) * static_cast<double>(job.init_batch_size) / *base / fair;
      }
    }
    double h = horizon;
    double len;
    if (remaining >= 0) {
      len = remaining;
      h = std::min(h, std::max(remaining * hrem, hmin));
    } else {
      len = (job.attained_service.value_or(0) + s0) * service;
    }
    lens[j] = len;
    static const double idl = Env("I", 0);
    out.restart = given.had ? restart : job.restarts.value_or(0) > 0 || job.attained_service.value_or(0) > 0 ? restart * idl : 0;
    out.work = remaining >= 0 ? remaining * fair : -1;
    out.horizon = horizon;
    out.age = job.age.value_or(0);
    out.restarts = static_cast<double>(job.restarts.value_or(0));
    sizes.emplace_back(-len, j);
    out.move_factor = h / (h + restart);
    if (given.had == false) out.move_factor = 1;
  }
  std::sort(sizes.begin(), sizes.end());
  static const double a = Env("A", 0.5), m = Env("M", 1);
  const double c = 1 / (1 - P);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t j = sizes[i].second;
    const double r = static_cast<double>(i + 1);
    static const double he = Env("HE", 0), hc = Env("HC", 1);
    jobs_[j].horizon = horizon;
    static const double ha = Env("HA", 1), hb = Env("HB", 1);
    const SnapshotJob& job = *problem.jobs()[j].job;
    if (jobs_[j].work < 0) jobs_[j].horizon = std::min(horizon, ha * std::max(job.age.value_or(0) - hb * 30 * job.restarts.value_or(0), 0.0) + 1);
    (void)he; (void)hc;
    if (m == 1) jobs_[j].weight = std::pow(std::pow(r, c) - std::pow(r - 1, c), 1 / c);
    else jobs_[j].weight = std::pow(std::max(lens[j], 60.0) / 3600, -a);
  }
}

double Values::Utility(const Job& job, double speedup) const {
  const double sigma = speedup * job.scale;
  switch (objective_) {
    case Objective::kRelease:
      return sigma;
    case Objective::kPaper:
      return -1 / (sigma + kPaperFloor);
    case Objective::kCompletion: {
      static const double b = Env("B", -1), floor = Env("F", 0);
      if (b == 0) return job.weight * std::log(sigma + floor);
      return (b > 0 ? -1 : 1) * job.weight * std::pow(sigma + floor, -b);
    }
  }
  return 0;
}

double Values::MoveFactor(const Job& job, double speedup) const {
  if (objective_ != Objective::kCompletion) return job.move_factor;
  static const double hr = Env("HR", 1);
  static const double old = Env("OLD", 0);
  if (old > 0) return job.move_factor;
  double h = job.horizon;
  if (job.work >= 0 && speedup > 0) h = std::min(h, job.work / speedup * hr);
  static const double ka = Env("KA", 0);
  double f = h / (h + job.restart);
  if (ka > 0 && job.restart > 0) f *= std::max(job.age - ka * 30 * job.restarts, 0.0) / (job.age + 1);
  return f;
}

double Values::Moved(std::size_t j, bool several_nodes, int replicas) {
  Job& job = jobs_[j];
  std::vector<double>& memo = job.moved[several_nodes ? 1 : 0];
  const auto k = static_cast<std::size_t>(replicas);
  if (memo.size() <= k) memo.resize(std::max(k + 1, 2 * memo.size()), std::numeric_limits<double>::quiet_NaN());
  if (std::isnan(memo[k])) memo[k] = Utility(job, job.speedup(several_nodes, replicas) * MoveFactor(job, job.speedup(several_nodes, replicas)));
  return memo[k];
}

double Values::Report(double sum) const {
  if (objective_ != Objective::kPaper || jobs_.empty()) return sum;
  return -static_cast<double>(jobs_.size()) / sum;
}

}  // namespace adaptdl
