#include "simulator/replay.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <utility>

#include "scheduler/family.h"
#include "simulator/alone.h"
#include "simulator/training.h"

namespace adaptdl {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kReaction = 1;  // Seconds from an event to the round that it causes.
constexpr int kHopeless = 100;   // Rounds in which nothing runs and nothing comes.
constexpr std::int64_t kMostReplicasOfAJob = 64;
constexpr const char* kGpu = "nvidia.com/gpu";

struct Active {
  const WorkloadJob* job;
  const Application* application;
  std::size_t index;  // In the result.
  Training training;
  std::vector<std::string> nodes;           // Of each replica.
  std::size_t observed = 0, gradients = 0;  // What its family has learned of it.
};

// Of this thread alone: others replay beside it.
double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<int> ToPlacement(const std::vector<std::string>& nodes) {
  std::vector<int> placement;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i == 0 || nodes[i] != nodes[i - 1]) placement.push_back(0);
    ++placement.back();
  }
  return placement;
}

class Replayer {
 public:
  Replayer(const Applications& applications, const Workload& workload, Sizing sizing,
           const ReplayOptions& options)
      : applications_(applications),
        workload_(workload),
        sizing_(sizing),
        options_(options),
        rng_(options.seed) {
    for (int n = 0; n < options.nodes; ++n) AddNode();
  }

  // What only the traces know: seconds that a job still needs at its tuned batch size, packed on so many
  // replicas.
  [[nodiscard]] double Remaining(const std::string& name, std::int64_t replicas) const {
    const Active& job = active_.at(name);
    const Application& application = *job.application;
    double iterations = 0;
    for (int epoch = job.training.epoch(); epoch < application.spec().epochs; ++epoch) {
      const double from = std::max(job.training.progress(), application.Progress(epoch));
      iterations += (application.Progress(epoch + 1) - from) /
                    StepGain(application, static_cast<double>(job.job->tuned_batch_size), epoch);
    }
    const BatchChoice batch =
        SplitBatch(application.spec(), replicas, static_cast<double>(job.job->tuned_batch_size));
    const StepTime time = application.Step(Packed(replicas, options_.gpus), batch.atomic_bsz);
    return iterations * (time.step + static_cast<double>(batch.accum_steps) * (time.step - time.sync));
  }

  Result<SimResult> Run(const Policy& policy, const ReplayProgress& progress) {
    int idle_rounds = 0;
    double round = options_.interval;
    while (next_arrival_ < workload_.size() || !active_.empty()) {
      now_ = NextTime(round);
      for (auto& [name, job] : active_) job.training.AdvanceTo(now_);
      const bool went = TakeLeave(progress);
      const bool came = Welcome();
      if (active_.empty()) {
        Sample();
        continue;
      }
      if (round < now_) round = std::ceil(now_ / options_.interval) * options_.interval;
      if ((came || went) && options_.event_rounds) round = std::min(round, now_ + kReaction);
      if (now_ >= round) {
        Round(policy);
        idle_rounds = AllWait() ? idle_rounds + 1 : 0;
        if (idle_rounds > kHopeless) {
          return Invalid(Printable(active_.begin()->first) +
                         ": never gets to run; the cluster is too small for it, or the policy is");
        }
        round = std::floor(now_ / options_.interval + 1) * options_.interval;
      }
    }
    Summarize();
    return std::move(result_);
  }

 private:
  [[nodiscard]] double NextTime(double round) const {
    double next = active_.empty() ? kNever : std::max(round, now_);
    if (next_arrival_ < workload_.size())
      next = std::min(next, std::max(workload_[next_arrival_].submitted, now_));
    for (const auto& [name, job] : active_) next = std::min(next, job.training.NextEvent());
    return next;
  }

  // Nothing runs, and nothing comes that could change that.
  [[nodiscard]] bool AllWait() const {
    return next_arrival_ == workload_.size() && requested_.empty() &&
           std::all_of(active_.begin(), active_.end(),
                       [](const auto& job) { return job.second.nodes.empty(); });
  }

