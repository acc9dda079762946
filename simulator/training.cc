#include "simulator/training.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "goodput/fit.h"
#include "goodput/model.h"

namespace adaptdl {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-8;

std::int64_t CeilOf(double x) { return static_cast<std::int64_t>(std::ceil(x - kTiny)); }

}  // namespace

BatchChoice SplitBatch(const ApplicationSpec& spec, std::int64_t replicas, double batch_size) {
  const std::int64_t local = CeilOf(batch_size / static_cast<double>(replicas));
  BatchChoice out;
  out.accum_steps = CeilOf(static_cast<double>(local) / static_cast<double>(spec.max_local_bsz)) - 1;
  if (replicas == 1 && batch_size > static_cast<double>(spec.init_batch_size))
    out.accum_steps = std::max<std::int64_t>(out.accum_steps, 1);
  out.accum_steps = std::max<std::int64_t>(out.accum_steps, 0);
  out.atomic_bsz = CeilOf(static_cast<double>(local) / static_cast<double>(out.accum_steps + 1));
  const std::int64_t most = spec.max_batch_size / (replicas * (out.accum_steps + 1));
  out.atomic_bsz = std::clamp(std::min(out.atomic_bsz, most), spec.min_local_bsz, spec.max_local_bsz);
  return out;
}

double StepGain(const Application& application, double batch_size, int epoch) {
  const GradParams grad = application.Gradient(batch_size, epoch);
  const double scale = batch_size / static_cast<double>(application.spec().init_batch_size);
  return (grad.var + grad.sqr) / (grad.var / scale + grad.sqr);
}

double ProgressRate(const Application& application, const std::vector<int>& placement,
                    std::int64_t atomic_bsz, std::int64_t accum_steps, int epoch) {
  const StepTime time = application.Step(placement, atomic_bsz);
  const std::int64_t replicas = std::accumulate(placement.begin(), placement.end(), std::int64_t{0});
  const auto batch_size = static_cast<double>(replicas * atomic_bsz * (accum_steps + 1));
  return StepGain(application, batch_size, epoch) /
         (time.step + static_cast<double>(accum_steps) * (time.step - time.sync));
}

Training::Training(const Application& application, double now, std::optional<std::int64_t> batch_size)
    : application_(application), batch_size_(batch_size), now_(now), next_(kNever) {
  if (!batch_size_) batch_size_ = application.spec().fixed_batch_size;
}

void Training::AdvanceTo(double now) {
  attained_ += (now - now_) * static_cast<double>(replicas_);
  if (running_) progress_ += rate_ * (now - now_);
  now_ = now;
  if (now < next_) return;
  if (running_) {
    progress_ = application_.Progress(++epoch_);
    if (finished()) {
      next_ = kNever;
      running_ = false;
      return;
    }
    ChooseBatchSize();
  }
  Run();
}

void Training::Reallocate(std::vector<int> placement, const std::optional<TrainingPrior>& prior) {
  placement_ = std::move(placement);
  replicas_ = std::accumulate(placement_.begin(), placement_.end(), std::int64_t{0});
  running_ = false;
  if (placement_.empty()) {
    next_ = kNever;
    return;
  }
  ++restarts_;
  prior_ = prior;
  ChooseBatchSize();
  next_ = now_ + application_.spec().restart_seconds;
}

const std::optional<PerfParams>& Training::perf_params() {
  if (observations_.size() > fitted_) {
    std::vector<Observation> all;
    all.reserve(observations_.size());
    for (const auto& [key, observation] : observations_) all.push_back(observation);
    if (const auto fit = FitPerfParams(all)) perf_ = fit->params;
    fitted_ = observations_.size();
  }
  return perf_;
}

void Training::ChooseBatchSize() {
  const ApplicationSpec& spec = application_.spec();
  if (batch_size_ || (!prior_ && !perf_params())) {
    const auto least = std::max(spec.init_batch_size, spec.min_local_bsz * replicas_);
    const BatchChoice choice = SplitBatch(spec, replicas_, static_cast<double>(batch_size_.value_or(least)));
    atomic_bsz_ = choice.atomic_bsz;
    accum_steps_ = choice.accum_steps;
    return;
  }
  const GradParams grad = grad_ ? *grad_ : prior_->grad;
  const auto model = GoodputModel::Create(prior_ ? prior_->perf : *perf_, grad, spec.init_batch_size);
  const BatchLimits limits{spec.max_batch_size, spec.min_local_bsz, spec.max_local_bsz,
                           spec.gradient_accumulation};
  const auto best = model->Best({static_cast<std::int64_t>(placement_.size()), replicas_}, limits);
  accum_steps_ = best->accum_steps;
  const std::int64_t most = spec.max_batch_size / (replicas_ * (accum_steps_ + 1));
  atomic_bsz_ = std::clamp(std::min(best->atomic_bsz, most), spec.min_local_bsz, spec.max_local_bsz);
}

// Runs on as it is set up now, and measures that.
void Training::Run() {
  running_ = true;
  const StepTime time = application_.Step(placement_, atomic_bsz_);
  const auto nodes = static_cast<std::int64_t>(placement_.size());
  const auto batch_size = static_cast<double>(replicas_ * atomic_bsz_ * (accum_steps_ + 1));
  grad_ = application_.Gradient(batch_size, epoch_);
  gradients_.emplace_back(progress_, *grad_);
  observations_.emplace(Key{nodes, replicas_, atomic_bsz_},
                        Observation{nodes, replicas_, atomic_bsz_, time.step - time.sync, time.step});
  max_profiled_ = std::max(max_profiled_, replicas_);
  rate_ = ProgressRate(application_, placement_, atomic_bsz_, accum_steps_, epoch_);
  next_ = now_ + std::max(application_.Progress(epoch_ + 1) - progress_, 0.0) / rate_;
}

}  // namespace adaptdl
