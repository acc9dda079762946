#include "runtime/controller.h"

#include <chrono>
#include <utility>

namespace adaptdl {

namespace {

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Result<ControllerMetrics> ControllerMetrics::Make(Metrics& metrics) {
  const auto reconciles = metrics.AddCounter("adaptdl_reconcile_total", "How often a key was looked at",
                                             {"controller", "result"});
  if (!reconciles) return tl::unexpected(reconciles.error());
  const auto seconds = metrics.AddHistogram("adaptdl_reconcile_seconds", "How long that took",
                                            {0.001, 0.01, 0.1, 0.5, 1, 5, 10, 30, 60}, {"controller"});
  if (!seconds) return tl::unexpected(seconds.error());
  const auto depth =
      metrics.AddGauge("adaptdl_queue_depth", "Keys that wait to be looked at", {"controller"});
  if (!depth) return tl::unexpected(depth.error());
  const auto oldest =
      metrics.AddGauge("adaptdl_queue_oldest_seconds", "How long one of them has waited", {"controller"});
  if (!oldest) return tl::unexpected(oldest.error());
  return ControllerMetrics{*reconciles, *seconds, *depth, *oldest};
}

Controller::Controller(Clock& clock, Options options, std::function<bool()> may_act, Reconcile reconcile,
                       Logger log, ControllerMetrics metrics)
    : clock_(clock),
      options_(std::move(options)),
      may_act_(std::move(may_act)),
      reconcile_(std::move(reconcile)),
      log_(std::move(log)),
      metrics_(std::move(metrics)),
      queue_(clock, options_.backoff, options_.seed, [this] { Wake(); }),
      self_(std::make_shared<Controller*>(this)) {}

Controller::~Controller() { *self_ = nullptr; }

void Controller::Enqueue(const Key& key) { queue_.Add(key); }

void Controller::EnqueueAfter(const Key& key, Duration delay) { queue_.AddAfter(key, delay); }

void Controller::Wake() {
  if (wake_posted_) return;
  wake_posted_ = true;
  clock_.Post([self = self_] {
    if (*self != nullptr) (*self)->Pump();
  });
}

void Controller::Pump() {
  wake_posted_ = false;
  // A few at a time: what else is due on this thread is not to wait for the whole queue. Each that ends wakes
  // this up again.
  for (std::size_t begun = 0; begun < options_.concurrency; ++begun) {
    if (queue_.depth() == 0 || queue_.working() >= options_.concurrency || !may_act_()) break;
    Begin(*queue_.Take());
  }
  metrics_.depth.Set(static_cast<double>(queue_.depth()), {options_.name});
  if (drained_ && queue_.working() == 0) std::exchange(drained_, nullptr)();
}

void Controller::Begin(const Key& key) {
  reconcile_(key, [self = self_, key, begun = clock_.Now()](const Result<Outcome>& result) {
    if (*self != nullptr) (*self)->End(key, begun, result);
  });
}

void Controller::End(const Key& key, Instant begun, const Result<Outcome>& result) {
  metrics_.seconds.Observe(Seconds(clock_.Now() - begun), {options_.name});
  metrics_.reconciles.Increment({options_.name, result ? "ok" : ToString(result.error().code)});
  if (result) {
    queue_.Forget(key);
    if (result->again_after) queue_.AddAfter(key, *result->again_after);
  } else if (const Duration delay = queue_.Retry(key); result.error().code != ErrorCode::kConflict) {
    // A conflict is nothing to report: the view was too old, and what made it so will come as an event, which
    // brings the key back even before the delay is over.
    log_.Warn("reconcile failed", {{"controller", options_.name},
                                   {"key", ToString(key)},
                                   {"error", result.error().message},
                                   {"retry_seconds", Seconds(delay)}});
  }
  queue_.Finish(key);
  Wake();
}

void Controller::Drain(std::function<void()> done) {
  queue_.ShutDown();
  drained_ = std::move(done);
  Wake();
}

void Controller::Measure() const {
  metrics_.depth.Set(static_cast<double>(queue_.depth()), {options_.name});
  metrics_.oldest_seconds.Set(Seconds(queue_.OldestWait()), {options_.name});
}

}  // namespace adaptdl
