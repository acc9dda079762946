// The loop of a controller: takes keys from a queue and has each looked at, some at the same time.
//
// A key only says that something may have changed. What is to be done about it `reconcile` finds out anew
// each time, so that a key may come twice, or late, and an attempt may fail half-way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/object.h"
#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/log.h"
#include "runtime/metrics.h"
#include "runtime/result.h"
#include "runtime/work_queue.h"

namespace adaptdl {

struct Outcome {
  std::optional<Duration> again_after;  // When to look again even if nothing changes; absent: never.
};

// Of all controllers of a program, told apart by the label `controller`. Left as it is it measures nothing.
struct ControllerMetrics {
  static Result<ControllerMetrics> Make(Metrics& metrics);

  Counter reconciles;  // By result: "ok", or the code of the error.
  Histogram seconds;
  Gauge depth;
  Gauge oldest_seconds;
};

// All on the clock's thread.
class Controller {
 public:
  struct Options {
    std::string name;             // In log lines and metrics.
    std::size_t concurrency = 1;  // How many keys may be in work at the same time.
    Backoff backoff = {};         // After failures, for each key.
    std::uint64_t seed = 0;
  };

  // Brings what the key names to where it should be. Calls `done` exactly once, at once or later; the key
  // stays in work until then.
  using Reconcile = std::function<void(const Key& key, Done<Outcome> done)>;

  // `may_act` is asked before each key: nothing is taken while it is false, which it is to be until all
  // caches are ready, and wherever another instance leads. Whoever makes it true calls Wake.
  Controller(Clock& clock, Options options, std::function<bool()> may_act, Reconcile reconcile, Logger log,
             ControllerMetrics metrics = {});
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  // Answers that come later are ignored.
  ~Controller();

  // Have this key looked at, soon. Never runs `reconcile` inside the call.
  void Enqueue(const Key& key);
  void EnqueueAfter(const Key& key, Duration delay);

  // `may_act` may have become true. Harmless where it has not.
  void Wake();

  // Takes no more keys, now or ever, and calls `done` once no key is in work: later, never inside this call.
  // Called at most once.
  void Drain(std::function<void()> done);

  // Brings the gauges up to date: to be called before metrics are shown.
  void Measure() const;

  const WorkQueue& queue() const { return queue_; }

 private:
  void Pump();
  void Begin(const Key& key);
  void End(const Key& key, Instant begun, const Result<Outcome>& result);

  Clock& clock_;
  const Options options_;
  const std::function<bool()> may_act_;
  const Reconcile reconcile_;
  const Logger log_;
  const ControllerMetrics metrics_;
  WorkQueue queue_;
  bool wake_posted_ = false;
  std::function<void()> drained_;
  std::shared_ptr<Controller*> self_;  // Emptied when this is destroyed, for what comes later.
};

}  // namespace adaptdl
