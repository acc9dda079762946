// What the program says about itself when probed. The parts report their state when it changes; a probe only
// reads what was reported, so that it neither waits for a part nor runs its code on the server's thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cluster/clock.h"
#include "runtime/http.h"
#include "runtime/metrics.h"
#include "runtime/result.h"

namespace adaptdl {

class Health {
 public:
  enum class Probe {
    kLive,   // A failure means: only a restart helps.
    kReady,  // A failure means: not now.
  };
  // Checks with what they say, by name.
  using Report = std::map<std::string, Result<void>>;

  // What a part says of itself from now on. A part that may not be well at first reports that before the
  // server starts. From any thread.
  void Set(Probe probe, const std::string& name, Result<void> state);

  // Watches over the clock's thread: where it does not come round for `limit`, also at first, the program is
  // not live. From any thread. The clock outlives this Health, which is to be destroyed on the clock's thread
  // or after that has ended.
  void WatchOver(const std::string& name, Clock& clock, Duration limit);

  // All checks of a kind as they are now. From any thread.
  Report Check(Probe probe) const;

 private:
  struct Heartbeat;

  mutable std::mutex mutex_;
  std::map<Probe, Report> reported_;
  std::map<std::string, std::shared_ptr<Heartbeat>> heartbeats_;
};

// GET /livez (and /healthz, its older name), /readyz: 200 "ok", or 503 and a line for each check that fails;
// with ?verbose a line for every check. GET /metrics: the metrics. Both arguments outlive the handler, which
// any thread may call.
HttpHandler HealthHandler(const Health& health, const Metrics& metrics);

}  // namespace adaptdl
