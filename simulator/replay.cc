#include "simulator/replay.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "scheduler/family.h"
#include "simulator/training.h"

namespace adaptdl {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kReaction = 1;  // Seconds from an event to the round that it causes.
constexpr const char* kGpu = "nvidia.com/gpu";

struct Active {
  const WorkloadJob* job;
  const Application* application;
  std::size_t index;  // In the result.
  Training training;
  std::vector<std::string> nodes;  // Of each replica.
  std::size_t observed = 0, graded = 0;
};

class Replayer {
 public:
  Replayer(const Applications& applications, const Workload& workload, const Policy& policy, bool tuned, bool fixed_size, const ReplayOptions& options)
      : applications_(applications), workload_(workload), policy_(policy), tuned_(tuned), fixed_size_(fixed_size), options_(options), rng_(options.seed) {
    for (int n = 0; n < options.nodes; ++n) {
      std::string name = std::to_string(n);
      name.insert(0, 4 - std::min<std::size_t>(name.size(), 4), '0');
      nodes_["node-" + name].resources = {{kGpu, options.gpus}};
    }
  }

  SimResult Run(const ReplayProgress& progress) {
    double round = options_.interval;
    std::size_t done = 0;
    while (next_arrival_ < workload_.size() || !active_.empty()) {
      double now = active_.empty() ? kNever : round;
      if (next_arrival_ < workload_.size()) now = std::min(now, std::max(workload_[next_arrival_].submitted, now_));
      for (const auto& [name, job] : active_) now = std::min(now, job.training.NextEvent());
      now_ = now;
      bool came_or_went = false;
      for (auto& [name, job] : active_) job.training.AdvanceTo(now_);
      for (auto it = active_.begin(); it != active_.end();) {
        if (it->second.training.finished()) {
          Finish(it->second);
          it = active_.erase(it);
          came_or_went = true;
          if (progress && ++done % 8 == 0) progress(static_cast<double>(done) / static_cast<double>(workload_.size()));
        } else {
          ++it;
        }
      }
      while (next_arrival_ < workload_.size() && workload_[next_arrival_].submitted <= now_) {
        Arrive(workload_[next_arrival_++]);
        came_or_went = true;
      }
      if (active_.empty()) {
        Sample();
        continue;
      }
      if (round < now_) round = std::ceil(now_ / options_.interval) * options_.interval;
      if (came_or_went && options_.event_rounds) round = std::min(round, now_ + kReaction);
      if (now_ >= round) {
        Round();
        round = std::floor(now_ / options_.interval + 1) * options_.interval;
      }
    }
    Summarize();
    return std::move(result_);
  }

 private:
  void Arrive(const WorkloadJob& job) {
    const Application& application = *applications_.at(job.application);
    SimulatedJob record;
    record.name = job.name;
    record.application = job.application;
    record.submitted = job.submitted;
    record.started = -1;
    record.spans.push_back({job.submitted, job.submitted, {}, false});
    result_.jobs.push_back(record);
    const auto batch = tuned_ ? std::optional(job.tuned_batch_size) : std::nullopt;
    active_.emplace(job.name, Active{&job, &application, result_.jobs.size() - 1, Training(application, now_, batch), {}});
  }

  void Finish(Active& job) {
    SimulatedJob& record = result_.jobs[job.index];
    record.finished = now_;
    record.restarts = job.training.restarts();
    record.gpu_seconds = job.training.attained_service();
    record.spans.back().end = now_;
    Learn(job);
  }

  void Learn(Active& job) {
    if (!options_.family_priors) return;
    FamilyProfile& family = families_[job.job->application];
    if (job.training.observations().size() > job.observed) {
      for (const auto& [key, observation] : job.training.observations()) family.Add(observation);
      job.observed = job.training.observations().size();
    }
    const auto& gradients = job.training.gradients();
    for (; job.graded < gradients.size(); ++job.graded) family.Add(gradients[job.graded].first, gradients[job.graded].second);
  }