  bool TakeLeave(const ReplayProgress& progress) {
    bool any = false;
    for (auto it = active_.begin(); it != active_.end();) {
      if (!it->second.training.finished()) {
        ++it;
        continue;
      }
      Active& job = it->second;
      SimulatedJob& record = result_.jobs[job.index];
      record.finished = now_;
      record.restarts = job.training.restarts();
      record.gpu_seconds = job.training.attained_service();
      record.spans.back().end = now_;
      Learn(job);
      if (options_.family_priors) families_[job.job->application].AddCompletion(job.training.progress());
      it = active_.erase(it);
      any = true;
      if (progress) progress(static_cast<double>(++done_) / static_cast<double>(workload_.size()));
    }
    return any;
  }

  bool Welcome() {
    bool any = false;
    for (; next_arrival_ < workload_.size() && workload_[next_arrival_].submitted <= now_; ++next_arrival_) {
      const WorkloadJob& job = workload_[next_arrival_];
      const Application& application = *applications_.at(job.application);
      SimulatedJob& record = result_.jobs.emplace_back();
      record.name = job.name;
      record.application = job.application;
      record.submitted = job.submitted;
      record.started = kNever;
      record.spans.push_back({job.submitted, job.submitted, {}, false});
      const auto batch = sizing_ == Sizing::kElastic ? std::nullopt : std::optional(job.tuned_batch_size);
      active_.emplace(
          job.name,
          Active{&job, &application, result_.jobs.size() - 1, Training(application, now_, batch), {}});
      any = true;
    }
    return any;
  }

  // Hands what the job has reported since to its family.
  void Learn(Active& job) {
    if (!options_.family_priors) return;
    FamilyProfile& family = families_[job.job->application];
    if (job.training.observations().size() > job.observed) {
      for (const auto& [key, observation] : job.training.observations()) family.Add(observation);
      job.observed = job.training.observations().size();
    }
    const auto& gradients = job.training.gradients();
    for (; job.gradients < gradients.size(); ++job.gradients) {
      family.Add(gradients[job.gradients].first, gradients[job.gradients].second);
    }
  }

  // What the scheduler would see now, and nothing else.
  Snapshot TakeSnapshot() {
    Snapshot out;
    out.nodes = nodes_;
    if (options_.max_nodes > 0) out.node_template = SnapshotNode{{{kGpu, options_.gpus}}, true};
    for (auto& [name, job] : active_) Learn(job);
    for (auto& [name, job] : active_) {
      out.jobs[name] = Describe(job);
      out.base_allocations[name] = job.nodes;
    }
    return out;
  }

  SnapshotJob Describe(Active& job) {
    const ApplicationSpec& spec = job.application->spec();
    Training& training = job.training;
    SnapshotJob out;
    out.resources = {{kGpu, 1}};
    out.init_batch_size = spec.init_batch_size;
    out.batch = {spec.max_batch_size, spec.min_local_bsz, spec.max_local_bsz, spec.gradient_accumulation};
    out.creation_timestamp = Time(std::chrono::microseconds(std::llround(job.job->submitted * 1e6)));
    out.attained_service = training.attained_service();
    out.age = now_ - job.job->submitted;
    out.restarts = std::max<std::int64_t>(training.restarts(), 0);
    out.progress = training.progress();
    if (options_.declared_epochs) {
      out.total_progress = spec.epochs * spec.data_size / static_cast<double>(spec.init_batch_size);
    }
    if (training.restarts() >= 0) out.restart_seconds = spec.restart_seconds;
    if (sizing_ == Sizing::kTunedReplicas) {
      out.min_replicas = job.job->tuned_replicas;
      out.max_replicas = job.job->tuned_replicas;
      return out;
    }
    if (sizing_ == Sizing::kTunedBatch) {
      out.max_replicas = std::max<std::int64_t>(job.job->tuned_batch_size / spec.min_local_bsz, 1);
      return out;
    }
    out.perf_params = training.perf_params();
    out.grad_params = training.grad_params();
    std::int64_t profiled = training.max_profiled_replicas();
    if (options_.family_priors) {
      FamilyProfile& family = families_[job.job->application];
      if (family.perf_params()) out.perf_params = family.perf_params();
      if (!out.grad_params) out.grad_params = family.GradAt(training.progress());
      if (!out.total_progress) out.total_progress = family.TotalProgress();
      profiled = std::max(profiled, family.max_profiled_replicas());
    }
    std::int64_t most = std::min(std::max<std::int64_t>(2 * profiled, 1), kMostReplicasOfAJob);
    most = std::min(most, std::max<std::int64_t>(spec.max_batch_size / spec.min_local_bsz, 1));
    out.max_replicas = std::min(most, spec.max_replicas.value_or(most));
    return out;
  }

