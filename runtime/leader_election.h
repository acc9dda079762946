// Lets one of several instances of a program act, by means of a Lease.
//
// Whoever holds the Lease renews it every few seconds. It may act until a while (`renew_deadline`) after it
// *sent* the last renewal that succeeded. The others take the Lease over once a longer while
// (`lease_duration`) has passed since they *saw* it change last. Both measure with their own clock and nobody
// compares dates, so that no two of them act at the same time as long as their clocks run about equally fast.
// Each write carries the resource version that it was decided by: of two that try at once one fails. An
// answer that was lost gives no right to act.
//
// A Lease that somebody deletes protects less: its holder stops when it next renews, and those who knew the
// Lease wait as long as if it had changed, but an instance that was started only then creates it at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "api/lease.h"
#include "api/object.h"
#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/log.h"
#include "runtime/result.h"

namespace adaptdl {

struct LeaderElectionOptions {
  Key lease;
  std::string identity;  // No other running process has the same.
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);  // Between two attempts; up to a fifth is added.
  std::uint64_t seed = 0;                           // Of that fifth.

  // An error that names what does not fit together.
  Result<void> Validate() const;
};

// All on the clock's thread.
class LeaderElection {
 public:
  // They alternate, beginning with `started`. Neither may destroy the election from inside.
  struct Callbacks {
    std::function<void()> started = [] {};
    std::function<void()> stopped = [] {};
  };

  // The options are valid. Clock and cluster outlive it.
  LeaderElection(Clock& clock, Cluster& cluster, LeaderElectionOptions options, Callbacks callbacks,
                 Logger log);
  LeaderElection(const LeaderElection&) = delete;
  LeaderElection& operator=(const LeaderElection&) = delete;
  // Says nothing to anybody: the Lease runs out by itself. Release is the better end.
  ~LeaderElection();

  // Begins to compete. Called once.
  void Start();

  // Whether this instance may act, at this very moment. It turns false on its own when the term is over,
  // whatever else happens: ask before every write.
  bool MayAct() const { return leading_ && clock_.Now() < term_end_; }

  // Stops acting at once and competes no more; then gives the Lease back, so that another need not wait.
  // `done` is called when that has worked or cannot be done; it runs out by itself then. Also from inside a
  // callback; called once.
  void Release(std::function<void()> done);

 private:
  void Try();
  void TryLater();
  void Look();
  void OnLook(const Result<Object>& result);
  void Create();
  void Write();
  void OnWritten(Instant sent, const Result<Object>& result);
  void OnGone();
  void Observe(const Lease& lease);
  Lease Mine() const;
  void Lead(Instant sent);
  void StopLeading(std::string_view reason);
  void Report(const Error& error);
  void GiveBack(int attempts, std::function<void()> done);
  Ref ref() const { return {Kind::kLease, options_.lease}; }
  // An answer, unless it belongs to an attempt that has been given up.
  Done<Object> Current(std::function<void(const Result<Object>&)> then) const;

  Clock& clock_;
  Cluster& cluster_;
  const LeaderElectionOptions options_;
  const Callbacks callbacks_;
  const Logger log_;
  std::mt19937_64 random_;

  std::optional<Lease> known_;  // The last record seen.
  bool current_ = false;        // As far as we know nobody has changed it since.
  bool existed_ = false;        // There was a Lease since we last found none.
  Instant wait_until_;          // Nobody who held it before may still be acting after that.
  bool leading_ = false;
  Instant term_end_;
  std::uint64_t attempt_ = 0;
  bool met_conflict_ = false;  // In this attempt.
  bool released_ = false;
  std::string reported_;  // The last failure that was logged.
  Timer next_;
  Timer limit_;
  Timer term_;
  std::shared_ptr<LeaderElection*> self_;  // Emptied when this is destroyed, for answers that come later.
};

}  // namespace adaptdl