  Snapshot TakeSnapshot() {
    Snapshot out;
    out.nodes = nodes_;
    if (options_.max_nodes > 0) out.node_template = SnapshotNode{{{kGpu, options_.gpus}}, true};
    for (auto& [name, job] : active_) Learn(job);
    for (auto& [name, job] : active_) {
      const ApplicationSpec& spec = job.application->spec();
      Training& training = job.training;
      SnapshotJob& s = out.jobs[name];
      s.resources = {{kGpu, 1}};
      s.init_batch_size = spec.init_batch_size;
      s.batch = {spec.max_batch_size, spec.min_local_bsz, spec.max_local_bsz, spec.gradient_accumulation};
      s.creation_timestamp = Time(std::chrono::microseconds(static_cast<std::int64_t>(job.job->submitted * 1e6)));
      s.attained_service = training.attained_service();
      s.age = now_ - job.job->submitted;
      s.restarts = std::max<std::int64_t>(training.restarts(), 0);
      s.progress = training.progress();
      if (options_.declared_epochs) s.total_progress = spec.epochs * spec.data_size / static_cast<double>(spec.init_batch_size);
      if (training.restarts() >= 0) s.restart_seconds = spec.restart_seconds;
      out.base_allocations[name] = job.nodes;
      if (tuned_) {
        s.max_replicas = fixed_size_ ? job.job->tuned_replicas : std::max<std::int64_t>(job.job->tuned_batch_size / spec.min_local_bsz, 1);
        if (fixed_size_) s.min_replicas = *s.max_replicas;
        continue;
      }
      s.perf_params = training.perf_params();
      s.grad_params = training.grad_params();
      std::int64_t profiled = training.max_profiled_replicas();
      if (options_.family_priors) {
        FamilyProfile& family = families_[job.job->application];
        if (family.perf_params()) s.perf_params = family.perf_params();
        if (!s.grad_params) s.grad_params = family.GradAt(training.progress());
        profiled = std::max(profiled, family.max_profiled_replicas());
      }
      std::int64_t most = std::min(std::max<std::int64_t>(2 * profiled, 1), static_cast<std::int64_t>(64));
      most = std::min(most, spec.max_batch_size / spec.min_local_bsz);
      s.max_replicas = std::min(most, spec.max_replicas.value_or(most));
    }
    return out;
  }

  void Round() {
    const Snapshot snapshot = TakeSnapshot();
    const std::clock_t before = std::clock();
    Proposal proposal = policy_.Propose(snapshot, rng_);
    result_.policy_cpu_seconds += static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
    ++result_.rounds;
    for (auto& [name, job] : active_) {
      std::vector<std::string>& nodes = proposal.allocation[name];
      std::sort(nodes.begin(), nodes.end());
      if (nodes == job.nodes) continue;
      std::vector<int> placement;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (i == 0 || nodes[i] != nodes[i - 1]) placement.push_back(0);
        ++placement.back();
      }
      job.training.Reallocate(placement);
      job.nodes = std::move(nodes);
      SimulatedJob& record = result_.jobs[job.index];
      if (record.started < 0 && !placement.empty()) record.started = now_;
      record.spans.back().end = now_;
      if (!placement.empty()) {
        const double ready = now_ + job.application->spec().restart_seconds;
        record.spans.push_back({now_, ready, placement, true});
        record.spans.push_back({ready, ready, std::move(placement), false});
      } else {
        record.spans.push_back({now_, now_, {}, false});
      }
    }
    Sample();
  }

  void Sample() {
    ClusterSample sample{now_, static_cast<int>(nodes_.size()), static_cast<int>(nodes_.size()) * options_.gpus, 0, 0, 0};
    for (const auto& [name, job] : active_) {
      sample.used_gpus += static_cast<int>(job.nodes.size());
      ++(job.nodes.empty() ? sample.waiting : sample.running);
    }
    result_.samples.push_back(sample);
  }

  void Summarize() {
    std::vector<double> times;
    for (const SimulatedJob& job : result_.jobs) {
      times.push_back(job.CompletionTime());
      result_.average_jct += job.CompletionTime() / static_cast<double>(result_.jobs.size());
      result_.makespan = std::max(result_.makespan, job.finished);
      result_.restarts += job.restarts;
      result_.gpu_hours += job.gpu_seconds / 3600;
    }
    if (times.empty()) return;
    std::sort(times.begin(), times.end());
    const auto at = [&](double q) { return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))]; };
    result_.p50_jct = at(0.5);
    result_.p99_jct = at(0.99);
  }

  const Applications& applications_;
  const Workload& workload_;
  const Policy& policy_;
  bool tuned_, fixed_size_;
  ReplayOptions options_;
  Rng rng_;
  double now_ = 0;
  std::size_t next_arrival_ = 0;
  std::map<std::string, SnapshotNode> nodes_;
  std::map<std::string, Active> active_;
  std::map<std::string, FamilyProfile> families_;
  SimResult result_;
};

}  // namespace

Result<SimResult> Replay(const Applications& applications, const Workload& workload, const std::string& policy,
                         PolicyOptions policy_options, const ReplayOptions& options, const ReplayProgress& progress) {
  for (const WorkloadJob& job : workload) {
    if (!applications.contains(job.application)) return Invalid(Printable(job.name) + ": there is no application " + Printable(job.application));
  }
  auto made = MakePolicy(policy, policy_options);
  if (!made) return tl::unexpected(made.error());
  Replayer replayer(applications, workload, **made, policy != "genetic", policy != "optimus", options);
  SimResult result = replayer.Run(progress);
  result.policy = policy;
  return result;
}

}  // namespace adaptdl
