// What the operator costs: many jobs from creation to Running, and through one resize.
//   operator_load kube JOBS REPLICAS  on the cluster of $KUBECONFIG, where an operator runs, with the nodes
//   there are operator_load sim JOBS REPLICAS   operator and cluster in this process, on virtual time
// Plays the users and the scheduler. Prints seconds: of the wall for the former, of the CPU for the latter.
#include <sys/resource.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/kube/kube_cluster.h"
#include "cluster/kube/kube_config.h"
#include "cluster/sim/sim_nodes.h"
#include "cluster/sim/sim_world.h"
#include "nlohmann/json.hpp"
#include "operator/operator.h"
#include "runtime/environment.h"
#include "runtime/event_loop.h"
#include "runtime/watch_cache.h"

namespace adaptdl {
namespace {

using nlohmann::json;
using std::chrono::minutes;

constexpr const char* kNamespace = "bench";
constexpr int kAtOnce = 32;

Logger Quiet() { return Logger("load", {.level = LogLevel::kError}); }

// Users who create jobs, and a scheduler that gives each its nodes. Jobs are resized by giving them one more.
class Load {
 public:
  Load(Clock& clock, Cluster& cluster, int jobs, int replicas)
      : cluster_(cluster),
        jobs_(clock, cluster, {.name_space = kNamespace}, Quiet()),
        nodes_(clock, cluster, {}, Quiet()),
        count_(static_cast<std::size_t>(jobs)),
        replicas_(replicas) {
    jobs_.Subscribe([this](const Key&, const Job*, const Job* after) { OnJob(after); });
    jobs_.Start();
    nodes_.Start();
  }

  bool Ready() const { return jobs_.ready() && nodes_.ready(); }
  void Begin() {
    for (int i = 0; i < kAtOnce; ++i) CreateNext();
  }
  void Resize() {
    ++replicas_;
    running_.clear();
    for (const auto& job : jobs_.List()) Allocate(*job, replicas_);
  }
  // All run, with as many replicas as they were given last.
  bool AllRun() const { return running_.size() == count_; }

 private:
  void CreateNext() {
    if (created_ == count_) return;
    const json container = {{"name", "main"}, {"image", "any"}};
    const json job = {
        {"apiVersion", "adaptdl.petuum.com/v1"},
        {"kind", "AdaptDLJob"},
        {"metadata", {{"name", "job-" + std::to_string(created_++)}, {"namespace", kNamespace}}},
        {"spec", {{"template", {{"spec", {{"containers", {container}}}}}}}}};
    cluster_.Create(Kind::kJob, Document(job), [this](const Result<Object>& result) {
      if (!result) std::fprintf(stderr, "operator_load: %s\n", result.error().message.c_str());
      CreateNext();
    });
  }

  void OnJob(const Job* after) {
    if (after == nullptr) return;
    const bool runs = after->status.phase == JobPhase::kRunning && after->status.replicas == replicas_;
    if (runs) {
      running_.insert(after->metadata.name);
    } else {
      running_.erase(after->metadata.name);
    }
    if (after->status.phase == JobPhase::kPending && after->status.allocation.empty()) {
      Allocate(*after, replicas_);
    }
  }

  void Allocate(const Job& job, int replicas) {
    const auto nodes = nodes_.List();
    std::vector<std::string> allocation;
    allocation.reserve(static_cast<std::size_t>(replicas));
    const std::size_t first = next_node_++;
    for (int i = 0; i < replicas; ++i) {
      allocation.push_back(nodes[(first + static_cast<std::size_t>(i) / 2) % nodes.size()]->metadata.name);
    }
    const json merge = {{"status", {{"allocation", allocation}}}};
    cluster_.Apply({.ref = {Kind::kJob, KeyOf(job.metadata)}, .merge = Document(merge)},
                   [](const auto& result) {
                     if (!result) std::fprintf(stderr, "operator_load: %s\n", result.error().message.c_str());
                   });
  }

  Cluster& cluster_;
  WatchCache<Job> jobs_;
  WatchCache<Node> nodes_;
  const std::size_t count_;
  int replicas_;
  std::size_t created_ = 0;
  std::size_t next_node_ = 0;
  std::set<std::string> running_;
};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double WallSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs the clock until all jobs run, then until they do again after a resize; says how long each took.
int Measure(Load& load, int jobs, const std::function<bool(const std::function<bool()>&)>& run_until,
            double (*seconds)()) {
  if (!run_until([&] { return load.Ready(); })) return 1;
  double begun = seconds();
  const auto report = [&](const char* what) {
    const double took = seconds() - begun;
    std::printf("%s: %.2f s, %.0f jobs/s\n", what, took, jobs / took);
    std::fflush(stdout);
  };
  load.Begin();
  if (!run_until([&] { return load.AllRun(); })) return 1;
  report("from creation to Running");
  begun = seconds();
  load.Resize();
  if (!run_until([&] { return load.AllRun(); })) return 1;
  report("from a new allocation to Running again");
  return 0;
}

int OnKubernetes(int jobs, int replicas) {
  EventLoop loop;
  KubeOptions options{.requests_per_second = 5000, .burst = 5000};
  options.call_deadline = minutes(5);
  const auto connection = FindConnection(ProcessEnvironment());
  if (!connection) return 1;
  const auto cluster = ConnectToKubernetes(*connection, options, loop);
  if (!cluster) return 1;
  Load load(loop, **cluster, jobs, replicas);
  return Measure(
      load, jobs, [&](const std::function<bool()>& holds) { return loop.RunUntil(holds, minutes(20)); },
      WallSeconds);
}

int InSimulation(int jobs, int replicas) {
  SimWorld world({.server = {.history = 1'000'000}, .keep_trace = false});
  SimNodes nodes(world);
  const int count = jobs * (replicas + 1) / 50 + 4;
  for (int i = 0; i < count; ++i) nodes.Add("node-" + std::to_string(i), {{"pods", "1000"}});
  world.AddProcess("operator", [](Clock& clock, Cluster& cluster) -> std::shared_ptr<void> {
    OperatorOptions options;
    options.election = {.lease = {kNamespace, "operator"}, .identity = "operator"};
    return std::make_shared<Operator>(clock, cluster, options, Quiet());
  });
  Load load(world.clock(), world.admin(), jobs, replicas);
  return Measure(
      load, jobs,
      [&](const std::function<bool()>& holds) { return world.clock().RunUntil(holds, minutes(60)); },
      CpuSeconds);
}

int Number(std::string_view text) {
  int value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

int Main(const std::vector<std::string_view>& args) {
  const bool fits = args.size() == 3 && (args[0] == "kube" || args[0] == "sim") && Number(args[1]) > 0 &&
                    Number(args[2]) > 0;
  if (!fits) {
    std::fputs("usage: operator_load kube|sim JOBS REPLICAS\n", stderr);
    return 2;
  }
  const int failed = (args[0] == "kube" ? OnKubernetes : InSimulation)(Number(args[1]), Number(args[2]));
  if (failed != 0) std::fputs("operator_load: it did not come to its end\n", stderr);
  return failed;
}

}  // namespace
}  // namespace adaptdl

int main(int argc, char** argv) { return adaptdl::Main({argv + 1, argv + argc}); }