  void Round(const Policy& policy) {
    CompleteNodes();
    const Snapshot snapshot = TakeSnapshot();
    const double before = ThreadCpuSeconds();
    Proposal proposal = policy.Propose(snapshot, rng_);
    result_.policy_cpu_seconds += ThreadCpuSeconds() - before;
    ++result_.rounds;
    for (auto& [name, job] : active_) {
      std::vector<std::string>& nodes = proposal.allocation[name];
      std::sort(nodes.begin(), nodes.end());
      if (nodes != job.nodes) Reallocate(job, std::move(nodes), snapshot.jobs.at(name));
    }
    if (options_.max_nodes > 0) Resize(static_cast<int>(proposal.desired_nodes));
    Sample();
  }

  void Reallocate(Active& job, std::vector<std::string> nodes, const SnapshotJob& seen) {
    std::vector<int> placement = ToPlacement(nodes);
    std::optional<TrainingPrior> prior;
    if (options_.family_priors && options_.family_batch_sizes && seen.perf_params && seen.grad_params) {
      prior = TrainingPrior{*seen.perf_params, *seen.grad_params};
    }
    job.training.Reallocate(placement, prior);
    job.nodes = std::move(nodes);
    SimulatedJob& record = result_.jobs[job.index];
    if (record.spans.back().start > now_) record.spans.pop_back();  // It never came back from its restart.
    record.spans.back().end = now_;
    if (placement.empty()) {
      record.spans.push_back({now_, now_, {}, false});
      return;
    }
    record.started = std::min(record.started, now_);
    const double ready = now_ + job.application->spec().restart_seconds;
    record.spans.push_back({now_, ready, placement, true});
    record.spans.push_back({ready, ready, std::move(placement), false});
  }

  void AddNode() {
    std::string number = std::to_string(next_node_++);
    number.insert(0, 4 - std::min<std::size_t>(number.size(), 4), '0');
    nodes_["node-" + number].resources = {{kGpu, options_.gpus}};
  }

  void CompleteNodes() {
    const auto ready =
        std::partition(requested_.begin(), requested_.end(), [&](double at) { return at > now_; });
    for (auto it = ready; it != requested_.end(); ++it) AddNode();
    requested_.erase(ready, requested_.end());
  }

  // Requests nodes, which take their time, and gives those up that nobody uses.
  void Resize(int desired) {
    const auto have = static_cast<int>(nodes_.size() + requested_.size());
    for (int n = have; n < desired; ++n) requested_.push_back(now_ + options_.node_delay);
    if (have <= desired) return;
    requested_.clear();
    std::map<std::string, int> used;
    for (const auto& [name, job] : active_) {
      for (const std::string& node : job.nodes) ++used[node];
    }
    for (auto it = nodes_.end(); it != nodes_.begin() && static_cast<int>(nodes_.size()) > desired;) {
      --it;
      if (!used.contains(it->first)) it = nodes_.erase(it);
    }
  }

  void Sample() {
    const auto nodes = static_cast<int>(nodes_.size());
    ClusterSample sample{now_, nodes, nodes * options_.gpus, 0, 0, 0};
    for (const auto& [name, job] : active_) {
      sample.used_gpus += static_cast<int>(job.nodes.size());
      ++(job.nodes.empty() ? sample.waiting : sample.running);
    }
    result_.samples.push_back(sample);
  }

