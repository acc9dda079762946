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
  const double a = Env("A", 0.5), horizon = Env("H", 300), service = Env("S", 0.3);
  const auto nodes = static_cast<double>(problem.nodes());
  const auto count = static_cast<double>(problem.jobs().size());
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const ProblemJob& given = problem.jobs()[j];
    const SnapshotJob& job = *given.job;
    Job& out = jobs_[j];
    const double share = given.share > 0 ? given.share : 1;
    const double fair_replicas = std::max(1.0, std::min(1 / (share * count), static_cast<double>(kMostReplicas)));
    double fair = out.speedup(fair_replicas > 4, static_cast<int>(std::ceil(fair_replicas)));
    if (!(fair > 0)) fair = 1;
    out.scale = 1 / fair;
    (void)nodes;
    const double restart = options.use_restart_cost && job.restart_seconds ? *job.restart_seconds : kUsualRestart;
    double remaining = -1;
    if (options.use_remaining && job.total_progress && job.progress) {
      if (const auto base = out.speedup.base_goodput()) {
        remaining = std::max(*job.total_progress - *job.progress, 0.0) * static_cast<double>(job.init_batch_size) / *base / fair;
      }
    }
    double h = horizon;
    if (remaining >= 0) {
      out.weight = std::pow(std::max(remaining, 60.0) / 3600, -a);
      h = std::min(h, std::max(remaining, 30.0));
    } else if (options.use_attained && job.attained_service) {
      out.weight = std::pow((*job.attained_service + Env("S0", 600)) / 3600, -service);
    }
    out.move_factor = h / (h + restart);
    if (given.had == false) out.move_factor = 1;
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
      static const double b = Env("B", 1), floor = Env("F", 0.05);
      if (b == 0) return job.weight * std::log(sigma + floor);
      return (b > 0 ? -1 : 1) * job.weight * std::pow(sigma + floor, -b);
    }
  }
  return 0;
}

double Values::Moved(std::size_t j, bool several_nodes, int replicas) {
  Job& job = jobs_[j];
  std::vector<double>& memo = job.moved[several_nodes ? 1 : 0];
  const auto k = static_cast<std::size_t>(replicas);
  if (memo.size() <= k) memo.resize(std::max(k + 1, 2 * memo.size()), std::numeric_limits<double>::quiet_NaN());
  if (std::isnan(memo[k])) memo[k] = Utility(job, job.speedup(several_nodes, replicas) * job.move_factor);
  return memo[k];
}

double Values::Report(double sum) const {
  if (objective_ != Objective::kPaper || jobs_.empty()) return sum;
  return -static_cast<double>(jobs_.size()) / sum;
}

}  // namespace adaptdl
