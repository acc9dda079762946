#include "operator/operator.h"

#include <utility>

#include "api/trim.h"

namespace adaptdl {

namespace {

// Of a node only its labels count here, and few of those.
void TrimNode(Node* node) {
  std::erase_if(node->metadata.labels,
                [](const auto& label) { return label.first != "kubernetes.io/hostname"; });
  node->metadata.annotations.clear();
  node->taints.clear();
  node->allocatable.clear();
}

}  // namespace

Operator::Operator(Clock& clock, Cluster& cluster, const OperatorOptions& options, const Logger& log,
                   const OperatorMetrics& metrics, const ControllerMetrics& controller_metrics)
    : jobs_(clock, cluster, {.name_space = options.name_space}, log.Named("jobs"),
            {.indexes = {{"node", NodesOfJob}}, .reflector = {.seed = options.seed}}),
      pods_(clock, cluster, {.name_space = options.name_space, .labels = {{"adaptdl", "true"}}},
            log.Named("pods"),
            {.indexes = {{"job", JobsOfPod}},
             .trim = [](Pod* pod) { Trim(pod); },
             .reflector = {.seed = options.seed + 1}}),
      nodes_(clock, cluster, {}, log.Named("nodes"),
             {.trim = TrimNode, .reflector = {.seed = options.seed + 2}}),
      election_(clock, cluster, options.election,
                {.started = [this] { OnLeading(); }, .stopped = [this] { reconciler_.ForgetAll(); }},
                log.Named("election")),
      reconciler_(
          clock, cluster, {jobs_, pods_, nodes_}, options.pods,
          [this] { return ready() && election_.MayAct(); }, log, metrics),
      controller_(
          clock, {.name = "operator", .concurrency = options.concurrency, .seed = options.seed + 3},
          [this] { return ready() && election_.MayAct(); },
          [this](const Key& key, Done<Outcome> done) { reconciler_.Reconcile(key, std::move(done)); }, log,
          controller_metrics) {
  jobs_.Subscribe([this](const Key& key, const Job* before, const Job* after) { OnJob(key, before, after); });
  pods_.Subscribe([this](const Key&, const Pod* before, const Pod* after) { OnPod(before, after); });
  nodes_.Subscribe(
      [this](const Key& key, const Node* before, const Node* after) { OnNode(key, before, after); });
  jobs_.SubscribeUnreadable([this](const Unreadable& job) { OnUnreadable(job); });
  jobs_.WhenReady([this] { controller_.Wake(); });
  pods_.WhenReady([this] { controller_.Wake(); });
  nodes_.WhenReady([this] { controller_.Wake(); });
  jobs_.Start();
  pods_.Start();
  nodes_.Start();
  election_.Start();
}

Result<void> Operator::Readiness() const {
  if (ready()) return {};
  std::string why = "its caches are being filled";
  for (const Reflector* reflector : {&jobs_.reflector(), &pods_.reflector(), &nodes_.reflector()}) {
    if (reflector->ready() || !reflector->failure()) continue;
    why += ": " + reflector->failure()->message;
    break;
  }
  return Fail(ErrorCode::kUnavailable, why);
}

void Operator::OnJob(const Key& key, const Job* before, const Job* after) {
  if (before != nullptr && (after == nullptr || after->metadata.uid != before->metadata.uid)) {
    reconciler_.Forget(before->metadata.uid);
  }
  controller_.Enqueue(key);
}

void Operator::OnPod(const Pod* before, const Pod* after) {
  if (after != nullptr) reconciler_.Saw(*after);
  const Pod& pod = after != nullptr ? *after : *before;
  if (const std::string job = JobOfPod(pod); !job.empty())
    controller_.Enqueue({pod.metadata.name_space, job});
}

void Operator::OnNode(const Key& key, const Node* before, const Node* after) {
  const bool heartbeat =
      before != nullptr && after != nullptr && before->metadata.labels == after->metadata.labels;
  if (heartbeat) return;
  for (const auto& job : jobs_.Indexed("node", key.name)) controller_.Enqueue(KeyOf(job->metadata));
}

void Operator::OnUnreadable(const Unreadable& job) {
  if (election_.MayAct()) reconciler_.TellUnreadable(job);
}

void Operator::OnLeading() {
  for (const auto& [key, job] : jobs_.unreadable()) reconciler_.TellUnreadable(job);
  for (const auto& job : jobs_.List()) controller_.Enqueue(KeyOf(job->metadata));
  controller_.Wake();  // Also for what was queued before.
}

void Operator::Stop(std::function<void()> done) {
  controller_.Drain([this, done = std::move(done)] { election_.Release(done); });
}

}  // namespace adaptdl
