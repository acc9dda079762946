// The one service that training processes talk to: it tells replicas their peers' addresses and when their
// group is about to end, and takes their reports. No sockets here; rest/ and rpc/ bring requests.
//
// Nobody learns or reports anything about another's job: a caller shows the token that the operator has put
// into the address that its pod was given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/hints.h"
#include "api/replica_token.h"
#include "cluster/clock.h"
#include "cluster/cluster.h"
#include "runtime/log.h"
#include "runtime/metrics.h"
#include "runtime/watch_cache.h"
#include "supervisor/discovery.h"
#include "supervisor/group_watches.h"
#include "supervisor/rate_limits.h"
#include "supervisor/reports.h"

namespace adaptdl {

enum class AuthMode {
  kRequired,  // Without a right token nothing is told.
  kOptional,  // A token must be right; none at all is right, too.
  kOff,       // Tokens are not looked at.
};

struct SupervisorOptions {
  std::string name_space = {};  // Whose jobs; empty: of every namespace.
  AuthMode auth = AuthMode::kRequired;
  std::optional<TokenKeys> keys = {};  // Needed, unless `auth` is off.
  Duration longest_poll = std::chrono::minutes(5);
  std::size_t waiting_per_job = 2000;  // Polls and watches at the same time.
  // Requests of one client, and about one job.
  double client_rate = 20, client_burst = 200;
  double job_rate = 200, job_burst = 4000;
  Reports::Options reports = {};
  std::uint64_t seed = 0;
};

// Left as it is it measures nothing.
struct SupervisorMetrics {
  static Result<SupervisorMetrics> Make(Metrics& metrics);

  DiscoveryMetrics discovery;
  ReportMetrics reports;
  Counter refusals;  // By reason: "no token", "wrong token", "client rate", "job rate", "waiting".
};

struct Caller {
  std::string token = {};    // Empty: none was shown.
  std::string address = {};  // Where it calls from.
};

// Why a request is not served.
struct Refusal {
  enum class Kind {
    kInvalid,  // The message names the field.
    kNoToken,
    kWrongToken,
    kTooMany,   // Requests, or waiting ones: to be tried again a little later.
    kNotReady,  // Only just started: to be tried again a little later.
    kNoJob,
    kOutdated,  // A report of a group, or a job, that is over.
  };

  Kind kind = Kind::kTooMany;
  std::string message;  // For people.
};

// All on the clock's thread.
class Supervisor {
 public:
  // What a request that waits can be taken back by; 0: it was answered at once.
  using Ticket = std::uint64_t;
  template <typename T>
  using Answer = tl::expected<T, Refusal>;
  using Discovered = std::function<void(const Answer<DiscoveryAnswer>& answer)>;
  using Ends = std::function<void(const Answer<std::string>& reason)>;

  // Clock and cluster outlive it. It begins at once.
  Supervisor(Clock& clock, Cluster& cluster, SupervisorOptions options, const Logger& log,
             const SupervisorMetrics& metrics = {});
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // The addresses of a group, as soon as it is complete. `done` is called once, perhaps inside this call.
  Ticket Discover(const Caller& caller, const Key& job, std::int64_t group, Duration timeout,
                  Discovered done);
  // Why a group has to end, as soon as it has to. `ends` is called once, perhaps inside this call.
  Ticket WatchGroup(const Caller& caller, const Key& job, std::int64_t group, Ends ends);
  // Nobody waits for that any more.
  void StopDiscovering(Ticket ticket) { discovery_.Forget(ticket); }
  void StopWatching(Ticket ticket) { watches_.Remove(ticket); }

  // Reads the report only once the caller is known to be a right one. `group`, where the caller says so; his
  // token says it better. The verdict is kTaken or kUnchanged.
  using ReadReport = std::function<Result<Hints>()>;
  Answer<ReportVerdict> TakeReport(const Caller& caller, const Key& job, std::optional<std::int64_t> group,
                                   const ReadReport& read);

  // What tokens are believed from now on.
  void UseKeys(TokenKeys keys) { options_.keys = std::move(keys); }

  // All caches have been filled once. Later on a cluster that does not answer is no reason to send anybody
  // away: those who wait may as well wait here.
  bool ready() const { return jobs_.ready() && pods_.ready(); }
  // The same with a word: what keeps them from being filled, where that is known.
  Result<void> Readiness() const;

  // Answers all who wait for addresses, and everybody from now on, with "not yet"; writes the reports that
  // wait; then calls `done`. Called at most once.
  void Drain(std::function<void()> done);

  // Brings gauges up to date.
  void Measure() const;

  const WatchCache<Job>& jobs() const { return jobs_; }
  const WatchCache<Pod>& pods() const { return pods_; }

 private:
  // Who calls, where that is known and he may speak about this job.
  Answer<std::optional<ReplicaIdentity>> Admit(const Caller& caller, const Key& job);
  Answer<GroupId> AdmitToWait(const Caller& caller, const Key& job, std::int64_t group);
  tl::unexpected<Refusal> Refuse(Refusal::Kind kind, std::string_view reason, std::string message) const;
  void Look(const Key& job);

  Clock& clock_;
  SupervisorOptions options_;
  const Logger log_;
  const SupervisorMetrics metrics_;
  WatchCache<Job> jobs_;
  WatchCache<Pod> pods_;
  Discovery discovery_;
  GroupWatches watches_;
  Reports reports_;
  RateLimits client_rates_;
  RateLimits job_rates_;
  RateLimit complaints_{0.2, 10};  // In the log, about wrong tokens.
};

}  // namespace adaptdl