  void Summarize() {
    SimResult& out = result_;
    if (out.jobs.empty()) return;
    MeasureFairness();
    const auto count = static_cast<double>(out.jobs.size());
    std::vector<double> times;
    for (const SimulatedJob& job : out.jobs) {
      times.push_back(job.CompletionTime());
      out.average_jct += job.CompletionTime() / count;
      out.makespan = std::max(out.makespan, job.finished);
      out.restarts += job.restarts;
      out.gpu_hours += job.gpu_seconds / 3600;
      const double slowdown = job.CompletionTime() / job.alone_seconds;
      out.worst_slowdown = std::max(out.worst_slowdown, slowdown);
      out.mean_slowdown += slowdown / count;
    }
    std::sort(times.begin(), times.end());
    const auto at = [&](double share) {
      return times[static_cast<std::size_t>(std::ceil(share * count)) - 1];
    };
    out.p50_jct = at(0.5);
    out.p99_jct = at(0.99);
    for (std::size_t i = 0; i + 1 < out.samples.size(); ++i) {
      out.node_hours += out.samples[i].nodes * (out.samples[i + 1].time - out.samples[i].time) / 3600;
    }
  }

  // A job's fair share is that of the jobs there were, on average, while it was.
  void MeasureFairness() {
    std::map<std::string, AloneTime> alone;
    const int nodes = options_.max_nodes > 0 ? options_.max_nodes : options_.nodes;
    for (SimulatedJob& job : result_.jobs) {
      double present = 0;
      for (const SimulatedJob& other : result_.jobs) {
        present +=
            std::max(0.0, std::min(job.finished, other.finished) - std::max(job.submitted, other.submitted));
      }
      const double share = nodes * options_.gpus * job.CompletionTime() / present;
      auto& time =
          alone.try_emplace(job.application, *applications_.at(job.application), options_.gpus).first->second;
      job.alone_seconds = time(share);
    }
  }

  const Applications& applications_;
  const Workload& workload_;
  Sizing sizing_;
  ReplayOptions options_;
  Rng rng_;
  double now_ = 0;
  std::size_t next_arrival_ = 0, done_ = 0;
  int next_node_ = 0;
  std::vector<double> requested_;  // When each of the nodes on their way is there.
  std::map<std::string, SnapshotNode> nodes_;
  std::map<std::string, Active> active_;
  std::map<std::string, FamilyProfile> families_;
  SimResult result_;
};

}  // namespace

Result<SimResult> Replay(const Applications& applications, const Workload& workload, const PolicyMaker& make,
                         Sizing sizing, const ReplayOptions& options, const ReplayProgress& progress) {
  for (const WorkloadJob& job : workload) {
    if (!applications.contains(job.application)) {
      return Invalid(Printable(job.name) + ": there is no application " + Printable(job.application));
    }
  }
  Replayer replayer(applications, workload, sizing, options);
  const auto policy =
      make([&](const std::string& job, std::int64_t replicas) { return replayer.Remaining(job, replicas); });
  if (!policy) return tl::unexpected(policy.error());
  return replayer.Run(**policy, progress);
}

Result<SimResult> Replay(const Applications& applications, const Workload& workload,
                         const std::string& policy, PolicyOptions policy_options,
                         const ReplayOptions& options, const ReplayProgress& progress) {
  const auto make = [&](const RemainingTime& oracle) {
    policy_options.remaining_time = policy == "optimus" ? oracle : nullptr;
    policy_options.share_networks = true;  // The published replays of the baselines know no such rule.
    policy_options.min_nodes = options.min_nodes;
    policy_options.max_nodes = options.max_nodes;
    return MakePolicy(policy, policy_options);
  };
  const bool tuned = policy == "tiresias" || policy == "fifo";
  const Sizing sizing = tuned                 ? Sizing::kTunedReplicas
                        : policy == "optimus" ? Sizing::kTunedBatch
                                              : Sizing::kElastic;
  return Replay(applications, workload, make, sizing, options, progress);
}

}  // namespace adaptdl
